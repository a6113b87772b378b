package replica

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"
)

// startTLS is a stub behind TLS, and a client that trusts it.
func startTLS(t *testing.T, play func(n int, p *peer)) (*stub, *Client) {
	serverCfg, clientCfg := certificate(t)
	s := newStub(t, func(n int, p *peer) {
		held := &heldConn{Conn: p.Conn}
		secure := tls.Server(held, serverCfg)
		play(n, &peer{Conn: secure, in: bufio.NewReader(secure), s: p.s})
	})
	return s, newClient(t, Options{URL: "https://" + s.ln.Addr().String(), TLS: clientCfg})
}

// heldConn can gather several writes into one.
type heldConn struct {
	net.Conn
	hold bool
	held bytes.Buffer
}

func (c *heldConn) Write(p []byte) (int, error) {
	if c.hold {
		return c.held.Write(p)
	}
	return c.Conn.Write(p)
}

// sendTogether sends texts as TLS records of their own in one segment.
func (p *peer) sendTogether(texts ...string) {
	held := p.Conn.(*tls.Conn).NetConn().(*heldConn)
	held.hold = true
	for _, text := range texts {
		p.send(text)
	}
	held.hold = false
	held.Write(held.held.Bytes())
}

func TestTLSIsReused(t *testing.T) {
	s, c := startTLS(t, func(_ int, p *peer) {
		for p.answer(okAnswer) {
		}
	})
	for range 5 {
		wantOK(t, run(c, post("small", 5*time.Second)))
		wantOK(t, run(c, post(strings.Repeat("x", 1<<20), 5*time.Second)))
	}
	if s.accepted() != 1 {
		t.Errorf("got %d connections, want 1", s.accepted())
	}
}

func TestTLSClosedByReplica(t *testing.T) {
	s, c := startTLS(t, func(_ int, p *peer) {
		p.answer(okAnswer)
		p.Close()
	})
	for range 3 {
		wantOK(t, run(c, post("x", 5*time.Second)))
	}
	if len(s.requests()) != 3 {
		t.Errorf("got %d requests, want 3", len(s.requests()))
	}
}

// TestTLSHoldsAnAnswer: an unsolicited answer that the TLS layer has read from
// the socket already is no answer to the next request.
func TestTLSHoldsAnAnswer(t *testing.T) {
	_, c := startTLS(t, func(_ int, p *peer) {
		p.read()
		p.sendTogether(okAnswer, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL")
		p.gone()
	})
	for range 5 {
		wantOK(t, run(c, post("x", 5*time.Second)))
	}
}

func TestTLSUnknownAuthority(t *testing.T) {
	s, _ := startTLS(t, func(_ int, p *peer) { p.read() })
	c := newClient(t, Options{URL: "https://" + s.ln.Addr().String()})
	wantErr(t, run(c, post("x", 5*time.Second)).err, ErrConnect)
}

func TestTLSHandshakeIsLimited(t *testing.T) {
	closed := make(chan struct{})
	s := newStub(t, func(_ int, p *peer) {
		p.gone()
		close(closed)
	})
	c := newClient(t, Options{URL: "https://" + s.ln.Addr().String(), ConnectTimeout: 100 * time.Millisecond})
	wantErr(t, run(c, post("x", 5*time.Second)).err, ErrConnect)
	<-closed
}

// TestTLSEarlyRefusal: see TestEarlyRefusal.
func TestTLSEarlyRefusal(t *testing.T) {
	read := make(chan struct{}) // closed when the replica may read on: a request that it reads whole is no early refusal
	_, c := startTLS(t, func(_ int, p *peer) {
		p.in.Peek(1)
		p.send(tooLarge)
		<-read
		p.gone()
	})
	got := run(c, post(strings.Repeat("x", 32<<20), 20*time.Second))
	close(read)
	if got.status != 413 || got.body != "no" || c.idleCount() != 0 {
		t.Errorf("got %+v, %d connections kept", got, c.idleCount())
	}
}
