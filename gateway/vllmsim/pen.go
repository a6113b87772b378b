package vllmsim

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// pen writes a text of its own making: what it decides follows from its seed.
type pen struct {
	text []byte
	room int // bytes; what is beyond them nobody will see
	seed *uint64
}

func newPen(seed uint64, room int) *pen { return &pen{room: room, seed: &seed} }

// aside is a pen for a text of its own, with the room that is left.
func (p *pen) aside() *pen { return &pen{room: p.room - len(p.text), seed: p.seed} }

func (p *pen) write(text string) { p.text = append(p.text, text...) }

func (p *pen) full() bool { return len(p.text) >= p.room }

// roll is a number from 0 to n-1; n must be positive.
func (p *pen) roll(n int) int {
	*p.seed = mix(*p.seed)
	return int(*p.seed % uint64(n))
}

func (p *pen) word() string { return words[p.roll(len(words))] }

// shallow is the depth from which on a value is brought to its end.
const shallow = 5

// value writes a value of a schema.
func (p *pen) value(s *schema, depth int) {
	switch {
	case p.full():
	case len(s.values) > 0:
		p.text = appendSpaced(p.text, s.values[p.roll(len(s.values))])
	case len(s.options) > 0:
		p.value(p.option(s.options, depth), depth)
	default:
		p.kind(s, p.kindOf(s, depth), depth)
	}
}

// option picks one that has a value; the shallowest where it is deep.
func (p *pen) option(options []*schema, depth int) *schema {
	least := slices.MinFunc(options, func(a, b *schema) int { return a.depth - b.depth })
	if picked := options[p.roll(len(options))]; depth < shallow && picked.depth < never {
		return picked
	}
	return least
}

// kindOf picks a kind in the same way.
func (p *pen) kindOf(s *schema, depth int) string {
	least := slices.MinFunc(s.kinds, func(a, b string) int { return s.depthOf(a) - s.depthOf(b) })
	if picked := s.kinds[p.roll(len(s.kinds))]; depth < shallow && s.depthOf(picked) < never {
		return picked
	}
	return least
}

func (p *pen) kind(s *schema, kind string, depth int) {
	switch kind {
	case "null":
		p.write("null")
	case "boolean":
		p.write([]string{"true", "false"}[p.roll(2)])
	case "integer", "number":
		candidates := s.numbers.candidates(kind == "integer")
		p.write(decimal(candidates[p.roll(len(candidates))]))
	case "string":
		p.text = appendString(p.text, p.letters(s.letters))
	case "array":
		p.array(s.items, depth+1)
	case "object":
		p.object(s.fields, depth+1)
	}
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

func (p *pen) member(name string, s *schema, before, depth int) {
	p.text = append(appendString(appendComma(p.text, before), name), ": "...)
	p.value(s, depth)
}

// letters is a text that fits.
func (p *pen) letters(l letters) string {
	switch {
	case l.pattern != nil:
		return p.matching(l)
	case l.format != "":
		if text := p.format(l.format); text != "" && l.fits(text) {
			return text
		}
	}
	least := min(l.least, p.room)
	text := []byte(p.word())
	for range p.roll(surplus) {
		text = append(append(text, ' '), p.word()...)
	}
	for len(text) < least {
		text = append(append(text, ' '), p.word()...)
	}
	return string(text[:min(len(text), max(l.most, 0))])
}

// matching is a text that matches a pattern and has a length that fits.
func (p *pen) matching(l letters) string {
	for range tries {
		if text, is := l.pattern.draw(p); is && (l.fits(text) || p.full()) {
			return text
		}
	}
	text, _ := l.pattern.draw(newPen(0, p.room))
	return text
}

// drawable says whether a text that fits was found.
func (l letters) drawable() bool {
	if l.pattern == nil {
		return true
	}
	p := newPen(0, patternRoom)
	text := p.letters(l)
	return l.fits(text) || utf8.RuneCountInString(text) >= patternRoom/4
}

// format is a text of a format that JSON Schema names; empty: of another.
func (p *pen) format(name string) string {
	switch name {
	case "date-time":
		return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:00Z", 1+p.roll(12), 1+p.roll(28), p.roll(24), p.roll(60))
	case "date":
		return fmt.Sprintf("2026-%02d-%02d", 1+p.roll(12), 1+p.roll(28))
	case "time":
		return fmt.Sprintf("%02d:%02d:00Z", p.roll(24), p.roll(60))
	case "duration":
		return fmt.Sprintf("P%dD", 1+p.roll(30))
	case "email":
		return p.word() + "@example.com"
	case "hostname":
		return p.word() + ".example.com"
	case "uri":
		return "https://example.com/" + p.word()
	case "ipv4":
		return fmt.Sprintf("192.0.2.%d", p.roll(256))
	case "ipv6":
		return fmt.Sprintf("2001:db8::%x", p.roll(1<<16))
	case "uuid":
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", p.roll(1<<32), p.roll(1<<16), p.roll(1<<12), p.roll(1<<12), p.roll(1<<48))
	}
	return ""
}
