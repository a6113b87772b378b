package replica

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// stub is a scripted replica: play runs for each connection it accepts, which
// are numbered from 0, and the connection is closed after it.
type stub struct {
	t    testing.TB
	ln   net.Listener
	play func(n int, p *peer)
	wg   sync.WaitGroup
	over chan struct{} // closed at the end of the test

	mu     sync.Mutex // guards what follows
	conns  []net.Conn
	bodies []string // of the requests that were read whole
}

// peer is the replica's end of one connection.
type peer struct {
	net.Conn
	in *bufio.Reader
	s  *stub
}

func newStub(t testing.TB, play func(n int, p *peer)) *stub {
	return newStubAt(t, "127.0.0.1:0", play)
}

func newStubAt(t testing.TB, address string, play func(n int, p *peer)) *stub {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &stub{t: t, ln: ln, play: play, over: make(chan struct{})}
	s.wg.Go(s.accept)
	t.Cleanup(s.stop)
	return s
}

func (s *stub) accept() {
	for n := 0; ; n++ {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.mu.Unlock()
		s.wg.Go(func() {
			defer c.Close()
			s.play(n, &peer{Conn: c, in: bufio.NewReader(c), s: s})
		})
	}
}

func (s *stub) stop() {
	close(s.over)
	s.ln.Close()
	s.mu.Lock()
	for _, c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// accepted is how many connections came.
func (s *stub) accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// requests are the bodies that were read whole, in order.
func (s *stub) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

// read takes one whole request; nil when there is none.
func (p *peer) read() *http.Request {
	r, err := http.ReadRequest(p.in)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	p.s.mu.Lock()
	p.s.bodies = append(p.s.bodies, string(body))
	p.s.mu.Unlock()
	return r
}

// send writes as one segment.
func (p *peer) send(text string) { io.WriteString(p.Conn, text) }

// reset closes with an RST.
func (p *peer) reset() {
	p.Conn.(*net.TCPConn).SetLinger(0)
	p.Conn.Close()
}

// gone waits until the gateway has closed the connection.
func (p *peer) gone() {
	io.Copy(io.Discard, p.in)
}

// answer reads one request and answers it.
func (p *peer) answer(text string) bool {
	if p.read() == nil {
		return false
	}
	p.send(text)
	return true
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// client for the stub, closed with the test.
func (s *stub) client() *Client {
	return newClient(s.t, Options{URL: "http://" + s.ln.Addr().String()})
}

func newClient(t testing.TB, o Options) *Client {
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 5 * time.Second
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = 4 * time.Second
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return c
}

// post is a request that must be answered within d.
func post(body string, d time.Duration) *Request {
	return &Request{
		Method: "POST", Path: "/v1/completions", Body: [][]byte{[]byte(body)},
		FirstByte: time.Now().Add(d),
	}
}

// result is all that a caller sees of an attempt.
type result struct {
	status int
	body   string
	err    error // of Do, or of the body
}

func run(c *Client, req *Request) result {
	var call Call
	return runCall(c, &call, req)
}

func runCall(c *Client, call *Call, req *Request) result {
	a, err := c.Do(call, req)
	if err != nil {
		return result{err: err}
	}
	defer a.Close()
	body, err := io.ReadAll(a)
	return result{a.Status, string(body), err}
}

func (c *Client) idleCount() int {
	c.idle.mu.Lock()
	defer c.idle.mu.Unlock()
	return len(c.idle.conns)
}

func wantOK(t *testing.T, r result) {
	t.Helper()
	if r.err != nil || r.status != 200 || r.body != "ok" {
		t.Fatalf("got %d %q, error %v, want 200 ok", r.status, r.body, r.err)
	}
}

func wantErr(t *testing.T, got error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(got, w) {
			t.Errorf("got error %v, want one that is %v", got, w)
		}
	}
	var e *Error
	if !errors.As(got, &e) {
		t.Errorf("error %v is no *Error", got)
	}
}

// certificate makes a server's and a client's TLS configuration for 127.0.0.1.
func certificate(t testing.TB) (server, client *tls.Config) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	pair := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return &tls.Config{Certificates: []tls.Certificate{pair}}, &tls.Config{RootCAs: roots}
}
