package replica

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Answer is a replica's answer: its head, and its body to be read. One
// goroutine uses it; only the Call's Cancel may come from another.
type Answer struct {
	Status        int
	ContentLength int  // of the body in bytes; -1: not announced
	Resent        bool // a reused connection was found dead, so the request was sent twice

	client *Client
	call   *Call
	conn   *conn // nil after Close
	head   head
	sent   bool // the replica took the whole request

	framing  framing
	left     int // of a body with a length
	chunks   chunked
	err      error // what Read returns when nothing is left; io.EOF: the proper end
	timeout  time.Duration
	deadline time.Time
}

// start makes the zero Answer of a call the answer with this head.
func (a *Answer) start(c *Client, call *Call, cn *conn, h head, toHead, sent bool) {
	a.client, a.call, a.conn, a.head, a.sent = c, call, cn, h, sent
	a.Status, a.ContentLength, a.left = h.status, h.length, h.length
	if a.framing = h.framing(toHead); a.framing == noBody {
		a.err = io.EOF
	}
}

// Fields gives the header fields in order, duplicates kept, without those of
// the hop (Connection and those it lists, Transfer-Encoding and kin) and
// without Content-Length. The strings stay valid after Close.
//
//	for name, value := range answer.Fields { … }
func (a *Answer) Fields(yield func(name, value string) bool) { a.head.fields(yield) }

// Header is the first value of the field among Fields, "" if there is none.
// The name must be in lower case.
func (a *Answer) Header(name string) string {
	for n, v := range a.Fields {
		if same(n, name) {
			return v
		}
	}
	return ""
}

// Framed tells whether the body says where it ends. If not, it ends with the
// connection, and io.EOF is no proof that it is whole.
func (a *Answer) Framed() bool { return a.framing != byClose }

// Ended tells whether the body has ended properly and all of it was read: the
// next Read returns io.EOF without waiting.
func (a *Answer) Ended() bool { return a.err == io.EOF }

// SetReadTimeout limits how long each Read from now on may wait for a byte of
// the body; 0: no limit. It costs nothing while bytes flow.
func (a *Answer) SetReadTimeout(d time.Duration) { a.timeout = d }

// SetReadDeadline is the moment after which no Read waits any more, until
// changed; the zero time: no such moment. The sooner of both limits holds.
func (a *Answer) SetReadDeadline(t time.Time) { a.deadline = t }

// Read gives body bytes, decoded: all that are here already and fit, across
// chunks; it waits only when there is none. Errors are an *Error and stay:
// io.ErrUnexpectedEOF for every cut. io.EOF comes at a proper end only.
func (a *Answer) Read(p []byte) (int, error) {
	if a.err == nil && a.call.cancelled.Load() {
		a.fail(&Error{Kind: ErrCancelled})
	}
	var limit time.Time
	for waited := false; a.err == nil && len(p) > 0; waited = true {
		if n := a.take(p); n > 0 {
			return n, nil
		}
		if a.err != nil {
			break
		}
		if !waited {
			limit = a.limit()
		}
		if err := a.conn.fill(limit); err != nil {
			a.cut(err)
		}
	}
	return 0, a.err
}

// limit is when the Read that begins to wait now must end.
func (a *Answer) limit() time.Time {
	if a.timeout <= 0 {
		return a.deadline
	}
	t := time.Now().Add(a.timeout)
	if !a.deadline.IsZero() && a.deadline.Before(t) {
		return a.deadline
	}
	return t
}

// take decodes what is buffered, and sets err at the end of the body.
func (a *Answer) take(p []byte) int {
	src := a.conn.buf[a.conn.r:a.conn.w]
	switch a.framing {
	case byChunks:
		n, used, err := a.chunks.decode(p, src)
		a.conn.r += used
		if err != nil {
			a.fail(&Error{Kind: ErrMalformed, Err: err})
		} else if a.chunks.state == chunksEnded {
			a.err = io.EOF
		}
		return n
	case byLength:
		n := copy(p, src[:min(len(src), a.left)])
		a.conn.r += n
		if a.left -= n; a.left == 0 {
			a.err = io.EOF
		}
		return n
	}
	n := copy(p, src)
	a.conn.r += n
	return n
}

// cut ends the body with the connection's error.
func (a *Answer) cut(err error) {
	if a.framing == byClose && errors.Is(err, io.EOF) {
		a.err = io.EOF
		return
	}
	e := failure(PhaseBody, err)
	switch {
	case a.call.cancelled.Load():
		e.Kind, e.Err = ErrCancelled, nil
	case e.Kind == ErrTimeout:
		e.Err = fmt.Errorf("no byte for %v (timeouts.between_events), or by the deadline (timeouts.first_event)", a.timeout)
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		e.Err = fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
	}
	a.fail(e)
}

func (a *Answer) fail(e *Error) {
	e.Address, e.Phase, e.Reused = a.client.at.url, PhaseBody, a.conn.reused
	a.err = e
}

// Close ends the call. The connection is kept for the next request if the body
// ended properly and nothing is left over, and closed if not. Closing twice
// does nothing.
func (a *Answer) Close() {
	cn := a.conn
	if cn == nil {
		return
	}
	a.conn = nil
	keep := a.Ended() && a.sent && a.Framed() && a.head.persistent() && cn.r == cn.w
	if a.err == nil {
		a.err = errClosed
	}
	if a.call.detach() != nil || !keep {
		cn.close()
		return
	}
	cn.rest()
	a.client.idle.put(cn, time.Now())
}
