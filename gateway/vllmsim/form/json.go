package form

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// object is a JSON object. Its members keep their order, in which values have them
// as well.
type object []member

type member struct {
	name  string
	value any
}

// list is a JSON array.
type list []any

// deepest is how many objects and arrays a schema may hold in each other, as in
// vLLM; ErrDeep says so.
const deepest = 64

// decodeValue reads JSON into object, list, string, json.Number, bool or nil.
func decodeValue(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return decodeNext(d, 0)
}

func decodeNext(d *json.Decoder, level int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, nested := token.(json.Delim)
	switch {
	case !nested:
		return token, nil
	case level == deepest:
		return nil, ErrDeep
	case delim == '[':
		return decodeList(d, level+1)
	}
	return decodeObject(d, level+1)
}

func decodeList(d *json.Decoder, level int) (any, error) {
	all := list{}
	for d.More() {
		v, err := decodeNext(d, level)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	_, err := d.Token()
	return all, err
}

func decodeObject(d *json.Decoder, level int) (any, error) {
	all := object{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := decodeNext(d, level)
		if err != nil {
			return nil, err
		}
		all = all.with(name.(string), v)
	}
	_, err := d.Token()
	return all, err
}

// get is the value of a member; nil: null or not there.
func (o object) get(name string) any {
	v, _ := o.find(name)
	return v
}

func (o object) find(name string) (any, bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// with is o with one member set; o itself stays as it is.
func (o object) with(name string, value any) object {
	o = slices.Clone(o)
	for i := range o {
		if o[i].name == name {
			o[i].value = value
			return o
		}
	}
	return append(o, member{name, value})
}

// without is o with fewer members; o itself stays as it is.
func (o object) without(names ...string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return slices.Contains(names, m.name) })
}

// also is o with one thing more that a value must satisfy.
func (o object) also(v any) object {
	return o.with("allOf", append(slices.Clone(asList(o.get("allOf"))), v))
}

// appendSpaced appends a value as Python writes it: a space after commas and colons.
func appendSpaced(dst []byte, v any) []byte {
	switch v := v.(type) {
	case object:
		dst = append(dst, '{')
		for i, m := range v {
			dst = appendSpaced(append(appendString(appendComma(dst, i), m.name), ": "...), m.value)
		}
		return append(dst, '}')
	case list:
		dst = append(dst, '[')
		for i, item := range v {
			dst = appendSpaced(appendComma(dst, i), item)
		}
		return append(dst, ']')
	}
	return append(dst, mustJSON(v)...)
}

func appendString(dst []byte, s string) []byte { return append(dst, mustJSON(s)...) }

// mustJSON encodes what was JSON before, and leaves < and & alone.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func appendComma(dst []byte, before int) []byte {
	if before > 0 {
		dst = append(dst, ", "...)
	}
	return dst
}

// at is the value that a pointer such as #/$defs/node names.
func (o object) at(pointer string) (any, error) {
	rest, local := strings.CutPrefix(pointer, "#")
	missing := wrong("Pointer '%s' does not exist", rest)
	if !local {
		return nil, missing
	}
	var here any = o
	for _, step := range strings.Split(rest, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~", "%25", "%", "%24", "$").Replace(step)
		inner, is := here.(object)
		if !is {
			return nil, missing
		}
		if here, is = inner.find(step); !is {
			return nil, missing
		}
	}
	return here, nil
}
