package replica

import (
	"bytes"
	"errors"
	"net"
	"os"
	"time"
)

const (
	firstBuffer = 4 << 10  // of a new connection
	fullBuffer  = 16 << 10 // once a read has filled the first one
	inlineBody  = 64 << 10 // up to here a socket's buffers take it, whatever the replica does
)

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// conn is one connection and its buffers. One goroutine uses it at a time,
// besides the writer that send starts and waits for.
type conn struct {
	rw    net.Conn // what is read and written: the TLS layer, or raw
	raw   net.Conn // the socket
	peek  *peeker
	armed time.Time // the read deadline that is set; zero: none

	buf  []byte // buf[r:w] is read and not yet used
	r, w int
	full bool // a read has filled buf

	out    []byte      // request head
	pieces [][]byte    // head and body, for one writev
	vec    net.Buffers // pieces, being written

	reused    bool // has served before
	heard     bool // a byte of this answer has come
	idleSince time.Time
}

// close is the socket's close: it never blocks.
func (c *conn) close() { c.raw.Close() }

// alive tells whether an idle connection may be used: open, and silent. TLS may
// hold bytes that the socket doesn't show any more.
func (c *conn) alive() bool {
	return c.peek.alive() && (c.rw == c.raw && c.peek != nil || c.silent())
}

// silent reads with a deadline that has passed: that yields what is already
// here, above the socket, and never waits.
func (c *conn) silent() bool {
	if c.rw.SetReadDeadline(past) != nil {
		return false
	}
	c.armed = past
	c.makeRoom()
	n, err := c.rw.Read(c.buf[:1])
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

// begin readies the connection for a request. deadline is for sending and for
// the head of the answer; the zero time: none.
func (c *conn) begin(deadline time.Time) error {
	c.heard, c.armed = false, deadline
	return c.rw.SetDeadline(deadline)
}

// endSending lifts the deadline for sending where reading may have to send:
// TLS answers a change of keys, and a write that fails would spoil the
// connection for the next request.
func (c *conn) endSending() {
	if c.rw != c.raw {
		c.rw.SetWriteDeadline(time.Time{})
	}
}

// rest readies it for the idle stack, without buffers that one large answer or
// request needed.
func (c *conn) rest() {
	c.reused = true
	if cap(c.buf) > fullBuffer {
		c.buf, c.full = nil, false
	}
	if cap(c.out) > fullBuffer {
		c.out = nil
	}
}

// fill reads once into the buffer, waiting until deadline (zero: for ever).
//
// Setting a deadline costs more than most reads, so the one that is set may be
// an earlier one; when it fires too early it is set anew.
func (c *conn) fill(deadline time.Time) error {
	c.makeRoom()
	if !deadline.IsZero() && (c.armed.IsZero() || c.armed.After(deadline)) {
		if err := c.arm(deadline); err != nil {
			return err
		}
	}
	for {
		n, err := c.rw.Read(c.buf[c.w:])
		if n > 0 {
			c.w += n
			c.heard = true
			c.full = c.full || c.w == len(c.buf)
			return nil
		}
		if !c.tooEarly(err, deadline) {
			return err
		}
		if err := c.arm(deadline); err != nil {
			return err
		}
	}
}

func (c *conn) tooEarly(err error, deadline time.Time) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) && !c.armed.Equal(deadline) &&
		(deadline.IsZero() || time.Now().Before(deadline))
}

func (c *conn) arm(deadline time.Time) error {
	c.armed = deadline
	return c.rw.SetReadDeadline(deadline)
}

// makeRoom moves what is unread to the front, and enlarges the buffer when
// that leaves no room, or when small reads aren't enough.
func (c *conn) makeRoom() {
	c.w = copy(c.buf, c.buf[c.r:c.w])
	c.r = 0
	size := len(c.buf)
	switch {
	case size == 0:
		size = firstBuffer
	case c.full && size < fullBuffer:
		size = fullBuffer
	case c.w == size:
		size *= 2
	default:
		return
	}
	larger := make([]byte, size)
	copy(larger, c.buf[:c.w])
	c.buf = larger
}

// write sends head and body in one writev; over TLS, where each piece would
// become a record and a packet of its own, small ones are joined.
func (c *conn) write(req *Request) error {
	if c.rw != c.raw && len(c.out)+req.size() <= fullBuffer {
		for _, piece := range req.Body {
			c.out = append(c.out, piece...)
		}
		_, err := c.rw.Write(c.out)
		return err
	}
	c.pieces = append(append(c.pieces[:0], c.out), req.Body...)
	c.vec = c.pieces
	_, err := c.vec.WriteTo(c.rw)
	clear(c.pieces) // the body isn't ours to keep
	c.vec = nil
	return err
}

// blockEnd finds the end of the head that begins at buf[r]: its length with the
// blank line, 0 if that hasn't come yet. A line that ends in a bare LF, or
// another protocol, shows here at once: its end might never come. from is where
// the last search stopped.
func (c *conn) blockEnd(from int) (int, error) {
	text := c.buf[c.r:c.w]
	if start := text[:min(len(text), len("HTTP/1."))]; string(start) != "HTTP/1."[:len(start)] {
		return 0, errors.New("it doesn't begin with HTTP/1")
	}
	for {
		i := bytes.IndexByte(text[from:], '\n')
		if i < 0 {
			return 0, nil
		}
		from += i + 1
		if from < 2 || text[from-2] != '\r' {
			return 0, errors.New("a line doesn't end in CRLF")
		}
		if from >= 4 && text[from-3] == '\n' {
			return from, nil
		}
	}
}
