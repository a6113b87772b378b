package gatewaytest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Field is one header line, as it came.
type Field struct{ Name, Value string }

// Header is the header lines of a message in the order and spelling they came.
type Header []Field

// Get is the value of the first line called name, in any case; "" when absent.
func (h Header) Get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Values are the values of all lines called name, in order.
func (h Header) Values(name string) []string {
	var values []string
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			values = append(values, f.Value)
		}
	}
	return values
}

// reader takes HTTP/1.1 apart just as far as the bench needs, and keeps every
// byte that it took in raw.
type reader struct {
	br  *bufio.Reader
	raw []byte
}

func newReader(r io.Reader) *reader { return &reader{br: bufio.NewReaderSize(r, 16<<10)} }

// line reads one line and drops its ending, CRLF or bare LF.
func (r *reader) line() (string, error) {
	line, err := r.br.ReadString('\n')
	r.raw = append(r.raw, line...)
	if err == io.EOF && line != "" {
		err = io.ErrUnexpectedEOF
	}
	return strings.TrimRight(line, "\r\n"), err
}

// head reads a start line and the header lines up to the blank line. io.EOF
// means that the peer closed before the first byte.
func (r *reader) head() (start string, h Header, err error) {
	if start, err = r.line(); err != nil {
		return start, nil, err
	}
	h, err = r.fields()
	return start, h, err
}

// fields reads header or trailer lines up to the blank line.
func (r *reader) fields() (Header, error) {
	var h Header
	for {
		line, err := r.line()
		if err != nil {
			return h, cut(err)
		}
		if line == "" {
			return h, nil
		}
		name, value, _ := strings.Cut(line, ":")
		h = append(h, Field{name, strings.TrimSpace(value)})
	}
}

// full reads n bytes; fewer with an error when the peer stops early.
func (r *reader) full(n int) ([]byte, error) {
	p := make([]byte, n)
	got, err := io.ReadFull(r.br, p)
	r.raw = append(r.raw, p[:got]...)
	return p[:got], cut(err)
}

// some waits for at least one byte and takes what is there, at most limit.
func (r *reader) some(limit int) ([]byte, error) {
	if _, err := r.br.Peek(1); err != nil {
		return nil, err
	}
	return r.full(min(limit, r.br.Buffered()))
}

// cut turns the end of a connection inside a message into io.ErrUnexpectedEOF.
func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// framing is how a body says where it ends.
type framing uint8

const (
	framedLength  framing = iota // Content-Length, also 0
	framedChunked                // Transfer-Encoding: chunked
	framedClose                  // the end of the connection
)

// body reads one message body.
type body struct {
	r       *reader
	framing framing
	left    int // framedLength: bytes to come
	trailer Header
}

// newBody finds a body's framing by its header. unframed is what a message
// without either header means: nothing for a request, all to the end for an answer.
func newBody(r *reader, h Header, unframed framing) (*body, error) {
	if strings.EqualFold(h.Get("Transfer-Encoding"), "chunked") {
		return &body{r: r, framing: framedChunked}, nil
	}
	length := h.Get("Content-Length")
	if length == "" {
		return &body{r: r, framing: unframed}, nil
	}
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("read body: Content-Length %q is not a length", length)
	}
	return &body{r: r, left: n}, nil
}

// next is one whole chunk of a chunked body, else the bytes that have come.
// io.EOF means a proper end (or, unframed, that the peer closed);
// io.ErrUnexpectedEOF or a network error means a cut, possibly with some bytes.
func (b *body) next() ([]byte, error) {
	switch {
	case b.framing == framedChunked:
		return b.chunk()
	case b.framing == framedClose:
		return b.r.some(64 << 10)
	case b.left == 0:
		return nil, io.EOF
	}
	p, err := b.r.some(b.left)
	b.left -= len(p)
	return p, cut(err)
}

func (b *body) chunk() ([]byte, error) {
	line, err := b.r.line()
	if err != nil {
		return nil, cut(err)
	}
	size, _, _ := strings.Cut(line, ";")
	n, err := strconv.ParseUint(strings.TrimSpace(size), 16, 31)
	if err != nil {
		return nil, fmt.Errorf("read chunk: size line %q is not hexadecimal", line)
	}
	if n == 0 {
		if b.trailer, err = b.r.fields(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	p, err := b.r.full(int(n))
	if err != nil {
		return p, err
	}
	if end, err := b.r.line(); err != nil || end != "" {
		return p, errors.Join(fmt.Errorf("read chunk: %q follows its %d bytes", end, n), cut(err))
	}
	return p, nil
}

// all reads to the end; the error is nil only at a proper one.
func (b *body) all() ([]byte, error) {
	var whole []byte
	for {
		p, err := b.next()
		whole = append(whole, p...)
		if err == io.EOF {
			return whole, nil
		}
		if err != nil {
			return whole, err
		}
	}
}
