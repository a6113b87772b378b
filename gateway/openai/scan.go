package openai

import "fmt"

// MaxDepth is the deepest nesting that can be allowed: Python's own parser,
// behind which the replica stands, gives up at about 1,000.
const MaxDepth = 1024

// span is a part of the body: body[start:end].
type span struct{ start, end int }

// scanner reads one JSON text from front to back, strictly by RFC 8259, with
// no allocation and no recursion. It is pulled:
//
//	for s.enterObject(); s.member(); {
//		switch string(s.key) {
//		case "model":
//			name = s.str()
//		default:
//			s.skip()
//		}
//	}
//
// The body of such a loop must consume exactly one value: that is the whole
// protocol. The first error sticks; from then on every method does nothing and
// every loop ends, so the caller looks at err once, at the end.
type scanner struct {
	data     []byte
	pos      int
	depth    int  // containers that are open
	maxDepth int  // and how many may be
	fresh    bool // the innermost container has not yielded a value
	err      error

	key    []byte                // decoded name of the current member
	keyAt  int                   // and where its quote is
	arrays [MaxDepth / 64]uint64 // for skip: bit d is set when the container at depth d is an array
}

// keyRoom is the longest name, escaped, that is decoded. No field that we act on
// comes near it, however it is escaped: a longer name is none of them, and stays
// as it is.
const keyRoom = 256

func newScanner(data []byte, maxDepth int) scanner {
	return scanner{data: data, maxDepth: max(1, min(maxDepth, MaxDepth))}
}

// peek returns the first byte of the next value, which tells its kind:
// { [ " t f n or 0 for any number. It is ' ' when there is no value.
func (s *scanner) peek() byte {
	s.space()
	if s.err != nil {
		return ' '
	}
	if s.pos == len(s.data) {
		s.fail(s.pos, "it ends where a value should be")
		return ' '
	}
	switch c := s.data[s.pos]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	default:
		s.failf(s.pos, "%s where a value should be", quoteByte(c))
		return ' '
	}
}

// enterObject consumes the brace of an object that peek has seen.
func (s *scanner) enterObject() { s.enter() }

// enterArray consumes the bracket of an array that peek has seen.
func (s *scanner) enterArray() { s.enter() }

func (s *scanner) enter() {
	if s.err != nil {
		return
	}
	if s.depth == s.maxDepth {
		s.err = &BadBody{Message: fmt.Sprintf("the body nests deeper than limits.json_depth=%d allows, at byte %d", s.maxDepth, s.pos)}
		return
	}
	s.pos++
	s.depth++
	s.fresh = true
}

// member moves to the value of the object's next member and sets key. It is
// false when the object has ended; its brace is then consumed.
func (s *scanner) member() bool {
	if !s.next('}') {
		return false
	}
	if s.at() != '"' {
		s.fail(s.pos, "a member's name must be a string")
		return false
	}
	s.keyAt = s.pos
	s.key = nameOf(s.str())
	s.space()
	if s.at() != ':' {
		s.fail(s.pos, "':' should follow a member's name")
		return false
	}
	s.pos++
	return true
}

// element moves to the array's next element. It is false when the array has
// ended; its bracket is then consumed.
func (s *scanner) element() bool { return s.next(']') }

// next steps over what separates two values, or over the end of the container.
func (s *scanner) next(closer byte) bool {
	s.space()
	c := s.at()
	if c == closer {
		s.pos++
		s.depth--
		s.fresh = false
		return false
	}
	if s.fresh {
		s.fresh = false
		return s.err == nil
	}
	if c != ',' {
		s.failf(s.pos, "',' or %s should follow a value", quoteByte(closer))
		return false
	}
	s.pos++
	s.space()
	if s.at() == closer {
		s.failf(s.pos, "%s after a comma", quoteByte(closer))
	}
	return s.err == nil
}

// skip consumes one value of any kind, checks it, and tells where it is.
func (s *scanner) skip() span {
	first := s.peek()
	start, base := s.pos, s.depth
	s.open(first)
	for s.depth > base && s.err == nil {
		if s.more() {
			s.open(s.peek())
		}
	}
	return span{start, s.pos}
}

// open consumes a scalar, or enters a container and remembers its kind.
func (s *scanner) open(kind byte) {
	switch kind {
	case '{', '[':
		s.enter()
		word, bit := &s.arrays[(s.depth-1)/64], uint64(1)<<((s.depth-1)%64)
		*word &^= bit
		if kind == '[' {
			*word |= bit
		}
	case '"':
		s.str()
	case '0':
		s.number()
	default:
		s.literal()
	}
}

// more moves on in the innermost container, of the kind that open remembered.
func (s *scanner) more() bool {
	if d := s.depth - 1; s.arrays[d/64]>>(d%64)&1 == 1 {
		return s.element()
	}
	return s.member()
}

// end checks that nothing but white space is left.
func (s *scanner) end() {
	s.space()
	if s.err == nil && s.pos < len(s.data) {
		s.failf(s.pos, "%s after the end of the object", quoteByte(s.data[s.pos]))
	}
}

// space steps over white space.
func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return
		}
	}
}

// at is the byte at the current place, 0 at the end and after an error. (A NUL
// in the body is no token either, so the two need not be told apart.)
func (s *scanner) at() byte {
	if s.pos < len(s.data) && s.err == nil {
		return s.data[s.pos]
	}
	return 0
}

// bytes is the text of a span.
func (s *scanner) bytes(at span) []byte { return s.data[at.start:at.end] }

// fail keeps the first error, and with it the place.
func (s *scanner) fail(at int, what string) {
	if s.err == nil {
		s.err = &BadBody{Message: fmt.Sprintf("the body is not valid JSON: at byte %d: %s", at, what)}
	}
}

func (s *scanner) failf(at int, format string, args ...any) {
	s.fail(at, fmt.Sprintf(format, args...))
}

// quoteByte shows a byte of the body in an error. Bytes that are no printable
// ASCII are shown by number.
func quoteByte(c byte) string {
	if ' ' < c && c < 0x7f {
		return "'" + string(rune(c)) + "'"
	}
	return fmt.Sprintf("byte 0x%02x", c)
}
