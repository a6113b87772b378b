package openai

import "bytes"

// EventKind says what an event of a stream is for.
type EventKind uint8

const (
	// EventOther: anything not named below, and anything that can't be read.
	// It is passed on like every other event.
	EventOther EventKind = iota
	// EventComment: no data: a comment, a ping, a blank line, retry: or id:.
	// It shows that the replica lives and says nothing about the answer.
	EventComment
	// EventRole: opens an answer, or a part of one, without a token: the role
	// chunk of a chat, response.created, message_start, a chunk with empty
	// text. Until a first token has come it may be held back.
	EventRole
	// EventToken: bears tokens and no ending.
	EventToken
	// EventFinish: a finish reason, or an endpoint's closing event. It may bear
	// tokens as well; Walker.Ending says which ending it is.
	EventFinish
	// EventUsage: a chunk with no choices that only reports usage.
	EventUsage
	// EventDone: the [DONE] line. It is no evidence of success.
	EventDone
	// EventError: the replica reports an error in mid-stream.
	EventError
)

// Event is one event of a stream. Raw and Data are valid until the next call of
// Walker.Next, and while the buffer that it was given stays as it is.
type Event struct {
	Raw    []byte // the whole event with the blank line that ends it; nil: none yet
	Data   []byte // what its data: lines carry
	Kind   EventKind
	Tokens bool // it bears tokens (also true of an EventFinish that has text)
	Strip  bool // it is the usage event that only the gateway asked for: not for the client
}

// Walker reads the stream of one answer. It is not safe for concurrent use.
type Walker struct {
	endpoint Endpoint
	strip    bool
	frames   framer
	joined   []byte // data of an event that has several data: lines
	shape    shape
	tally    tally
	usage    Usage
	hasUsage bool
	said     int // events that bear tokens
	sequence int // what the next event of a Responses stream is numbered
}

// NewWalker returns a walker for a streamed answer of e. choices is the number
// of choices that the answer has to have (prompts times n; 0: unknown, then the
// answer is judged by those that showed up); Responses and Messages have one
// anyway. stripUsage marks the usage event as not for the client, because the
// gateway and not the client asked for it.
func NewWalker(e Endpoint, choices int, stripUsage bool) *Walker {
	return &Walker{endpoint: e, strip: stripUsage, tally: newTally(e, choices)}
}

// Next returns the first whole event of buf; its Raw is nil when the event that
// buf begins with isn't complete yet. Then call again with the same bytes and
// more after them; otherwise with what follows Raw. Each byte is looked for its
// line end once, however small the pieces in which the body arrives.
func (w *Walker) Next(buf []byte) Event {
	first := !w.frames.begun
	n := w.frames.end(buf)
	if n == 0 {
		return Event{}
	}
	ev := Event{Raw: buf[:n]}
	w.classify(&ev, w.readLines(&ev, first))
	if ev.Tokens {
		w.said++
	}
	return ev
}

// Ending says what to think of the answer if its body ended now.
func (w *Walker) Ending() Ending { return w.tally.ending() }

// Closed reports whether the event has come with which the endpoint closes an
// answer, in good order or not. Chats and completions have none but [DONE].
func (w *Walker) Closed() bool { return w.tally.closed }

// Said is how many events have borne tokens.
func (w *Walker) Said() int { return w.said }

// Usage is the last usage that the replica reported; false: none, so the counts
// are unknown, not 0. With continuous usage of several choices it covers one of
// them until the stream's last report.
func (w *Walker) Usage() (Usage, bool) { return w.usage, w.hasUsage }

// AppendErrorEvent appends the event with which this stream ends when it broke:
// AppendErrorEvent, numbered as the next event of a Responses stream.
func (w *Walker) AppendErrorEvent(dst []byte, err APIError) []byte {
	return appendErrorEvent(dst, w.endpoint, err, w.sequence)
}

// readLines sets the event's data and returns its name. Nearly every event is one
// data: line; it needs no second look.
func (w *Walker) readLines(ev *Event, first bool) (name []byte) {
	if data, ok := bytes.CutPrefix(ev.Raw, []byte("data: ")); ok && w.frames.lines == 1 {
		ev.Data = bytes.TrimRight(data, "\r\n")
		return nil
	}
	raw := ev.Raw
	if first {
		raw = bytes.TrimPrefix(raw, byteOrderMark)
	}
	name, ev.Data, w.joined = readFields(raw, w.joined)
	return name
}

// classify finds out what the event is for and takes down what it says.
func (w *Walker) classify(ev *Event, name []byte) {
	data := bytes.TrimSpace(ev.Data)
	switch {
	case len(data) == 0 || string(name) == "ping":
		ev.Kind = EventComment
	case string(data) == "[DONE]":
		ev.Kind = EventDone
	case string(name) == "error":
		w.noteError(ev)
	case w.endpoint == Responses || w.endpoint == Messages:
		w.classifyTyped(ev, name)
	default:
		w.classifyChunk(ev)
	}
}

func (w *Walker) noteError(ev *Event) {
	ev.Kind = EventError
	w.tally.report(EndingError)
}
