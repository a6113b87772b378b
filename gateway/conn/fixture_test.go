package conn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// transport is a way in which clients connect to a Listener.
type transport struct {
	name       string
	tls        bool
	background bool // watched by a read in the background: the descriptor is hidden
}

var transports = []transport{
	{name: "epoll"},
	{name: "epoll/tls", tls: true},
	{name: "background", background: true},
	{name: "background/tls", tls: true, background: true},
}

// bareListener accepts connections that hide their descriptor.
type bareListener struct{ net.Listener }

type bareConn struct{ net.Conn }

func (l bareListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return bareConn{c}, err
}

// site is a listener and a way to connect to it.
type site struct {
	t  testing.TB
	tr transport
	ln *Listener
}

// pair is one connection, both ends.
type pair struct {
	tcp    *net.TCPConn // the client's end, below TLS
	client net.Conn
	server net.Conn // what a server would be given
	conn   *Conn
}

func newSite(t testing.TB, tr transport, o Options) *site {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if tr.background {
		plain = bareListener{plain}
	}
	o.OnAcceptError = func(err error) { t.Error(err) }
	ln, err := NewListener(plain, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return &site{t: t, tr: tr, ln: ln}
}

// connect returns the two ends of a new connection, its TLS handshake done.
func (s *site) connect() pair {
	s.t.Helper()
	nc, err := net.Dial("tcp", s.ln.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	accepted, err := s.ln.Accept()
	if err != nil {
		s.t.Fatal(err)
	}
	p := pair{tcp: nc.(*net.TCPConn), client: nc, server: accepted, conn: Of(accepted)}
	if s.tr.tls {
		s.handshake(&p)
	}
	s.t.Cleanup(func() { p.tcp.Close(); p.conn.Close() })
	return p
}

func (s *site) handshake(p *pair) {
	s.t.Helper()
	server := tls.Server(p.server, &tls.Config{Certificates: []tls.Certificate{certificate()}})
	client := tls.Client(p.client, &tls.Config{InsecureSkipVerify: true})
	failed := make(chan error, 1)
	go func() { failed <- server.Handshake() }()
	if err := client.Handshake(); err != nil {
		s.t.Fatal(err)
	}
	if err := <-failed; err != nil {
		s.t.Fatal(err)
	}
	p.client, p.server = client, server
}

// settle returns when the watcher has told everything that happened before: a
// further connection comes, goes, and is told last.
func (s *site) settle() {
	s.t.Helper()
	p := s.connect()
	w := newWatching(p.conn)
	p.tcp.Close()
	w.wait(s.t)
	p.conn.Close()
}

// watching counts how often a Watch fires.
type watching struct {
	fired atomic.Int32
	first chan struct{}
}

func newWatching(c *Conn) *watching {
	w := &watching{first: make(chan struct{})}
	c.Watch(w.fire)
	return w
}

func (w *watching) fire() {
	if w.fired.Add(1) == 1 {
		close(w.first)
	}
}

// wait fails the test, from any goroutine, when nothing fires within a time that no machine needs.
func (w *watching) wait(t testing.TB) {
	t.Helper()
	select {
	case <-w.first:
	case <-time.After(10 * time.Second):
		t.Error("the client has left and nobody was told")
	}
}

func (w *watching) want(t testing.TB, n int32) {
	t.Helper()
	if got := w.fired.Load(); got != n {
		t.Fatalf("fired %d times, want %d", got, n)
	}
}

func send(t testing.TB, c net.Conn, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

func receive(t testing.TB, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil {
		t.Fatalf("read %q: %v", want, err)
	}
	if string(got) != want {
		t.Fatalf("read %q, want %q", got, want)
	}
}

func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

// certificate is for 127.0.0.1, made once.
var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})
