package openai

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// meter adds up what text costs in tokens. A character's price depends on its
// class and on the class of the character before it. Both are looked up at once,
// so most characters cost less than half a nanosecond. The prices were fitted to
// Gemma 3's tokenizer: see doc.go.
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

// addString consumes a string that the scanner's peek has seen, and counts its
// characters: what it says, not how it is escaped. Each string starts anew: what
// the template puts between two of them keeps their tokens apart.
func (m *meter) addString(s *scanner) {
	p := pricer{}
	t := s.strPriced(&p)
	m.price += p.price
	m.bytes += len(t.raw) - p.spared
}

// addJSON counts a value that the scanner has checked, as a template prints it:
// without white space between its tokens.
func (m *meter) addJSON(raw []byte) {
	p := pricer{}
	for s := newScanner(raw, 1); s.pos < len(raw); s.space() {
		start := s.pos
		p.rune(rune(raw[start]))
		if raw[start] == '"' {
			s.strPriced(&p)
			p.rune('"')
		} else {
			s.pos++
		}
		m.bytes += s.pos - start
	}
	m.price += p.price
}

// pricer adds up the price of one string's characters.
type pricer struct {
	price  int64
	last   byte // code of the last character
	spared int  // bytes that escapes take beyond what they stand for
}

// A character's code is its byte if that is ASCII, wideCode and its class if it
// isn't, and edgeCode when there is none.
const (
	edgeCode = 0
	wideCode = utf8.RuneSelf
)

func classOfCode(code byte) class {
	switch {
	case code == edgeCode:
		return edge
	case code < wideCode:
		return asciiClass[code]
	}
	return min(class(code-wideCode), numClasses-1)
}

// rune counts one character.
func (p *pricer) rune(r rune) {
	if r < utf8.RuneSelf {
		p.price += int64(bytePrice[uint16(r)<<8|uint16(p.last)])
		p.last = byte(r)
		return
	}
	k := classOfRune(r)
	p.price += int64(widePrice[p.last][k])
	p.last = wideCode + byte(k)
}

// escape counts the escape at data[i:], which the scanner has checked, and tells
// how long it is.
func (p *pricer) escape(data []byte, i int) int {
	r, size := unescape(data, i)
	p.spared += size - utf8.RuneLen(r)
	p.rune(r)
	return size
}

// plain counts characters up to where plainEnd ends: the two are one loop, but
// for the price. In eight bytes, each 16 bits are a character and the one before.
func (p *pricer) plain(data []byte, i int) int {
	price, last := p.price, p.last
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		if oddBytes(w) != 0 {
			break
		}
		if bits.RotateLeft64(w, 8) == w {
			price += int64(eightSame[asciiClass[w&0x7f]])
		} else {
			price += int64(bytePrice[uint16(w<<8)|uint16(last)]) + int64(bytePrice[uint16(w)]) +
				int64(bytePrice[uint16(w>>8)]) + int64(bytePrice[uint16(w>>16)]) +
				int64(bytePrice[uint16(w>>24)]) + int64(bytePrice[uint16(w>>32)]) +
				int64(bytePrice[uint16(w>>40)]) + int64(bytePrice[uint16(w>>48)])
		}
		last = byte(w >> 56)
	}
	for i < len(data) && isPlain[data[i]] {
		price += int64(bytePrice[uint16(data[i])<<8|uint16(last)])
		last = data[i]
		i++
	}
	p.price, p.last = price, last
	return i
}
