package form

import (
	"fmt"
	"slices"
)

// fields is what an object must keep to.
type fields struct {
	all         []field
	more        *Schema // of further members; nil: there are none
	least, most int
}

type field struct {
	name     string
	value    *Schema
	required bool
}

func (c *compiler) fillFields(s *Schema, o object) error {
	f := &s.fields
	f.least, f.most = count(o, "minProperties", 0), count(o, "maxProperties", unlimited)
	if !slices.Contains(s.kinds, "object") {
		return nil
	}
	_, patterns := o.find("patternProperties")
	more, is := o.find("additionalProperties")
	if !is {
		more = true
	}
	properties, _ := o.get("properties").(object)
	required := asList(o.get("required"))
	for _, m := range properties {
		value, err := c.compile(m.value)
		if err != nil {
			return err
		}
		f.all = append(f.all, field{m.name, value, slices.Contains(required, any(m.name))})
	}
	further, err := c.compile(more)
	if err != nil {
		return err
	}
	for _, v := range required {
		if name := fmt.Sprint(v); !slices.ContainsFunc(f.all, func(f field) bool { return f.name == name }) {
			f.all = append(f.all, field{name, further, true})
		}
	}
	if more != false && !patterns {
		f.more = further
	}
	return nil
}

func (f fields) depth() int {
	depth, reachable := 0, 0
	for _, f := range f.all {
		if f.required {
			depth = max(depth, f.value.depth)
		}
		if f.value.depth < never {
			reachable++
		}
	}
	if f.least > f.most || f.more == nil && f.least > reachable {
		return never
	}
	return min(depth+1, never)
}

func (p *pen) object(f fields, depth int) {
	p.write("{")
	n := 0
	for i, one := range f.all {
		if p.full() {
			return
		}
		if one.required || p.wants(f, i, n, depth) {
			p.member(one.name, one.value, n, depth)
			n++
		}
	}
	p.further(f, n, depth)
	p.write("}")
}

// wants decides about a member that need not be there.
func (p *pen) wants(f fields, i, n, depth int) bool {
	left, required := 0, 0
	for _, one := range f.all[i:] {
		if one.value.depth < never {
			left++
		}
		if one.required {
			required++
		}
	}
	switch {
	case f.all[i].value.depth >= never || n+required >= f.most:
		return false
	case n+left <= f.least:
		return true
	}
	return depth < shallow && p.roll(4) > 0
}

// further writes members that the schema has no name for: as many as there must
// be, and some where it names none.
func (p *pen) further(f fields, n, depth int) {
	if f.more == nil || f.more.depth >= never {
		return
	}
	want := max(f.least, n)
	if len(f.all) == 0 && depth < shallow {
		want = min(max(want, 1+p.roll(surplus)), f.most)
	}
	for i := n; i < want && !p.full(); i++ {
		name := fmt.Sprintf("%s_%d", p.word(), i)
		p.member(name, f.more, i, depth)
	}
}

func (p *pen) member(name string, s *Schema, before, depth int) {
	p.text = append(appendString(appendComma(p.text, before), name), ": "...)
	p.value(s, depth)
}
