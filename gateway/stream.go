package gateway

import (
	"errors"
	"fmt"
	"time"

	"sluice/gateway/openai"
)

// source is the body of a replica's answer as a stream reads it.
type source interface {
	// Read returns what has arrived, io.EOF only at a proper end.
	Read(p []byte) (int, error)
}

// stream is a replica's event stream on its way through: a buffer of bytes that
// have arrived, of which a part is whole events and may go to the client.
//
//	buf[sent:walked]   whole events, not yet relayed
//	buf[walked:]       the begin of an event that is still arriving
type stream struct {
	from    source
	walker  *openai.Walker
	buf     []byte
	sent    int
	walked  int
	limit   int // bytes one event may have
	ending  stage
	arrived time.Time // when the newest bytes arrived
	first   time.Time // when the first token-bearing event arrived; zero: none yet
	last    time.Time // when the newest token-bearing event arrived

	// committed: an event has come after which nothing is tried again: one that
	// bears tokens, ends the answer or reports an error, or a comment. A role
	// chunk doesn't commit; it is held until the next event.
	committed bool

	toldError bool // an event of the replica's own says that it failed

	// clientsFault: before any token the stream reported an error that is a 4xx,
	// found only after the replica had said 200: nobody is to blame but the
	// request. Later ones aren't believed: some releases call an engine's death 400.
	clientsFault bool

	told   *openai.Told   // what the client was told, for another replica to go on with; nil: none may
	sequel *openai.Sequel // the stream goes on with a broken one; nil: it doesn't
	held   int            // bytes of the event that broke the answer off: buf[walked:walked+held]
}

// stage is how far a stream has come.
type stage uint8

const (
	running   stage = iota
	terminal        // the replica has said its last: [DONE], or that it failed
	withheld        // it closed an answer that isn't whole as if it were: not for the client
	brokenOff       // it broke the answer off, of which the client hasn't heard yet
)

const (
	firstStreamBuffer = 4 << 10 // bytes: a few events; a stream lives long, so thousands are held at once
	readAhead         = 1 << 10 // bytes of room that a read should have
)

var errEventTooLarge = errors.New("one event is larger than limits.answer")

func newStream(from source, w *openai.Walker, limit int) *stream {
	return &stream{from: from, walker: w, buf: make([]byte, 0, firstStreamBuffer), limit: limit}
}

// fill waits for more bytes and walks the events they complete. What has come with
// an event that is too large may still go to the client.
func (s *stream) fill() error {
	s.makeRoom()
	n, err := s.from.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	if n > 0 {
		s.arrived = time.Now()
		s.walk()
	}
	if s.ending == running && len(s.buf)-s.walked > s.limit {
		return fmt.Errorf("%w=%d bytes", errEventTooLarge, s.limit)
	}
	return err
}

// makeRoom has room for a read that shows that an event is too large, and no more.
func (s *stream) makeRoom() {
	if s.sent > 0 {
		n := copy(s.buf, s.buf[s.sent:])
		s.buf, s.walked, s.sent = s.buf[:n], s.walked-s.sent, 0
	}
	if cap(s.buf)-len(s.buf) >= readAhead {
		return
	}
	size := min(2*cap(s.buf), s.walked+s.limit+2*readAhead)
	s.buf = append(make([]byte, 0, size), s.buf...)
}

// walk takes note of every whole event that has arrived. The usage event that
// only the gateway asked for is cut out of the buffer, and so is the event that
// closes an answer that isn't whole: it would pass for success. What comes after
// that, a [DONE] or an error is dropped: a client has stopped reading there, or would
// take it for the next answer.
func (s *stream) walk() {
	for {
		if s.ending != running {
			s.buf = s.buf[:s.walked]
			return
		}
		ev := s.walker.Next(s.buf[s.walked:])
		if ev.Raw == nil {
			return
		}
		s.note(&ev)
		switch {
		case ev.Strip || s.ending == withheld:
			s.cut(len(ev.Raw))
		case s.breaksOff(&ev):
			return
		default:
			s.pass(&ev)
		}
	}
}

// note takes down how far the stream has come with an event.
func (s *stream) note(ev *openai.Event) {
	s.committed = s.committed || ev.Kind != openai.EventRole
	if ev.Tokens {
		if s.first.IsZero() {
			s.first = s.arrived
		}
		s.last = s.arrived
	}
	switch ev.Kind {
	case openai.EventError:
		s.toldError, s.ending = true, terminal
		said, _ := openai.ReadError(ev.Data)
		s.clientsFault = s.first.IsZero() && said.Status >= 400 && said.Status < 500
	case openai.EventDone:
		s.ending = terminal
	}
	if s.closesWrongly(ev) {
		s.ending = withheld
	}
}

// closesWrongly tells whether an event closes an answer in good order that isn't
// whole: a [DONE], or the closing event of a response or a message that was aborted
// or has reported an error. The relay then says what happened.
func (s *stream) closesWrongly(ev *openai.Event) bool {
	switch ending := s.walker.Ending(); ev.Kind {
	case openai.EventDone:
		return !ending.Whole()
	case openai.EventFinish:
		return s.walker.Closed() && (ending == openai.EndingAborted || ending == openai.EndingError)
	}
	return false
}

func (s *stream) cut(n int) {
	s.buf = append(s.buf[:s.walked], s.buf[s.walked+n:]...)
}

// ready is the whole events that the client hasn't got yet.
func (s *stream) ready() []byte { return s.buf[s.sent:s.walked] }

// relayed says that the client has what was ready.
func (s *stream) relayed() { s.sent = s.walked }

// left is all that the client hasn't got yet. At a proper end of the body the
// bytes after the last whole event are the stream's end; after a cut they are
// half an event, and not for the client.
func (s *stream) left() []byte { return s.buf[s.sent:] }
