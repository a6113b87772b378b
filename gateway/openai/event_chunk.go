package openai

import "bytes"

// chunk is what an object with choices says: an event of a chat or a completions
// stream, or a whole answer of theirs.
type chunk struct {
	list   span // the choices' array
	count  int  // choices in it; -1: there is no array
	last   choice
	finish bool // some choice has a finish reason
	tokens bool // some choice bears tokens
	texts  int  // members that bear them
	text   span // the last of these
	failed bool
	usage  usageCount
}

type choice struct {
	index int
	why   reason
}

// eventDepth is how deep events and answers may nest. Nothing that a replica
// makes comes near it; what a model nests is text inside strings.
const eventDepth = 200

// readChunk reads a whole chunk; false if it isn't JSON.
func readChunk(data []byte) (chunk, bool) {
	s := newScanner(data, eventDepth)
	c := chunk{count: -1}
	if s.peek() != '{' {
		return c, false
	}
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "choices":
			c.readChoices(&s)
		case "usage":
			c.usage.read(&s)
		case "error":
			c.failed = bears(&s) || c.failed
		case "object": // "error": the flat errors of vLLM before 2025-09
			c.failed = is(&s, "error") || c.failed
		default:
			s.skip()
		}
	}
	s.end()
	return c, s.err == nil
}

func (c *chunk) readChoices(s *scanner) {
	if s.peek() != '[' {
		s.skip()
		return
	}
	c.count = 0
	c.list.start = s.pos
	for s.enterArray(); s.element(); c.count++ {
		c.readChoice(s)
	}
	c.list.end = s.pos
}

// readChoice reads one choice. Engines other than vLLM leave out the index of an
// only choice; its place then stands for it.
func (c *chunk) readChoice(s *scanner) {
	c.last = choice{index: c.count}
	if s.peek() != '{' {
		s.skip()
		return
	}
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "index":
			c.last.index = readCount(s)
		case "delta", "message":
			c.readDelta(s)
		case "text", "token_ids":
			c.readTokens(s)
		case "finish_reason":
			c.last.why = readReason(s)
		default:
			s.skip()
		}
	}
	c.finish = c.finish || c.last.why != noReason
}

// readDelta reads a delta or a message. What bears tokens is the whole of what a
// model can say, not its text alone: a reasoning model thinks for minutes before
// the first content, and a tool call may have none.
func (c *chunk) readDelta(s *scanner) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "content", "reasoning", "reasoning_content", "refusal", "tool_calls", "function_call", "audio":
			c.readTokens(s)
		default:
			s.skip()
		}
	}
}

// readTokens reads a member that bears tokens unless it is empty.
func (c *chunk) readTokens(s *scanner) {
	s.space()
	start := s.pos
	if bears(s) {
		c.tokens = true
		c.texts++
		c.text = span{start, s.pos}
	}
}

// noteChoices takes down the choices of a chunk that has been read to its end without
// fault. Replicas send one choice a chunk; several are read once more.
func (t *tally) noteChoices(c *chunk, data []byte) {
	if c.count == 1 {
		t.note(c.last.index, c.last.why)
		return
	}
	if c.count < 1 {
		return
	}
	s := newScanner(data[c.list.start:c.list.end], eventDepth)
	var again chunk
	for s.enterArray(); s.element(); again.count++ {
		again.readChoice(&s)
		t.note(again.last.index, again.last.why)
	}
}

// classifyChunk reads an event of a chat or completions stream, and of endpoints
// whose events aren't known.
func (w *Walker) classifyChunk(ev *Event) {
	if w.shape.fits(ev.Data) {
		ev.Kind, ev.Tokens = EventToken, true
		return
	}
	c, ok := readChunk(ev.Data)
	if !ok {
		return
	}
	w.noteUsage(&c.usage)
	if c.failed {
		w.noteError(ev)
		return
	}
	w.tally.noteChoices(&c, ev.Data)
	ev.Tokens = c.tokens
	switch {
	case c.count < 0, c.count == 0 && !c.usage.seen:
		ev.Kind = EventOther
	case c.count == 0:
		ev.Kind, ev.Strip = EventUsage, w.strip
	case c.finish:
		ev.Kind = EventFinish
	case c.tokens:
		ev.Kind = EventToken
		w.shape.keep(&c, ev.Data)
	default:
		ev.Kind = EventRole
	}
}

func (w *Walker) noteUsage(u *usageCount) {
	if u.seen {
		w.usage, w.hasUsage = u.usage(), true
	}
}

// bears consumes one value and reports whether there is anything in it: a text,
// an array or an object that isn't empty.
func bears(s *scanner) bool {
	switch s.peek() {
	case '"':
		return len(s.str().raw) > 0
	case '[', '{':
		at := s.skip()
		if s.err != nil { // cut: there may be nothing after the brace
			return false
		}
		inner := bytes.TrimLeft(s.bytes(at)[1:], " \t\r\n")
		return inner[0] != ']' && inner[0] != '}'
	}
	s.skip()
	return false
}

// is consumes one value and reports whether it is this text.
func is(s *scanner, want string) bool {
	if s.peek() != '"' {
		s.skip()
		return false
	}
	return string(s.str().plain()) == want
}
