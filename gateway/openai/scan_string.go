package openai

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// text is a JSON string as it stands in the body, without its quotes.
type text struct {
	raw     []byte
	escaped bool // it has backslashes
}

// str consumes a string that peek has seen. Its bytes are checked: no control
// characters, escapes of RFC 8259, valid UTF-8. Lone surrogates (\ud800) are
// within the grammar and pass; jsontext is stricter there.
func (s *scanner) str() text {
	if s.err != nil {
		return text{}
	}
	start := s.pos + 1
	escaped := false
	for i := start; ; {
		i = plainEnd(s.data, i)
		switch c := s.byteOf(i); {
		case c == '"':
			s.pos = i + 1
			return text{s.data[start:i], escaped}
		case c == '\\':
			escaped = true
			i = s.escape(i)
		case c >= utf8.RuneSelf:
			i = s.wide(i)
		default:
			s.failString(i)
		}
		if s.err != nil {
			return text{}
		}
	}
}

// strPriced is str for text that is to be counted: the checks and the prices
// take one walk.
func (s *scanner) strPriced(p *pricer) text {
	if s.err != nil {
		return text{}
	}
	start := s.pos + 1
	escaped := false
	for i := start; ; {
		i = p.plain(s.data, i)
		switch c := s.byteOf(i); {
		case c == '"':
			s.pos = i + 1
			return text{s.data[start:i], escaped}
		case c == '\\':
			escaped = true
			if end := s.escape(i); s.err != nil || i+1 == len(s.data) {
				i = end // a backslash alone at the end: the next turn says so
			} else {
				i += p.escape(s.data, i)
			}
		case c >= utf8.RuneSelf:
			i = s.widePriced(i, p)
		default:
			s.failString(i)
		}
		if s.err != nil {
			return text{}
		}
	}
}

// byteOf is the byte at i inside a string, 0 at the end of the body. (A NUL
// inside a string is an error as well.)
func (s *scanner) byteOf(i int) byte {
	if i < len(s.data) {
		return s.data[i]
	}
	return 0
}

// failString tells why a string can't go on at i.
func (s *scanner) failString(i int) {
	if i >= len(s.data) {
		s.fail(len(s.data), "it ends inside a string")
		return
	}
	s.failf(i, "byte 0x%02x inside a string must be escaped", s.data[i])
}

// widePriced counts a run of characters beyond ASCII, and checks it.
func (s *scanner) widePriced(i int, p *pricer) int {
	for i < len(s.data) && s.data[i] >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(s.data[i:])
		if r == utf8.RuneError && size == 1 {
			s.fail(i, "not valid UTF-8")
			break
		}
		p.rune(r)
		i += size
	}
	return i
}

// wide steps over a run of bytes beyond ASCII and checks that it is UTF-8. No
// character straddles the end of such a run, so the run stands for itself.
func (s *scanner) wide(i int) int {
	end := i
	for end < len(s.data) && s.data[end] >= utf8.RuneSelf {
		end++
	}
	if !utf8.Valid(s.data[i:end]) {
		s.fail(invalidAt(s.data, i), "not valid UTF-8")
	}
	return end
}

func invalidAt(data []byte, i int) int {
	for i < len(data) {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}

// escape steps over one escape.
func (s *scanner) escape(i int) int {
	if i+1 >= len(s.data) {
		return len(s.data)
	}
	switch s.data[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if _, ok := hex4(s.data, i+2); ok {
			return i + 6
		}
		s.fail(i, `\u must be followed by four hex digits`)
	default:
		s.failf(i, "a backslash followed by %s is no escape", quoteByte(s.data[i+1]))
	}
	return len(s.data)
}

// hex4 reads the four hex digits at data[i:].
func hex4(data []byte, i int) (rune, bool) {
	if i+4 > len(data) {
		return 0, false
	}
	var r rune
	for _, c := range data[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// unescape decodes the escape at raw[i:], which has been checked, and tells how
// long it is. A surrogate without its other half is U+FFFD.
func unescape(raw []byte, i int) (rune, int) {
	switch c := raw[i+1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(c), 2
	}
	r, _ := hex4(raw, i+2)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if i+12 <= len(raw) && raw[i+6] == '\\' && raw[i+7] == 'u' {
		low, _ := hex4(raw, i+8)
		if r := utf16.DecodeRune(r, low); r != utf8.RuneError {
			return r, 12
		}
	}
	return utf8.RuneError, 6
}

// decode appends the string's characters to dst.
func (t text) decode(dst []byte) []byte {
	if !t.escaped {
		return append(dst, t.raw...)
	}
	for i := 0; i < len(t.raw); {
		if t.raw[i] != '\\' {
			dst = append(dst, t.raw[i])
			i++
			continue
		}
		r, size := unescape(t.raw, i)
		dst = utf8.AppendRune(dst, r)
		i += size
	}
	return dst
}

// plain is the decoded text; it is the body's own bytes where nothing is escaped.
func (t text) plain() []byte {
	if !t.escaped {
		return t.raw
	}
	return t.decode(nil)
}

// String is the decoded text.
func (t text) String() string {
	if !t.escaped {
		return string(t.raw)
	}
	return string(t.decode(make([]byte, 0, len(t.raw))))
}

// nameOf decodes a member's name. An escape in it must not hide which field it
// is: "mod\u0065l" is the model to the replica too. Only such a name, which no
// honest client writes, costs an allocation.
func nameOf(t text) []byte {
	if !t.escaped || len(t.raw) > keyRoom {
		return t.raw
	}
	return t.decode(nil)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plainEnd finds the first byte at or after i that ends a run of plain ASCII
// inside a string: a quote, a backslash, a control character, or a byte beyond
// ASCII; len(data) if there is none. It looks at eight bytes at once, since
// nearly all of a large body (an image in base64) is such a run.
func plainEnd(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		if odd := oddBytes(w); odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for i < len(data) && isPlain[data[i]] {
		i++
	}
	return i
}

// oddBytes sets the high bit of the lowest byte of w that plainEnd ends at, and
// perhaps of some above it; it is 0 if there is none. (x-ones)&^x sets it for a
// zero byte, (x-0x20…)&^x for a control character; a borrow can only set it above
// a true one.
func oddBytes(w uint64) uint64 {
	quote, slash := w^('"'*ones), w^('\\'*ones)
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w | w) & highs
}

// isPlain says which bytes plainEnd passes over.
var isPlain = makePlain()

func makePlain() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}
