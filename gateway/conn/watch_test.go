package conn

import (
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
)

const request, next = "GET /first", "GET /second"

func TestDeparture(t *testing.T) {
	ways := []struct {
		name  string
		leave func(testing.TB, pair)
	}{
		{"FIN", func(_ testing.TB, p pair) { p.tcp.Close() }},
		{"RST", func(_ testing.TB, p pair) { reset(p.tcp) }},
		{"half close", func(_ testing.TB, p pair) { p.tcp.CloseWrite() }},
		{"FIN behind unread pipelined bytes", func(t testing.TB, p pair) { send(t, p.client, next); p.tcp.Close() }},
		{"RST behind unread pipelined bytes", func(t testing.TB, p pair) { send(t, p.client, next); reset(p.tcp) }},
		{"closed as its library does", func(_ testing.TB, p pair) { p.client.Close() }},
	}
	for _, tr := range transports {
		for _, way := range ways {
			t.Run(tr.name+"/"+way.name, func(t *testing.T) {
				s := newSite(t, tr, Options{})
				p := s.connect()
				send(t, p.client, request)
				receive(t, p.server, request)
				w := newWatching(p.conn)
				way.leave(t, p)
				w.wait(t)
				p.conn.Unwatch()
				w.want(t, 1)
			})
		}
	}
}

func TestStaying(t *testing.T) {
	ways := []struct {
		name string
		do   func(testing.TB, pair)
	}{
		{"silent", func(testing.TB, pair) {}},
		{"pipelines", func(t testing.TB, p pair) { send(t, p.client, next) }},
		{"pipelines byte by byte", func(t testing.TB, p pair) {
			for _, b := range next {
				send(t, p.client, string(b))
			}
		}},
		{"reads an answer", func(t testing.TB, p pair) { send(t, p.server, "200 OK"); receive(t, p.client, "200 OK") }},
		{"is read while it is watched", func(t testing.TB, p pair) { send(t, p.client, next); receive(t, p.server, next) }},
	}
	for _, tr := range transports {
		for _, way := range ways {
			t.Run(tr.name+"/"+way.name, func(t *testing.T) {
				s := newSite(t, tr, Options{})
				p := s.connect()
				send(t, p.client, request)
				receive(t, p.server, request)
				w := newWatching(p.conn)
				way.do(t, p)
				s.settle()
				w.want(t, 0)
				p.tcp.Close() // and it is still watched
				w.wait(t)
			})
		}
	}
}

// What was pipelined must still be there for the next request.
func TestPipelinedBytesAreKept(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			s := newSite(t, tr, Options{})
			p := s.connect()
			send(t, p.client, request+next) // in one write
			receive(t, p.server, request)
			w := newWatching(p.conn)
			send(t, p.client, next) // and while it waits
			s.settle()
			p.conn.Unwatch()
			w.want(t, 0)
			receive(t, p.server, next+next)
			p.tcp.Close()
			if _, err := p.server.Read(make([]byte, 1)); err != io.EOF && err != io.ErrUnexpectedEOF {
				t.Fatalf("after the client's end: got %v, want EOF", err)
			}
		})
	}
}

func TestCloseNotifyIsNotADeparture(t *testing.T) {
	for _, tr := range transports {
		if !tr.tls {
			continue
		}
		t.Run(tr.name, func(t *testing.T) {
			s := newSite(t, tr, Options{})
			p := s.connect()
			w := newWatching(p.conn)
			if err := p.client.(*tls.Conn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			s.settle()
			w.want(t, 0)
			p.tcp.Close()
			w.wait(t)
		})
	}
}

func TestWatchAfterDeparture(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			s := newSite(t, tr, Options{})
			p := s.connect()
			first := newWatching(p.conn)
			p.tcp.Close()
			first.wait(t)
			p.conn.Unwatch()
			second := newWatching(p.conn)
			second.want(t, 1) // before Watch returned
		})
	}
}

func TestUnwatchedDepartureIsRemembered(t *testing.T) {
	s := newSite(t, transports[0], Options{})
	p := s.connect()
	p.tcp.Close()
	s.settle()
	newWatching(p.conn).wait(t)
}

