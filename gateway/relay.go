package gateway

import (
	"errors"
	"io"
	"time"

	"sluice/gateway/account"
	"sluice/gateway/openai"
	"sluice/gateway/replica"
	"sluice/router"
)

// afterDone is how long a body may stay open after the stream has said [DONE], and
// afterDoneBytes how much may still come.
// The answer is there; only the connection's reuse is at stake.
const (
	afterDone      = time.Second
	afterDoneBytes = 4 << 10
)

// relay copies a stream to its client and owns the exchange's lease while it
// does: fasthttp writes the body after the handler has returned, and only then
// is the replica free.
type relay struct {
	x    *exchange
	s    *stream
	told bool // the router knows of the first token

	lost   error // how the answer ended whose replica has been left; nil: it goes on
	heldUp bool  // the client has held up the stream for long
}

// Read is there because fasthttp asks for an io.Reader; it calls WriteTo.
func (r *relay) Read([]byte) (int, error) { panic("BUG: a relay is written, not read") }

// SupportsBodyWriteTo tells fasthttp to call WriteTo: a chunk and a flush for
// each write, and errors known at once.
func (r *relay) SupportsBodyWriteTo() bool { return true }

// WriteTo relays until the answer's body ends, breaks, or the client leaves. An
// error makes fasthttp close the connection without the last chunk, which is how
// a client knows a cut answer from a complete one.
func (r *relay) WriteTo(w io.Writer) (written int64, err error) {
	defer func() {
		if bug := recover(); bug != nil {
			_ = r.x.h.bug(r.x.id, bug)
			err = r.end(router.Internal, errCutAnswer)
		}
	}()
	for {
		n, err := r.hand(w)
		written += int64(n)
		if err != nil {
			return written, r.end(r.x.cancelled(), err)
		}
		r.tellFirst() // the client first: it waits for nothing of ours
		if err := r.more(); err != nil {
			if r.mends(w, err) {
				continue
			}
			n, err := r.finish(w, err)
			return written + n, err
		}
		r.x.member.Alive(r.s.arrived)
	}
}

// more waits for what the replica says next, and after its last word for the end
// of the body. What comes instead of that end is dropped, and isn't waited for
// long: it is nobody's.
func (r *relay) more() error {
	switch {
	case r.lost != nil:
		return r.lost
	case r.s.ending == running:
		return r.s.fill()
	case r.s.ending == brokenOff:
		return errBrokenOff
	}
	r.x.answer.SetReadDeadline(time.Now().Add(afterDone))
	if _, err := io.CopyN(io.Discard, r.s.from, afterDoneBytes); err != nil {
		return err
	}
	return errGoesOn
}

var errGoesOn = errors.New("the replica goes on after its [DONE]")

// tellFirst tells the router, once, that the first token has come.
func (r *relay) tellFirst() {
	if !r.told && !r.s.first.IsZero() && r.x.leased {
		r.told = true
		r.x.h.gate.First(r.x.grant.Lease)
	}
}

// Close is called by fasthttp after WriteTo, or without it when not even the
// head could be written to the client.
func (r *relay) Close() error {
	return r.end(router.ClientGoneStreaming, nil)
}

// finish relays what came with the end of the body and judges the whole.
func (r *relay) finish(w io.Writer, cause error) (int64, error) {
	outcome := r.judge(cause)
	tail := r.s.ready()
	if outcome == router.Completed && cause == io.EOF { // after silence what is left is half an event
		tail = r.s.left()
	}
	n, err := w.Write(tail)
	if outcome == router.Completed {
		r.examine()
		if err != nil {
			outcome = r.x.cancelled()
		}
		return int64(n), r.end(outcome, err)
	}
	if outcome == router.ClientGoneStreaming {
		return int64(n), r.end(outcome, errCutAnswer) // it may have shut its sending side alone, and still listen
	}
	if r.s.walker.Ending() == openai.EndingFailed && !errors.Is(cause, io.ErrUnexpectedEOF) {
		return int64(n), r.end(outcome, err) // told in the endpoint's own words, closed in good order
	}
	if !r.s.toldError {
		f := failed(outcome, "%s", r.x.told(outcome)).because(cause)
		r.x.record.Detail = f.logged()
		m, _ := w.Write(r.s.walker.AppendErrorEvent(nil, f.api))
		n += m
	}
	return int64(n), r.end(outcome, errCutAnswer)
}

// examine counts what is odd about a whole answer.
func (r *relay) examine() {
	if r.s.ending != terminal && r.x.saysDone() {
		r.x.h.account.Fault(account.NoDone)
	}
	usage, known := r.s.walker.Usage()
	r.x.doubt(r.s.walker.Said(), usage, known)
}

// saysDone tells whether a stream of the endpoint ends with [DONE].
func (x *exchange) saysDone() bool {
	return x.endpoint == openai.Chat || x.endpoint == openai.Completions
}

// errCutAnswer tells fasthttp not to end the body properly.
var errCutAnswer = errors.New("the replica's answer is not whole")

// judge decides how the stream ended. cause is what ended the body: io.EOF is a
// proper end, and still no success by itself.
func (r *relay) judge(cause error) router.Outcome {
	if cause != io.EOF && r.x.visit.Err() != nil {
		if r.hasAll() {
			return router.Completed
		}
		return r.x.cancelled()
	}
	ending := r.s.walker.Ending()
	switch {
	case ending == openai.EndingAborted:
		return router.Aborted
	case ending == openai.EndingError && r.s.clientsFault:
		return router.ClientError
	case ending == openai.EndingError || ending == openai.EndingFailed:
		return router.ErrorEvent
	case ending.Whole() && (cause == io.EOF || r.s.ending == terminal || errors.Is(cause, replica.ErrTimeout)):
		return router.Completed // silence after all has been said takes nothing back
	case errors.Is(cause, replica.ErrTimeout):
		return router.Stalled
	}
	return router.Truncated
}

// hasAll tells whether the client has got a whole answer. OpenAI's clients hang up
// at [DONE] and don't wait for the body's end: that is no departure.
func (r *relay) hasAll() bool {
	said := r.s.ending == terminal || !r.x.saysDone()
	return said && r.s.walker.Ending().Whole() && len(r.s.ready()) == 0
}

// end accounts for the stream and gives the lease back, once.
func (r *relay) end(o router.Outcome, err error) error {
	x := r.x
	if x.ended {
		return err
	}
	r.tellUsage()
	r.tellTimes()
	return x.end(o, err)
}

// tellUsage takes note of the usage; the second of two replicas knows that of the
// whole answer.
func (r *relay) tellUsage() {
	usage, known := r.s.walker.Usage()
	if known && r.s.sequel != nil {
		usage = r.s.sequel.Usage(usage)
	}
	r.x.used(usage, known)
}

// tellTimes takes note of the first and the last token, whoever made them.
func (r *relay) tellTimes() {
	if r.x.record.FirstToken.IsZero() {
		r.x.record.FirstToken = r.s.first
	}
	if !r.s.last.IsZero() {
		r.x.record.LastToken = r.s.last
	}
}

// cancelled tells who ended the exchange before its time.
func (x *exchange) cancelled() router.Outcome {
	if errors.Is(x.visit.Err(), errDraining) {
		return router.Draining
	}
	return router.ClientGoneStreaming
}
