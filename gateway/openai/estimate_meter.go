package openai

import "unicode/utf8"

// meter adds up what text costs in tokens. A character's price depends on its
// class, on the class before it, and, for a letter, on how many letters stand
// before it in the word; all three are looked up, so a character costs a
// nanosecond. The prices were fitted to Gemma 3's tokenizer: see doc.go.
type meter struct {
	price int64 // in units
	bytes int   // of the text, decoded
}

// bytesAtMost is the most bytes that a token stands for on average in any text
// seen: runs of spaces, of which 31 are one.
const bytesAtMost = 31

// tokens is the estimate. It is at most the text's bytes, which is certain for a
// tokenizer with byte fallback.
func (m *meter) tokens() float64 {
	if m.bytes == 0 {
		return 0
	}
	least := max(1, float64(m.bytes)/bytesAtMost)
	return min(max(float64(m.price)/unit, least), float64(m.bytes))
}

// add counts the characters of a string. Each string starts anew: what the
// template puts between two of them keeps their tokens apart.
func (m *meter) add(t text) {
	p := pricer{}
	p.run(t.raw)
	m.price += p.price
	m.bytes += len(t.raw) - p.spared
}

// pricer walks over the characters of one string.
type pricer struct {
	price   int64
	last    class
	char    byte  // the last one, if it was of ASCII
	letters uint8 // a bit for each of the last 8 characters: it was a letter
	spared  int   // bytes that escapes take beyond what they stand for
}

// run counts text in which backslashes are escapes.
func (p *pricer) run(raw []byte) {
	for i := 0; i < len(raw); {
		i = p.plain(raw, i)
		if i == len(raw) {
			return
		}
		r, size := rune(0), 0
		if raw[i] == '\\' {
			r, size = unescape(raw, i)
			p.spared += size - utf8.RuneLen(r)
		} else {
			r, size = utf8.DecodeRune(raw[i:])
		}
		p.rune(r)
		i += size
	}
}

// plain counts ASCII from raw[i:] up to a backslash or a wider character.
func (p *pricer) plain(raw []byte, i int) int {
	price, last, char, letters := p.price, p.last, p.char, p.letters
	for ; i < len(raw); i++ {
		c := raw[i]
		if c >= utf8.RuneSelf || c == '\\' {
			break
		}
		k := asciiClass[c]
		if c == char {
			k = again[k]
		}
		letters = letters<<1 | isLetter[k]
		price += int64(pairPrice[last&classMask][k&classMask]) + int64(deepPrice[letters])
		last, char = k, c
	}
	p.price, p.last, p.char, p.letters = price, last, char, letters
	return i
}

// rune counts one character that is escaped or beyond ASCII.
func (p *pricer) rune(r rune) {
	if r < utf8.RuneSelf {
		c := byte(r)
		k := asciiClass[c]
		if c == p.char {
			k = again[k]
		}
		p.step(k)
		p.char = c
		return
	}
	p.step(classOfRune(r))
	p.char = 0
}

func (p *pricer) step(k class) {
	p.letters = p.letters<<1 | isLetter[k]
	p.price += int64(pairPrice[p.last&classMask][k&classMask]) + int64(deepPrice[p.letters])
	p.last = k
}

// addJSON counts a value that the scanner has checked, as a template prints it:
// without white space between tokens, and with the escapes left standing.
func (m *meter) addJSON(raw []byte) {
	p := pricer{}
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\n', '\t', '\r':
			i++
			continue
		case '"':
			end := stringEnd(raw, i)
			p.run(raw[i:end])
			m.bytes += end - i
			i = end
		default:
			p.rune(rune(c))
			m.bytes++
			i++
		}
	}
	m.price += p.price
}

// stringEnd finds the byte after the string that starts at raw[i:].
func stringEnd(raw []byte, i int) int {
	for i = plainEnd(raw, i+1); raw[i] != '"'; i = plainEnd(raw, i+1) {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}
