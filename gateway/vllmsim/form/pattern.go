package form

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// Pattern is a regular expression, read so that texts can be written.
type Pattern struct {
	tree *syntax.Regexp
	test *regexp.Regexp
}

// NewPattern reads a regular expression that a text must match from its beginning
// to its end. The syntax is Go's, which vLLM's back ends share but for repetitions
// of more than 1000. It refuses what no text was found for.
func NewPattern(expr string) (*Pattern, error) { return newPattern(expr, true) }

// newPattern reads a regular expression. whole says that a text must match from
// its beginning to its end.
func newPattern(expr string, whole bool) (*Pattern, error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("regex parse error: %w", err)
	}
	full := expr
	if whole {
		full = `\A(?:` + expr + `)\z`
	}
	test, err := regexp.Compile(full)
	if err != nil {
		return nil, fmt.Errorf("regex parse error: %w", err)
	}
	p := &Pattern{tree, test}
	if _, is := p.draw(newPen(0, patternRoom)); !is {
		return nil, fmt.Errorf("regex %q is not supported: no text was found that matches", expr)
	}
	return p, nil
}

// Text is a text that matches; with one seed always the same. What is beyond room
// bytes nobody is to see: there the text may break off.
func (p *Pattern) Text(seed uint64, room int) string {
	text, _ := p.draw(newPen(seed, room))
	return text
}

// patternRoom is how long a text may be that shows that a pattern can be matched.
const patternRoom = 1 << 12

// tries is how often a text is drawn that turns out to be wrong, because of an
// anchor or a word boundary in the middle, before it is given up.
const tries = 50

// draw makes a text that matches, or the beginning of one if there is no room for
// more; false: none was found.
func (p *Pattern) draw(pen *pen) (string, bool) {
	for range tries {
		text := pen.aside()
		text.match(p.tree)
		if text.full() || p.test.Match(text.text) {
			return string(text.text), true
		}
	}
	return "", false
}

// surplus is how often at most something is repeated beyond what it must be.
const surplus = 3

// match writes a text for one expression.
func (p *pen) match(re *syntax.Regexp) {
	if p.full() {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		p.write(string(re.Rune))
	case syntax.OpCharClass:
		p.write(string(p.runeOf(re.Rune)))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		p.write(string(rune('a' + p.roll(26))))
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			p.match(sub)
		}
	case syntax.OpAlternate:
		p.match(re.Sub[p.roll(len(re.Sub))])
	case syntax.OpStar:
		p.repeat(re.Sub[0], 0, math.MaxInt)
	case syntax.OpPlus:
		p.repeat(re.Sub[0], 1, math.MaxInt)
	case syntax.OpQuest:
		p.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 {
			most = math.MaxInt
		}
		p.repeat(re.Sub[0], re.Min, most)
	}
}

func (p *pen) repeat(re *syntax.Regexp, least, most int) {
	for range least + p.roll(min(most-least, surplus)+1) {
		p.match(re)
	}
}

// runeOf picks a character of a class, one that can be typed where there is one.
func (p *pen) runeOf(ranges []rune) rune {
	if narrow := within(ranges, ' ', '~'); len(narrow) > 0 {
		ranges = narrow
	}
	if len(ranges) == 0 {
		return utf8.RuneError
	}
	i := 2 * p.roll(len(ranges)/2)
	return ranges[i] + rune(p.roll(int(ranges[i+1]-ranges[i])+1))
}

// within is what of the ranges lies between two characters.
func within(ranges []rune, low, high rune) []rune {
	var narrow []rune
	for i := 0; i < len(ranges); i += 2 {
		from, to := max(ranges[i], low), min(ranges[i+1], high)
		if from <= to {
			narrow = append(narrow, from, to)
		}
	}
	return narrow
}
