package openai

// Told is what the client of a streamed chat or completion has been told so far:
// its text, and what else must stay the same if another replica goes on. The zero
// value is for an answer that hasn't begun.
type Told struct {
	Text   []byte
	Events int   // that bore its tokens: no fewer than these
	Odd    bool  // there was something other than the text of one choice
	Usage  Usage // that the newest event with text told, if they do

	unseen             int    // tokens without a text since then: half a character, perhaps
	id, created, model []byte // as JSON
}

// maxTold is the longest text that is kept, in bytes: no answer that anybody waits
// for is longer.
const maxTold = 1 << 20

// Note takes in an event that goes to the client.
func (t *Told) Note(ev *Event) {
	switch ev.Kind {
	case EventComment:
		return
	case EventRole, EventToken:
	default:
		t.Odd = true
	}
	if t.Odd {
		t.Text = nil
		return
	}
	before := len(t.Text)
	usage, opens := t.read(ev.Data)
	switch {
	case len(t.Text) > before:
		t.Events, t.unseen = t.Events+t.unseen+1, 0
		t.Usage = usage
	case !opens:
		t.unseen++
	}
	t.Odd = t.Odd || len(t.Text) > maxTold
}

// read reads a chunk: the usage that it tells, and whether it opens a turn.
func (t *Told) read(data []byte) (usage Usage, opens bool) {
	s := newScanner(data, eventDepth)
	if s.peek() != '{' {
		t.Odd = true
		return usage, false
	}
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "id":
			keep(&t.id, &s)
		case "created":
			keep(&t.created, &s)
		case "model":
			keep(&t.model, &s)
		case "choices":
			opens = t.choices(&s)
		case "usage":
			var u usageCount
			u.read(&s)
			usage = u.usage()
		default:
			s.skip()
		}
	}
	t.Odd = t.Odd || s.err != nil
	return usage, opens
}

// keep consumes a value, and remembers the first of its kind.
func keep(value *[]byte, s *scanner) {
	if at := s.skip(); *value == nil {
		*value = append([]byte{}, s.bytes(at)...)
	}
}

func (t *Told) choices(s *scanner) (open bool) {
	if s.peek() != '[' {
		t.Odd = true
		s.skip()
		return false
	}
	for s.enterArray(); s.element(); {
		if s.peek() != '{' {
			t.Odd = true
			s.skip()
			continue
		}
		open = t.choice(s) || open
	}
	return open
}

// choice reads a choice, or its delta: all that they may bear is text, but for the
// role of one that opens.
func (t *Told) choice(s *scanner) (opens bool) {
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "delta":
			if s.peek() == '{' {
				opens = t.choice(s) || opens
				continue
			}
			t.nothing(s)
		case "content", "text":
			if s.peek() == '"' {
				t.Text = s.str().decode(t.Text)
				continue
			}
			t.nothing(s)
		case "index":
			t.Odd = readCount(s) != 0 || t.Odd
		case "role":
			opens = bears(s) || opens
		default:
			t.nothing(s)
		}
	}
	return opens
}

// nothing consumes a value that must say nothing.
func (t *Told) nothing(s *scanner) { t.Odd = bears(s) || t.Odd }
