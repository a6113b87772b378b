package vllmsim

import (
	"fmt"
	"slices"
)

// schema is a JSON schema, as far as values are made from it. A value is one of
// values; or it is made from one of options; or it is of one of kinds.
type schema struct {
	values  list
	options []*schema
	kinds   []string
	numbers numbers
	letters letters
	fields  fields
	items   items
	depth   int // least nesting of a value; never: there is no value
}

// never is the depth of what no value satisfies.
const never = 1 << 20

// compiler turns a schema in JSON into schemas.
type compiler struct {
	root  object
	refs  map[string]*schema // by pointer; there before it is complete, for recursion
	nodes []*schema
	level int
	met   int    // parts of allOf
	cause string // the first reason found why something has no value
}

// The bounds of what a schema may grow to when its references are resolved.
const (
	mostLevels = 200
	mostNodes  = 10000
)

const errHuge grammarError = "Schema is too large"

// grammarError is what vLLM's back end says of a schema that it can't use, or
// nearly.
type grammarError string

func (e grammarError) Error() string { return string(e) }

func wrong(format string, args ...any) error { return grammarError(fmt.Sprintf(format, args...)) }

// newSchema reads a JSON schema. What is wrong with the schema itself is a
// grammarError, or a failure with words of its own.
func newSchema(raw []byte) (*schema, error) {
	v, err := decodeValue(raw)
	if err != nil {
		return nil, err
	}
	c := &compiler{refs: map[string]*schema{}}
	c.root, _ = v.(object)
	s, err := c.compile(v)
	if err != nil {
		return nil, err
	}
	c.measure()
	if s.depth >= never {
		return nil, wrong("Unsatisfiable schema: %s", c.cause)
	}
	return s, nil
}

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
		return obj("enum", list{}), nil
	}
	return nil, wrong("schema must be an object or boolean")
}

func (c *compiler) compile(v any) (*schema, error) {
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
	s := &schema{}
	c.nodes = append(c.nodes, s)
	return s, c.fill(s, o)
}

// flatten merges allOf, and references that have company, into one object.
func (c *compiler) flatten(o object) (object, error) {
	for range mostLevels {
		if pointer, is := o.get("$ref").(string); is && len(o) > 1 {
			target, err := c.root.at(pointer)
			if err != nil {
				return nil, err
			}
			o = o.without("$ref").with("allOf", append(slices.Clone(asList(o.get("allOf"))), target))
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
			if len(o) > 0 && len(also) > 0 && also.get("$ref") != nil {
				if v, err = c.root.at(fmt.Sprint(also.get("$ref"))); err != nil {
					return nil, err
				}
				also = also.without("$ref").with("allOf", append(slices.Clone(asList(also.get("allOf"))), v))
			}
			o = merge(o, also.without(annotations...))
		}
	}
	return nil, errHuge
}

// refer compiles what a pointer names, once.
func (c *compiler) refer(pointer string) (*schema, error) {
	if s := c.refs[pointer]; s != nil {
		return s, nil
	}
	target, err := c.root.at(pointer)
	if err != nil {
		return nil, err
	}
	s := &schema{}
	c.refs[pointer] = s
	c.nodes = append(c.nodes, s)
	compiled, err := c.compile(target)
	if err == nil && compiled != s {
		s.options = []*schema{compiled}
	}
	return s, err
}

// fill makes s of an object without references and allOf.
func (c *compiler) fill(s *schema, o object) error {
	if v, is := o.find("const"); is {
		o = merge(o.without("const"), obj("enum", list{v}))
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
func (c *compiler) impossible(s *schema, kind string) bool {
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
func (c *compiler) choose(s *schema, o object, options list) error {
	if len(options) == 0 {
		c.blame("anyOf is empty")
	}
	for _, v := range options {
		if len(o) > 0 {
			v = o.with("allOf", append(slices.Clone(asList(o.get("allOf"))), v))
		}
		option, err := c.compile(v)
		if err != nil {
			return err
		}
		s.options = append(s.options, option)
	}
	return nil
}
