package form

import (
	"slices"
)

// items is what an array must keep to.
type items struct {
	first       []*Schema
	rest        *Schema
	least, most int
	unique      bool
}

func (c *compiler) fillItems(s *Schema, o object) error {
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
func (it items) at(i int) *Schema {
	if i < len(it.first) {
		return it.first[i]
	}
	return it.rest
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

func (p *pen) array(it items, depth int) {
	n := it.least
	if depth < shallow {
		n = min(n+p.roll(surplus+1), it.most)
	}
	p.write("[")
	var said []string
	for i := range n {
		if p.full() || i >= it.least && it.at(i).depth >= never {
			break
		}
		text, fresh := p.item(it, i, depth, said)
		if !fresh && i >= it.least {
			break
		}
		said = append(said, text)
		p.text = appendComma(p.text, i)
		p.write(text)
	}
	p.write("]")
}

// item is one item's text; false: it is there already, and must not be.
func (p *pen) item(it items, i, depth int, said []string) (string, bool) {
	for range tries {
		one := p.aside()
		one.value(it.at(i), depth)
		if text := string(one.text); !it.unique || !slices.Contains(said, text) {
			return text, true
		}
	}
	return said[0], false
}
