package form

import (
	"fmt"
)

// Schema is a JSON schema, read so that values can be written. A value is one of
// values; or it is written by one of options; or it is of one of kinds.
type Schema struct {
	values  list
	options []*Schema
	kinds   []string
	numbers numbers
	letters letters
	fields  fields
	items   items
	depth   int // least nesting of a value; never: there is no value
}

// never is the depth of what no value satisfies.
const never = 1 << 20

// ErrDeep is the error of a schema whose objects and arrays nest too deeply.
const ErrDeep Error = "The JSON schema is nested too deeply: objects and arrays may nest at most 64 levels"

const errHuge Error = "Schema is too large"

// Error is what vLLM's back ends say, or nearly, of a form that they can't use.
type Error string

func (e Error) Error() string { return string(e) }

func wrong(format string, args ...any) error { return Error(fmt.Sprintf(format, args...)) }

// NewSchema reads a JSON schema. It refuses with an Error what no value satisfies,
// and what isn't understood.
func NewSchema(raw []byte) (*Schema, error) {
	v, err := decodeValue(raw)
	if err != nil {
		return nil, err
	}
	c := &compiler{refs: map[string]*Schema{}}
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

// Text is a value in JSON that satisfies the schema; with one seed always the same.
// What is beyond room bytes nobody is to see: there the text may break off.
func (s *Schema) Text(seed uint64, room int) string {
	p := newPen(seed, room)
	p.value(s, 0)
	return string(p.text)
}

// Bare says whether the schema is of objects and neither names nor demands members.
func (s *Schema) Bare() bool {
	return len(s.kinds) == 1 && s.kinds[0] == "object" && len(s.fields.all)+s.fields.least == 0
}
