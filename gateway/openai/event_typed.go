package openai

import "bytes"

// typedEvent is what an event of a Responses or Messages stream says. Its members
// may come in any order, "type" last, so they are read before they are judged.
type typedEvent struct {
	kind     []byte
	delta    bool   // the delta isn't empty
	content  bool   // an item or block that begins already holds something
	stop     reason // Messages
	status   []byte // Responses
	usage    usageCount
	failed   bool
	sequence int // Responses; -1: none
}

// readTyped reads a whole event; false if it isn't JSON.
func readTyped(data []byte) (typedEvent, bool) {
	s := newScanner(data, eventDepth)
	t := typedEvent{sequence: -1}
	if s.peek() != '{' {
		return t, false
	}
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "type":
			t.kind = readText(&s)
		case "delta":
			t.readDelta(&s)
		case "item", "content_block":
			t.content = readItem(&s)
		case "response", "message":
			t.readResponse(&s)
		case "usage":
			t.usage.read(&s)
		case "error":
			t.failed = bears(&s)
		case "sequence_number":
			t.sequence = readCount(&s)
		default:
			s.skip()
		}
	}
	s.end()
	return t, s.err == nil
}

// readDelta reads a delta: a text (Responses), or an object (Messages).
func (t *typedEvent) readDelta(s *scanner) {
	if s.peek() != '{' {
		t.delta = bears(s)
		return
	}
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "text", "thinking", "partial_json":
			t.delta = bears(s) || t.delta
		case "stop_reason":
			t.stop = readReason(s)
		default:
			s.skip()
		}
	}
}

// readItem reports whether an output item or content block holds anything that
// the model said; a tool's name is a part of what it said.
func readItem(s *scanner) bool {
	if s.peek() != '{' {
		s.skip()
		return false
	}
	said := false
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "content":
			said = readContent(s) || said
		case "text", "thinking", "name", "arguments", "refusal":
			said = bears(s) || said
		default:
			s.skip()
		}
	}
	return said
}

// readContent is an item's text, or a list of parts: an aborted answer may have
// one part without text.
func readContent(s *scanner) bool {
	if s.peek() == '[' {
		return readItems(s)
	}
	return bears(s)
}

// readResponse reads the response, or the message, that an event carries.
func (t *typedEvent) readResponse(s *scanner) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "status":
			t.status = readText(s)
		case "usage":
			t.usage.read(s)
		default:
			s.skip()
		}
	}
}

// readText reads a string as it stands; other values are no text.
func readText(s *scanner) []byte {
	if s.peek() != '"' {
		s.skip()
		return nil
	}
	return s.str().plain()
}

// classifyTyped reads an event of a Responses or Messages stream. name is the
// event's own name; the data says the same, and is believed first.
func (w *Walker) classifyTyped(ev *Event, name []byte) {
	t, ok := readTyped(ev.Data)
	if !ok {
		return
	}
	if t.kind == nil {
		t.kind = name
	}
	if t.sequence >= 0 {
		w.sequence = t.sequence + 1
	}
	switch {
	case t.failed || string(t.kind) == "error":
		w.noteError(ev)
	case w.endpoint == Responses:
		w.classifyResponses(ev, &t)
	default:
		w.classifyMessages(ev, &t)
	}
	ev.Tokens = ev.Kind == EventToken
}

func (w *Walker) classifyResponses(ev *Event, t *typedEvent) {
	switch kind := string(t.kind); kind {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		ev.Kind = EventFinish
		w.noteUsage(&t.usage)
		w.tally.noteStatus(t.kind[len("response."):])
		w.tally.noteStatus(t.status)
		w.tally.close()
	case "response.created", "response.queued", "response.in_progress",
		"response.content_part.added", "response.reasoning_part.added", "response.reasoning_summary_part.added":
		ev.Kind = EventRole
	case "response.output_item.added":
		ev.Kind = roleOrToken(t.content)
	default:
		if bytes.HasSuffix(t.kind, []byte(".delta")) {
			ev.Kind = roleOrToken(t.delta)
		}
	}
}

// noteStatus takes down the status of a response. vLLM closes an aborted one with
// response.completed, and only the status in it says "cancelled".
func (t *tally) noteStatus(status []byte) {
	switch string(status) {
	case "completed", "incomplete":
		t.note(0, finished)
	case "failed":
		t.note(0, finished)
		t.report(EndingFailed)
	case "cancelled":
		t.note(0, aborted)
	}
}

func (w *Walker) classifyMessages(ev *Event, t *typedEvent) {
	switch string(t.kind) {
	case "ping":
		ev.Kind = EventComment
	case "message_start":
		ev.Kind = EventRole
		w.usage = t.usage.usage() // the prompt's; the answer's length is still unknown
	case "content_block_start":
		ev.Kind = roleOrToken(t.content)
	case "content_block_delta":
		if t.delta {
			ev.Kind = EventToken
		}
	case "message_delta":
		w.noteMessageDelta(ev, t)
	case "message_stop":
		ev.Kind = EventFinish
		w.tally.close()
	}
}

// noteMessageDelta takes down the stop reason and the usage. Anthropic counts the
// prompt only in message_start.
func (w *Walker) noteMessageDelta(ev *Event, t *typedEvent) {
	start := w.usage
	w.noteUsage(&t.usage)
	if w.usage.PromptTokens == 0 {
		w.usage.PromptTokens, w.usage.CachedTokens = start.PromptTokens, start.CachedTokens
	}
	w.tally.note(0, t.stop)
	ev.Kind = EventFinish
	if t.stop == noReason { // the abort that follows may still be tried elsewhere
		ev.Kind = EventRole
	}
}

func roleOrToken(tokens bool) EventKind {
	if tokens {
		return EventToken
	}
	return EventRole
}
