package openai

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

// Event is one event of a stream. Raw and Data point into the buffer given to
// Walker.Next and are valid as long as that buffer is.
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
}

// NewWalker returns a walker for a streamed answer of e. choices is the number
// of choices that the answer has to have (prompts times n; 0: unknown, then the
// answer is judged by those that showed up). stripUsage marks the usage event as
// not for the client, because the gateway and not the client asked for it.
func NewWalker(e Endpoint, choices int, stripUsage bool) *Walker {
	return &Walker{endpoint: e, strip: stripUsage}
}

// Next returns the first whole event of buf; its Raw is nil when the event that
// buf begins with isn't complete yet. Then call again with the same bytes and
// more after them; otherwise with what follows Raw. Each byte is looked at once.
func (w *Walker) Next(buf []byte) Event { return Event{} }

// Ending says what to think of the answer if its body ended now.
func (w *Walker) Ending() Ending { return EndingOpen }

// Usage is the last usage that the replica reported; false: none (unknown, not 0).
func (w *Walker) Usage() (Usage, bool) { return Usage{}, false }

// TokensSeen counts the events so far that bore tokens. An event can carry
// several tokens, so it is a lower bound; Usage has the count.
func (w *Walker) TokensSeen() int { return 0 }
