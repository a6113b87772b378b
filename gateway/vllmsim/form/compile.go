package form

import (
	"fmt"
	"slices"
)

// compiler turns a schema in JSON into schemas.
type compiler struct {
	root  object
	refs  map[string]*Schema // by pointer; there before it is complete, for recursion
	nodes []*Schema
	level int
	met   int    // parts of allOf
	cause string // the first reason found why something has no value
}

// The bounds of what a schema may grow to when its references are resolved.
const (
	mostLevels = 200
	mostNodes  = 10000
)

// blame keeps the first reason.
func (c *compiler) blame(format string, args ...any) {
	if c.cause == "" {
		c.cause = fmt.Sprintf(format, args...)
	}
}

// annotations say nothing about the value.
var annotations = []string{"title", "description", "default", "examples", "$schema", "$id", "$comment", "$defs", "definitions", "deprecated", "readOnly", "writeOnly"}

// unimplemented is what vLLM's back ends don't do either.
var unimplemented = []string{"not", "if", "then", "else", "contains", "propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties"}

// members reads true, false and {…}.
func members(v any) (object, error) {
	switch v := v.(type) {
	case object:
		for _, name := range unimplemented {
			if _, is := v.find(name); is {
				return nil, wrong("Unimplemented keys: [%q]", name)
			}
		}
		return v, nil
	case bool:
		if v {
			return object{}, nil
		}
		return object{{"enum", list{}}}, nil
	}
	return nil, wrong("schema must be an object or boolean")
}

func (c *compiler) compile(v any) (*Schema, error) {
	if c.level++; c.level > mostLevels || len(c.nodes) > mostNodes {
		return nil, errHuge
	}
	defer func() { c.level-- }()
	o, err := members(v)
	if err != nil {
		return nil, err
	}
	if o, err = c.flatten(o.without(annotations...)); err != nil {
		return nil, err
	}
	if pointer, is := o.get("$ref").(string); is {
		return c.refer(pointer)
	}
	s := &Schema{}
	c.nodes = append(c.nodes, s)
	return s, c.fill(s, o)
}

// flatten merges allOf, and references that have company, into one object.
func (c *compiler) flatten(o object) (object, error) {
	for range mostLevels {
		if len(o) > 1 {
			var err error
			if o, err = c.follow(o); err != nil {
				return nil, err
			}
		}
		all, is := o.get("allOf").(list)
		if !is {
			return o, nil
		}
		o = o.without("allOf")
		for _, v := range all {
			if c.met++; c.met > mostNodes { // each may bring two more
				return nil, errHuge
			}
			also, err := members(v)
			if err != nil {
				return nil, err
			}
			if len(o) > 0 {
				if also, err = c.follow(also); err != nil {
					return nil, err
				}
			}
			o = merge(o, also.without(annotations...))
		}
	}
	return nil, errHuge
}

// follow is o with what its reference names in the reference's place.
func (c *compiler) follow(o object) (object, error) {
	pointer, is := o.get("$ref").(string)
	if !is {
		return o, nil
	}
	target, err := c.root.at(pointer)
	if err != nil {
		return nil, err
	}
	return o.without("$ref").also(target), nil
}

// refer compiles what a pointer names, once.
func (c *compiler) refer(pointer string) (*Schema, error) {
	if s := c.refs[pointer]; s != nil {
		return s, nil
	}
	target, err := c.root.at(pointer)
	if err != nil {
		return nil, err
	}
	s := &Schema{}
	c.refs[pointer] = s
	c.nodes = append(c.nodes, s)
	compiled, err := c.compile(target)
	if err == nil && compiled != s {
		s.options = []*Schema{compiled}
	}
	return s, err
}

// fill makes s of an object without references and allOf.
func (c *compiler) fill(s *Schema, o object) error {
	if v, is := o.find("const"); is {
		o = merge(o.without("const"), object{{"enum", list{v}}})
	}
	kinds, err := kindsOf(o)
	if err != nil {
		return err
	}
	if values, is := o.get("enum").(list); is {
		if s.values = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return !isOf(v, kinds) }); len(s.values) == 0 {
			c.blame("anyOf is empty")
		}
		return nil
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if options, is := o.get(name).(list); is {
			return c.choose(s, o.without(name), options)
		}
	}
	s.numbers = newNumbers(o)
	if s.letters, err = newLetters(o); err != nil {
		return err
	}
	s.kinds = slices.DeleteFunc(kinds, func(kind string) bool { return c.impossible(s, kind) })
	if err = c.fillItems(s, o); err != nil {
		return err
	}
	return c.fillFields(s, o)
}

// impossible says whether a schema leaves no number or no text.
func (c *compiler) impossible(s *Schema, kind string) bool {
	switch kind {
	case "integer", "number":
		if len(s.numbers.candidates(kind == "integer")) > 0 {
			return false
		}
		c.blame("minimum (%s) is greater than maximum (%s)", decimal(s.numbers.low), decimal(s.numbers.high))
		return true
	case "string":
		if s.letters.least <= s.letters.most && s.letters.drawable() {
			return false
		}
		c.blame("minLength (%d) is greater than maxLength (%d)", s.letters.least, s.letters.most)
		return true
	}
	return false
}

// choose compiles the options of anyOf, each with what stands beside it. oneOf is
// taken for anyOf, as vLLM's back ends do.
func (c *compiler) choose(s *Schema, o object, options list) error {
	if len(options) == 0 {
		c.blame("anyOf is empty")
	}
	for _, v := range options {
		if len(o) > 0 {
			v = o.also(v)
		}
		option, err := c.compile(v)
		if err != nil {
			return err
		}
		s.options = append(s.options, option)
	}
	return nil
}
