package openai

import "bytes"

// shape remembers a chunk that bore one text and nothing else of note. Within a
// stream such chunks differ in that text alone, so the next one is known without
// reading it: if the bytes before and after its text are the same, then a reader
// would come to the text in the same state, leave it in the same state, and find
// the same. That saves most of the time that an event takes.
type shape struct {
	head []byte // to the text's opening quote
	tail []byte // from its closing quote
}

// keep takes the shape of a chunk that has been read to its end without fault.
func (h *shape) keep(c *chunk, data []byte) {
	if c.count != 1 || c.texts != 1 || c.usage.seen || data[c.text.start] != '"' {
		return
	}
	h.head = append(h.head[:0], data[:c.text.start+1]...)
	h.tail = append(h.tail[:0], data[c.text.end-1:]...)
}

// fits reports whether data is a chunk of this shape with a text that isn't empty.
func (h *shape) fits(data []byte) bool {
	end := len(data) - len(h.tail)
	if len(h.tail) == 0 || end <= len(h.head) || !bytes.HasPrefix(data, h.head) || !bytes.HasSuffix(data, h.tail) {
		return false
	}
	if plainEnd(data, len(h.head)) == end {
		return true
	}
	s := newScanner(data, eventDepth) // the text has escapes, or more than ASCII
	s.pos = len(h.head) - 1
	s.str()
	return s.err == nil && s.pos == end+1
}
