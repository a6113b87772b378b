package gatewaytest

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Client is a raw HTTP client: it sends the bytes it is given and reads an
// answer piece by piece. Its methods return errors rather than fail the test,
// since many tests want the error, and they may run in any one goroutine.
// Each read waits at most Patience.
type Client struct {
	Conn    net.Conn
	reader  *reader
	body    *body
	partial []byte // of an event
	ended   error  // how the body ended; nil while it goes on
	noBody  bool   // the last request was HEAD
}

// Event is one server-sent event as it came, blank line included.
type Event struct {
	Raw string
	At  time.Time // when its last byte had been read
}

// Data is the event's data lines, joined by a line break.
func (e Event) Data() string { return e.lines("data:") }

// Name is the event's type; "" when it has none.
func (e Event) Name() string { return e.lines("event:") }

func (e Event) lines(prefix string) string {
	var values []string
	for line := range strings.Lines(e.Raw) {
		if value, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), prefix); ok {
			values = append(values, strings.TrimPrefix(value, " "))
		}
	}
	return strings.Join(values, "\n")
}

// Connect dials address over TCP and closes the connection at the end of the
// test. To be called from the test's own goroutine.
func Connect(t testing.TB, address string) *Client {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, Patience)
	if err != nil {
		t.Fatalf("connect to the server under test: %v", err)
	}
	return NewClient(t, conn)
}

// ConnectTLS is Connect over TLS; the handshake is done when it returns.
func ConnectTLS(t testing.TB, address string, cfg *tls.Config) *Client {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: Patience}, "tcp", address, cfg)
	if err != nil {
		t.Fatalf("connect to the server under test: %v", err)
	}
	return NewClient(t, conn)
}

// NewClient speaks over any connection, in-memory ones too.
func NewClient(t testing.TB, conn net.Conn) *Client {
	t.Cleanup(func() { conn.Close() })
	return &Client{Conn: conn, reader: newReader(conn)}
}

// Request is the bytes of a request with a JSON body; lines are further whole
// header lines. An empty body is sent without a Content-Type.
func Request(method, path, body string, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: gateway.test\r\n", method, path)
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return b.String() + "\r\n" + body
}

// Send writes s as it is, in one write.
func (c *Client) Send(s string) error {
	c.noBody = strings.HasPrefix(s, "HEAD ")
	c.Conn.SetWriteDeadline(time.Now().Add(Patience))
	_, err := io.WriteString(c.Conn, s)
	return err
}

// ReadHead reads an answer's status line and header. What the body before it
// left unread is not skipped.
func (c *Client) ReadHead() (*Response, error) {
	c.patient()
	c.reader.raw, c.partial, c.ended = nil, nil, nil
	start, h, err := c.reader.head()
	if err != nil {
		return nil, err
	}
	proto, rest, _ := strings.Cut(start, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if err != nil {
		return nil, fmt.Errorf("read answer: status line %q has no status", start)
	}
	c.body, err = newBody(c.reader, h, framedClose)
	if c.noBody || status < 200 || status == 204 || status == 304 {
		c.body = &body{r: c.reader}
	}
	return &Response{Proto: proto, Status: status, Header: h}, err
}

// ReadPiece reads the next chunk of a chunked body, else the bytes that have
// come. io.EOF is a proper end, or the end of an unframed body.
func (c *Client) ReadPiece() ([]byte, error) {
	if c.ended != nil {
		return nil, c.ended
	}
	c.patient()
	p, err := c.body.next()
	c.ended = err
	return p, err
}

// ReadEvent reads the body up to the end of the next event. At the body's end
// the bytes of an unfinished event come with the error.
func (c *Client) ReadEvent() (Event, error) {
	for {
		if n := eventEnd(c.partial); n > 0 {
			event := Event{Raw: string(c.partial[:n]), At: time.Now()}
			c.partial = c.partial[n:]
			return event, nil
		}
		if c.ended != nil {
			return Event{Raw: string(c.partial), At: time.Now()}, c.ended
		}
		p, _ := c.ReadPiece()
		c.partial = append(c.partial, p...)
	}
}

// ReadBody reads the rest of the body; the error is nil at a proper end (or
// the end of an unframed body).
func (c *Client) ReadBody() ([]byte, error) {
	rest := c.partial
	c.partial = nil
	for {
		p, err := c.ReadPiece()
		rest = append(rest, p...)
		if err == io.EOF {
			return rest, nil
		}
		if err != nil {
			return rest, err
		}
	}
}

// Raw is every byte of the answer read since ReadHead began, framing included.
func (c *Client) Raw() []byte { return c.reader.raw }

// WaitClosed waits until the other side has closed the connection. Bytes that
// still come are an error, and so is a reset.
func (c *Client) WaitClosed() error {
	c.patient()
	p, err := c.reader.some(1 << 10)
	switch {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("wait for the end of the connection: got %q", p)
}

// CloseWrite sends a FIN (over TLS a close-notify) and goes on reading.
func (c *Client) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return fmt.Errorf("close for writing: a %T can't", c.Conn)
}

// Close closes the connection in the usual way.
func (c *Client) Close() error { return c.Conn.Close() }

// Reset closes the connection with a TCP reset.
func (c *Client) Reset() { reset(c.Conn) }

func (c *Client) patient() { c.Conn.SetReadDeadline(time.Now().Add(Patience)) }

// eventEnd is where the first event of p ends, blank line included; 0: not yet.
func eventEnd(p []byte) int {
	lf, crlf := bytes.Index(p, []byte("\n\n")), bytes.Index(p, []byte("\r\n\r\n"))
	switch {
	case lf < 0 && crlf < 0:
		return 0
	case crlf < 0 || (lf >= 0 && lf < crlf):
		return lf + 2
	}
	return crlf + 4
}
