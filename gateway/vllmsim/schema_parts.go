package vllmsim

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// numbers is what a number must keep to.
type numbers struct {
	low, high         float64
	lowOpen, highOpen bool
	step              float64 // 0: none
}

func newNumbers(o object) numbers {
	s := numbers{low: asNumber(o.get("minimum"), math.Inf(-1)), high: asNumber(o.get("maximum"), math.Inf(1)), step: asNumber(o.get("multipleOf"), 0)}
	if above := asNumber(o.get("exclusiveMinimum"), math.Inf(-1)); above >= s.low {
		s.low, s.lowOpen = above, !math.IsInf(above, -1)
	}
	if below := asNumber(o.get("exclusiveMaximum"), math.Inf(1)); below <= s.high {
		s.high, s.highOpen = below, !math.IsInf(below, 1)
	}
	return s
}

// allows says whether a number keeps to it.
func (s numbers) allows(v float64) bool {
	if v < s.low || v > s.high || s.lowOpen && v == s.low || s.highOpen && v == s.high {
		return false
	}
	return s.step == 0 || math.Mod(v, s.step) == 0
}

// scale is how far numbers spread where nothing bounds them.
const scale = 100

// window is the bounds, or what stands for those that aren't there.
func (s numbers) window() (low, high float64) {
	low, high = s.low, s.high
	switch {
	case math.IsInf(low, -1) && math.IsInf(high, 1):
		return 0, scale
	case math.IsInf(low, -1):
		low = high - scale*max(1, s.step)
	case math.IsInf(high, 1):
		high = low + scale*max(1, s.step)
	}
	return low, high
}

// candidates are some numbers that keep to it, from its low end on.
func (s numbers) candidates(whole bool) []float64 {
	low, high := s.window()
	step := s.step
	if step == 0 {
		step = 1
		if !whole {
			step = max((high-low)/scale, math.SmallestNonzeroFloat64)
		}
	}
	var all []float64
	first := low
	if whole || s.step > 0 {
		first = math.Ceil(low/step) * step
	}
	for k := range 10 * scale {
		v := first + float64(k)*step
		if v > high || len(all) == scale {
			break
		}
		if rounded := math.Round(v*100) / 100; !whole && s.step == 0 && s.allows(rounded) {
			v = rounded
		}
		if s.allows(v) && (!whole || v == math.Trunc(v)) {
			all = append(all, v)
		}
	}
	return all
}

// letters is what a text must keep to, counted in characters.
type letters struct {
	least, most int
	pattern     *pattern
	format      string
}

func newLetters(o object) (letters, error) {
	l := letters{least: count(o, "minLength", 0), most: count(o, "maxLength", unlimited)}
	l.format, _ = o.get("format").(string)
	expr, is := o.get("pattern").(string)
	if !is {
		return l, nil
	}
	var err error
	l.pattern, err = newPattern(expr, false)
	return l, err
}

func (l letters) fits(text string) bool {
	n := utf8.RuneCountInString(text)
	return l.least <= n && n <= l.most
}

// fields is what an object must keep to.
type fields struct {
	all         []field
	more        *schema // of further members; nil: there are none
	least, most int
}

type field struct {
	name     string
	value    *schema
	required bool
}

func (c *compiler) fillFields(s *schema, o object) error {
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

// items is what an array must keep to.
type items struct {
	first       []*schema
	rest        *schema
	least, most int
	unique      bool
}

func (c *compiler) fillItems(s *schema, o object) error {
	it := &s.items
	it.least, it.most = count(o, "minItems", 0), count(o, "maxItems", unlimited)
	it.unique = o.get("uniqueItems") == true
	if !slices.Contains(s.kinds, "array") {
		return nil
	}
	rest, is := o.find("items")
	first := asList(o.get("prefixItems"))
	if old, listed := rest.(list); listed {
		first = old
		rest, is = o.find("additionalItems")
	}
	if !is {
		rest = true
	}
	for _, v := range first {
		item, err := c.compile(v)
		if err != nil {
			return err
		}
		it.first = append(it.first, item)
	}
	var err error
	it.rest, err = c.compile(rest)
	return err
}

// at is the schema of the item with an index.
func (it items) at(i int) *schema {
	if i < len(it.first) {
		return it.first[i]
	}
	return it.rest
}

// measure finds the depth of all schemas: once round for each level that there is,
// so that what contains itself comes to an end or is found to have none.
func (c *compiler) measure() {
	for _, s := range c.nodes {
		s.depth = never
	}
	for changed := true; changed; {
		changed = false
		for _, s := range c.nodes {
			if depth := s.least(); depth < s.depth {
				s.depth, changed = depth, true
			}
		}
	}
	for _, s := range c.nodes {
		if s.depth >= never {
			c.explain(s)
		}
	}
}

// least is the depth of the shallowest value, as far as is known.
func (s *schema) least() int {
	if len(s.values) > 0 {
		return 0
	}
	depth := never
	for _, option := range s.options {
		depth = min(depth, option.depth)
	}
	for _, kind := range s.kinds {
		depth = min(depth, s.depthOf(kind))
	}
	return depth
}

// depthOf is the depth of the shallowest value of one kind.
func (s *schema) depthOf(kind string) int {
	switch kind {
	case "array":
		return s.items.depth()
	case "object":
		return s.fields.depth()
	}
	return 0
}

func (it items) depth() int {
	depth := 0
	if it.least > it.most {
		return never
	}
	for i := range min(it.least, len(it.first)+1) {
		depth = max(depth, it.at(i).depth)
	}
	return min(depth+1, never)
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

// explain says why s has no value, the innermost reason first.
func (c *compiler) explain(s *schema) {
	for _, kind := range s.kinds {
		switch {
		case kind == "array" && s.items.least > s.items.most:
			c.blame("minItems (%d) is greater than maxItems (%d)", s.items.least, s.items.most)
		case kind == "object":
			for _, f := range s.fields.all {
				if f.required && f.value.depth >= never && len(f.value.kinds) == 0 {
					c.cause = fmt.Sprintf("required property '%s' is unsatisfiable", f.name)
				}
			}
		}
	}
	c.blame("no value satisfies it")
}
