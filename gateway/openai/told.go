package openai

// Told is what the client of a streamed chat or completion has been told so far:
// its text, and what else must stay the same if another replica goes on. The zero
// value is for an answer that hasn't begun.
type Told struct {
	Text   []byte
	Events int   // that bore text: no fewer tokens than these
	Odd    bool  // there was something other than the text of one choice
	Usage  Usage // that the newest event told, if they do: of what there is so far

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
	t.read(ev.Data)
	if len(t.Text) > before {
		t.Events++
	}
	t.Odd = t.Odd || len(t.Text) > maxTold
}

func (t *Told) read(data []byte) {
	s := newScanner(data, eventDepth)
	if s.peek() != '{' {
		t.Odd = true
		return
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
			t.choices(&s)
		case "usage":
			t.usage(&s)
		default:
			s.skip()
		}
	}
	t.Odd = t.Odd || s.err != nil
}

// keep consumes a value, and remembers the first of its kind.
func keep(value *[]byte, s *scanner) {
	if at := s.skip(); *value == nil {
		*value = append([]byte{}, s.bytes(at)...)
	}
}

func (t *Told) usage(s *scanner) {
	var u usageCount
	if u.read(s); u.seen {
		t.Usage = u.usage()
	}
}

func (t *Told) choices(s *scanner) {
	if s.peek() != '[' {
		t.Odd = true
		s.skip()
		return
	}
	for s.enterArray(); s.element(); {
		if s.peek() != '{' {
			t.Odd = true
			s.skip()
			continue
		}
		t.choice(s)
	}
}

// choice reads a choice, or its delta: all that they may bear is text.
func (t *Told) choice(s *scanner) {
	for s.enterObject(); s.member(); {
		switch string(s.key) {
		case "delta":
			if s.peek() == '{' {
				t.choice(s)
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
			s.skip()
		default:
			t.nothing(s)
		}
	}
}

// nothing consumes a value that must say nothing.
func (t *Told) nothing(s *scanner) { t.Odd = bears(s) || t.Odd }
