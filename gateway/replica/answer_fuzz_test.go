package replica

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// recording is a connection on which a replica has already said all it ever says.
type recording struct {
	net.Conn
	said   *bytes.Reader
	closed bool
}

func (r *recording) Read(p []byte) (int, error)       { return r.said.Read(p) }
func (r *recording) Write(p []byte) (int, error)      { return len(p), nil }
func (r *recording) Close() error                     { r.closed = true; return nil }
func (r *recording) SetDeadline(time.Time) error      { return nil }
func (r *recording) SetReadDeadline(time.Time) error  { return nil }
func (r *recording) SetWriteDeadline(time.Time) error { return nil }
func (r *recording) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (r *recording) RemoteAddr() net.Addr             { return &net.TCPAddr{} }

// FuzzAnswer: of whatever bytes a replica sends, an answer that we take for whole
// net/http takes for whole too, with the same status and body; and a connection is
// kept only if not a byte is left over.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\n\r\nuntil the end",
		"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0\r\n\r\nleft",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		cn := &recording{said: bytes.NewReader(raw)}
		c := newClient(t, Options{URL: "http://replica.test", Dial: func(context.Context, string, string) (net.Conn, error) { return cn, nil }})
		var call Call
		a, err := c.Do(&call, post("x", time.Hour))
		if err != nil {
			if !cn.closed {
				t.Errorf("%q: the connection is left open after %v", raw, err)
			}
			return
		}
		body, err := io.ReadAll(a)
		framed := a.Framed()
		a.Close()
		kept := c.idleCount() > 0
		if kept == cn.closed || kept && (err != nil || !framed) {
			t.Errorf("%q: kept %v, closed %v, error %v, framed %v", raw, kept, cn.closed, err, framed)
		}
		if err != nil {
			return
		}
		theirs, err := readAnswer(raw)
		if err != nil || theirs.status != a.Status || theirs.body != string(body) || kept && theirs.left > 0 {
			t.Errorf("%q: got %d %q, kept %v, net/http %+v, %v", raw, a.Status, body, kept, theirs, err)
		}
	})
}

// reading is what net/http takes an answer for.
type reading struct {
	status int
	body   string
	left   int // bytes behind it
}

// readAnswer reads past interim answers.
func readAnswer(raw []byte) (reading, error) {
	br := bufio.NewReader(bytes.NewReader(raw))
	for {
		r, err := http.ReadResponse(br, nil)
		if err != nil {
			return reading{}, err
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return reading{}, err
		}
		if r.StatusCode >= 200 {
			left, err := io.ReadAll(br)
			return reading{r.StatusCode, string(body), len(left)}, err
		}
	}
}
