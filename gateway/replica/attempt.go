package replica

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// maxInterim bounds the 1xx answers before the real one.
const maxInterim = 16

// attempt sends the request on one connection and reads the head of the answer
// into call.answer. The connection stays the caller's to close on an error.
func (c *Client) attempt(call *Call, cn *conn, req *Request) *Error {
	call.attach(cn.raw)
	if err := cn.begin(req.FirstByte); err != nil {
		return failure(PhaseSend, err)
	}
	cn.out = req.appendHead(cn.out[:0], c.at.prefix, c.at.host)
	h, sent, err := c.exchange(cn, req)
	if err != nil {
		return err
	}
	cn.endSending()
	if !sent && h.status < 300 {
		return &Error{Phase: PhaseSend, Kind: ErrMalformed,
			Err: fmt.Errorf("status %d before the request was sent", h.status)}
	}
	call.answer.start(c, call, cn, h, req.Method == "HEAD", sent)
	return nil
}

// exchange writes the request and reads the head. sent is false when the
// replica answered without taking the whole request.
func (c *Client) exchange(cn *conn, req *Request) (h head, sent bool, err *Error) {
	if req.size() > inlineBody {
		return c.exchangeLarge(cn, req)
	}
	werr := cn.write(req)
	if errors.Is(werr, os.ErrDeadlineExceeded) {
		return h, false, failure(PhaseSend, werr)
	}
	// A replica that hung up may have said why before: that answer is still here.
	h, err = c.readHead(cn, req.FirstByte)
	if err != nil && werr != nil && err.Kind == ErrLost {
		err = failure(PhaseSend, werr)
	}
	return h, werr == nil, err
}

// exchangeLarge writes on another goroutine while it waits for the head: a
// replica that refuses a large request may do so without reading it. The writer
// has ended when this returns.
func (c *Client) exchangeLarge(cn *conn, req *Request) (h head, sent bool, err *Error) {
	wrote := make(chan error, 1)
	go func() { wrote <- cn.write(req) }()
	h, err = c.readHead(cn, req.FirstByte)
	cn.rw.SetWriteDeadline(past) // no effect on a write that is done
	werr := <-wrote
	if err != nil && werr != nil && err.Kind != ErrMalformed {
		err.Phase = PhaseSend
	}
	return h, werr == nil, err
}

// readHead waits for a head that isn't 1xx.
func (c *Client) readHead(cn *conn, deadline time.Time) (head, *Error) {
	for range maxInterim {
		text, err := c.readBlock(cn, deadline)
		if err != nil {
			return head{}, err
		}
		h, perr := parseHead(text)
		if perr != nil {
			return head{}, &Error{Phase: PhaseHead, Kind: ErrMalformed, Err: perr}
		}
		if h.status >= 200 {
			return h, nil
		}
	}
	return head{}, &Error{Phase: PhaseHead, Kind: ErrMalformed,
		Err: fmt.Errorf("more than %d interim answers", maxInterim)}
}

// readBlock takes one head out of the buffer, with its blank line.
func (c *Client) readBlock(cn *conn, deadline time.Time) (string, *Error) {
	for searched := 0; ; {
		n, err := cn.blockEnd(searched)
		searched = cn.w - cn.r
		if err == nil && (n > c.maxHeader || n == 0 && searched > c.maxHeader) {
			err = fmt.Errorf("over %d bytes (limits.headers)", c.maxHeader)
		}
		if err != nil {
			return "", &Error{Phase: PhaseHead, Kind: ErrMalformed, Err: err}
		}
		if n > 0 {
			text := string(cn.buf[cn.r : cn.r+n])
			cn.r += n
			return text, nil
		}
		if err := cn.fill(deadline); err != nil {
			return "", failure(PhaseHead, err)
		}
	}
}

var errNoAnswer = errors.New("no answer by the deadline of its first byte (timeouts.first_event)")

// failure says what an error of the connection means.
func failure(phase Phase, err error) *Error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Phase: phase, Kind: ErrTimeout, Err: errNoAnswer}
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return &Error{Phase: phase, Kind: ErrLost, Err: err}
}