func TestNothingFiresAfterUnwatchOrClose(t *testing.T) {
	ends := map[string]func(*Conn){"unwatch": (*Conn).Unwatch, "close": func(c *Conn) { c.Close() }}
	for name, end := range ends {
		for _, tr := range transports {
			t.Run(name+"/"+tr.name, func(t *testing.T) {
				s := newSite(t, tr, Options{})
				p := s.connect()
				w := newWatching(p.conn)
				end(p.conn)
				p.tcp.Close()
				s.settle()
				w.want(t, 0)
			})
		}
	}
}

func TestKeepAlive(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			s := newSite(t, tr, Options{})
			p := s.connect()
			for range 500 {
				send(t, p.client, request)
				receive(t, p.server, request)
				w := newWatching(p.conn)
				send(t, p.server, "200 OK")
				p.conn.Unwatch()
				receive(t, p.client, "200 OK")
				w.want(t, 0)
			}
			w := newWatching(p.conn)
			p.tcp.Close()
			w.wait(t)
		})
	}
}

// A departure and Unwatch meet. The race detector sees an access to ended by a
// callback that runs after Unwatch has returned.
func TestUnwatchRace(t *testing.T) {
	for _, tr := range transports {
		if tr.tls {
			continue
		}
		t.Run(tr.name, func(t *testing.T) {
			s := newSite(t, tr, Options{})
			for range 500 {
				p := s.connect()
				fired, ended := 0, false
				go p.tcp.Close()
				p.conn.Watch(func() {
					fired++
					if ended {
						t.Error("fired after Unwatch")
					}
				})
				p.conn.Unwatch()
				ended = true
				if fired > 1 {
					t.Fatalf("fired %d times", fired)
				}
				p.conn.Close()
			}
		})
	}
}

// Unwatch waits for a callback that is running. One that ran outside the lock
// would still be at it, and the race detector sees done written meanwhile.
func TestUnwatchWaitsForTheCallback(t *testing.T) {
	s := newSite(t, transports[0], Options{})
	for range 20 {
		p := s.connect()
		started, done := make(chan struct{}), false
		p.conn.Watch(func() {
			close(started)
			for range 1000 {
				runtime.Gosched()
			}
			done = true
		})
		p.tcp.Close()
		<-started
		p.conn.Unwatch()
		if !done {
			t.Fatal("Unwatch returned while the callback ran")
		}
	}
}

// Thousands of connections come and go, so that slots and descriptors are used
// again at once. Each that leaves while watched is told, no other is.
func TestChurn(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			s := newSite(t, tr, Options{})
			connections := 3000
			if tr.tls {
				connections = 300
			}
			var all sync.WaitGroup
			defer all.Wait()
			atOnce := make(chan struct{}, 32)
			for i := range connections {
				p := s.connect()
				atOnce <- struct{}{}
				all.Go(func() {
					exchange(t, p, i%4)
					<-atOnce
				})
			}
		})
	}
}

// exchange is one request on p that ends in one of four ways, two of them
// departures.
func exchange(t *testing.T, p pair, way int) {
	w := newWatching(p.conn)
	defer p.conn.Close()
	switch way {
	case 0:
		p.tcp.Close()
		w.wait(t)
	case 1:
		reset(p.tcp)
		w.wait(t)
	default:
		if _, err := io.WriteString(p.client, next); err != nil {
			t.Error(err)
		}
		p.conn.Unwatch()
		w.want(t, 0)
		if way == 2 {
			p.tcp.Close()
		}
	}
}

func TestOf(t *testing.T) {
	s := newSite(t, transports[0], Options{})
	c := s.connect().conn
	other, _ := net.Pipe()
	f := func(name string, nc net.Conn, want *Conn) {
		t.Helper()
		if got := Of(nc); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	f("itself", c, c)
	f("under TLS", tls.Server(c, &tls.Config{}), c)
	f("under TLS in TLS", tls.Server(tls.Server(c, &tls.Config{}), &tls.Config{}), c)
	f("another's", other, nil)
	f("another's under TLS", tls.Server(other, &tls.Config{}), nil)
	f("none", nil, nil)
}
