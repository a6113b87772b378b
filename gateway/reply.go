package gateway

import (
	"bufio"
	"io"
	"net"

	"github.com/valyala/fasthttp"

	"sluice/gateway/account"
	"sluice/router"
)

// reply gives the client what the last attempt came to.
func (x *exchange) reply(r result) error {
	switch {
	case r.fail != nil:
		x.giveBack(r.outcome)
		return r.fail
	case r.stream != nil:
		x.replyStream(r.stream)
	default:
		x.replyWhole(r.outcome, r.whole)
	}
	return nil
}

// replyStream hands the stream to fasthttp, which calls the relay after the
// handler has returned. From here on nothing is tried again, so the request's
// body can go, unless another replica may go on with the answer.
func (x *exchange) replyStream(s *stream) {
	x.entry.Set(account.Streaming)
	if s.told == nil {
		x.body.drop()
	}
	x.writeHead()
	relay := &relay{x: x, s: s}
	if !x.c.Request.Header.IsHTTP11() {
		x.replyWithoutChunks(relay)
		return
	}
	x.c.Response.SetBodyStream(relay, -1)
}

// writeHead is the replica's status and headers, and the gateway's own.
func (x *exchange) writeHead() {
	x.record.Status = x.head.Status
	x.c.Response.SetStatusCode(x.head.Status)
	responseFields(&x.c.Response.Header, x.head)
	setIdentity(x)
}

// replyWithoutChunks streams to a client of HTTP/1.0, which can't read chunks:
// the body ends with the connection.
func (x *exchange) replyWithoutChunks(r *relay) {
	x.h.allowOrigin(x.c)
	h := &x.c.Response.Header
	h.SetConnectionClose()
	h.SetContentLength(-2) // none: the body ends with the connection
	head := append([]byte(nil), h.Header()...)
	x.c.HijackSetNoResponse(true)
	x.c.Hijack(func(nc net.Conn) {
		defer func() { _ = r.Close() }()
		w := bufio.NewWriter(nc)
		if _, err := w.Write(head); err != nil {
			return
		}
		_, _ = r.WriteTo(flushing{w}) // the relay has accounted for its error
	})
}

// flushing sends each write at once.
type flushing struct{ w *bufio.Writer }

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err == nil {
		err = f.w.Flush()
	}
	return n, err
}

// replyWhole passes an answer on that has been read to its end. The replica is
// done, so its slots are free before the client has the answer.
func (x *exchange) replyWhole(o router.Outcome, body []byte) {
	x.writeHead()
	if o == router.Undecided {
		o = router.Completed
	}
	if o == router.Busy && x.head.Header("retry-after") == "" {
		x.c.Response.Header.Set("Retry-After", "1")
	}
	x.giveBack(o)
	x.c.Response.SetBodyStream(&wholeAnswer{x: x, outcome: o, body: body}, len(body))
}

// wholeAnswer ends the exchange when the client has been written to.
type wholeAnswer struct {
	x       *exchange
	outcome router.Outcome
	body    []byte
}

// Read is there because fasthttp asks for an io.Reader; it calls WriteTo.
func (a *wholeAnswer) Read([]byte) (int, error) { panic("BUG: an answer is written, not read") }

// SupportsBodyWriteTo tells fasthttp to call WriteTo.
func (a *wholeAnswer) SupportsBodyWriteTo() bool { return true }

// WriteTo writes the body and accounts for the request.
func (a *wholeAnswer) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(a.body)
	if err != nil {
		return int64(n), a.x.end(router.ClientGoneStreaming, err)
	}
	return int64(n), a.x.end(a.outcome, nil)
}

// Close ends the exchange if not even the head could be written, or if the status
// allows no body to write.
func (a *wholeAnswer) Close() error {
	if a.x.head.Status == fasthttp.StatusNoContent {
		return a.x.end(a.outcome, nil)
	}
	return a.x.end(router.ClientGoneStreaming, nil)
}
