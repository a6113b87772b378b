package vllmsim

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
)

// garbage is what no parser of HTTP can take for a head, a chunk or an event.
const garbage = "\x00\xff\x15\x03\x01garbage\x00\x00\x7f\r\r\n\n: zzzz\r\n"

// instead answers in place of the replica where the fault leaves no answer at
// all; false when it does leave one.
func (f *Fault) instead(w http.ResponseWriter, sh shape) bool {
	switch {
	case f.Kind == Busy:
		busy := overflow
		busy.status, busy.kind = f.Status, http.StatusText(f.Status)
		writeJSON(w, f.Status, sh.fail(&busy))
	case f.Kind == HalfHeader:
		hangUp(w, "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-ty")
	case f.Kind == Garbage && f.After == 0:
		hangUp(w, garbage)
	default:
		return false
	}
	return true
}

// strikeStream ends a stream, whose events so far have been written, as the
// fault says. It returns when there is nothing more to write.
func (f *Fault) strikeStream(ctx context.Context, w http.ResponseWriter, sh shape) {
	switch f.Kind {
	case Stall:
		<-ctx.Done()
	case ErrorEvent:
		breakOff(w, sh.broken(&generationFailed))
	case Truncate: // net/http ends the body properly
	case Garbage:
		hangUp(w, garbage)
	case Reset:
		reset(w)
	case Cut:
		panic(http.ErrAbortHandler)
	default:
		panic("BUG: fault " + f.Kind.String() + " has no way to end a stream")
	}
}

// strikeWhole spoils an answer that isn't streamed; body is what would have been
// the answer so far.
func (f *Fault) strikeWhole(ctx context.Context, w http.ResponseWriter, sh shape, body []byte) {
	half := body[:len(body)/2]
	switch f.Kind {
	case Stall:
		<-ctx.Done()
	case ErrorEvent:
		writeJSON(w, generationFailed.status, sh.fail(&generationFailed))
	case Truncate:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(half)))
		w.Write(half)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(half)
		http.NewResponseController(w).Flush()
		f.strikeStream(ctx, w, sh)
	}
}

// breakOff writes a stream's last events, or cuts it where there are none.
func breakOff(w http.ResponseWriter, last []byte) {
	if last == nil {
		panic(http.ErrAbortHandler)
	}
	w.Write(last)
}

// hangUp writes raw bytes on the connection and closes it.
func hangUp(w http.ResponseWriter, last string) {
	c := hijack(w)
	fmt.Fprint(c, last)
	c.Close()
}

// reset closes the connection so that the other side sees a reset.
func reset(w http.ResponseWriter) {
	c := hijack(w)
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}

func hijack(w http.ResponseWriter) net.Conn {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // a recorder, or the connection is gone: cut is what is left
	}
	return c
}
