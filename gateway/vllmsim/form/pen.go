package form

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// pen writes a text of its own making: what it decides follows from its seed.
type pen struct {
	text []byte
	room int // bytes; what is beyond them nobody will see
	dice *rand.Rand
}

func newPen(seed uint64, room int) *pen {
	return &pen{room: room, dice: rand.New(rand.NewPCG(seed, 0))}
}

// aside is a pen for a text of its own, with the room that is left.
func (p *pen) aside() *pen { return &pen{room: p.room - len(p.text), dice: p.dice} }

func (p *pen) write(text string) { p.text = append(p.text, text...) }

func (p *pen) full() bool { return len(p.text) >= p.room }

// roll is a number from 0 to n-1; n must be positive.
func (p *pen) roll(n int) int { return p.dice.IntN(n) }

// words are what texts are made of that may say anything.
var words = strings.Fields(`alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec
	romeo sierra tango uniform victor whiskey xray yankee zulu`)

func (p *pen) word() string { return words[p.roll(len(words))] }

// shallow is the depth from which on a value is brought to its end.
const shallow = 5

// value writes a value of a schema.
func (p *pen) value(s *Schema, depth int) {
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
func (p *pen) option(options []*Schema, depth int) *Schema {
	least := slices.MinFunc(options, func(a, b *Schema) int { return a.depth - b.depth })
	if picked := options[p.roll(len(options))]; depth < shallow && picked.depth < never {
		return picked
	}
	return least
}

// kindOf picks a kind in the same way.
func (p *pen) kindOf(s *Schema, depth int) string {
	least := slices.MinFunc(s.kinds, func(a, b string) int { return s.depthOf(a) - s.depthOf(b) })
	if picked := s.kinds[p.roll(len(s.kinds))]; depth < shallow && s.depthOf(picked) < never {
		return picked
	}
	return least
}

func (p *pen) kind(s *Schema, kind string, depth int) {
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
