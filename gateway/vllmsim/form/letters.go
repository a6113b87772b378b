package form

import (
	"fmt"
	"unicode/utf8"
)

// letters is what a text must keep to, counted in characters.
type letters struct {
	least, most int
	pattern     *Pattern
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

// drawable says whether a text that fits was found.
func (l letters) drawable() bool {
	if l.pattern == nil {
		return true
	}
	p := newPen(0, patternRoom)
	text := p.letters(l)
	return l.fits(text) || utf8.RuneCountInString(text) >= patternRoom/4
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
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", p.dice.Uint32(), p.roll(1<<16), p.roll(1<<12), p.roll(1<<12), p.dice.Uint64()>>16)
	}
	return ""
}
