package replica

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// warm serves one request, so that the next one meets a reused connection.
func warm(t *testing.T, c *Client) {
	t.Helper()
	wantOK(t, run(c, post("first", 5*time.Second)))
	if c.idleCount() != 1 {
		t.Fatalf("got %d idle connections, want 1", c.idleCount())
	}
}

// TestStaleFoundByLooking: what happened to the idle connection shows before it
// is used, so the request goes out once, on a fresh one.
func TestStaleFoundByLooking(t *testing.T) {
	f := func(name string, spoil func(p *peer)) {
		t.Run(name, func(t *testing.T) {
			served, spoilt := make(chan struct{}), make(chan struct{})
			s := newStub(t, func(n int, p *peer) {
				p.answer(okAnswer)
				if n == 0 {
					<-served
					spoil(p)
					close(spoilt)
				}
				p.gone()
			})
			c := s.client()
			warm(t, c)
			close(served)
			<-spoilt
			waitFor(t, func() bool { return !topAlive(c) })
			wantOK(t, run(c, post("second", 5*time.Second)))
			if got := strings.Join(s.requests(), " "); got != "first second" || s.accepted() != 2 {
				t.Errorf("got requests %q on %d connections, want each once on 2", got, s.accepted())
			}
		})
	}
	f("FIN", func(p *peer) { p.Conn.(*net.TCPConn).CloseWrite() })
	f("closed", func(p *peer) { p.Close() })
	f("RST", func(p *peer) { p.reset() })
	f("unsolicited answer", func(p *peer) { p.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL") })
	f("one stray byte", func(p *peer) { p.send("\n") })
}

// waitFor polls what the kernel is about to know.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !done(); {
		if time.Now().After(end) {
			t.Fatal("it didn't happen within 5 s")
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func topAlive(c *Client) bool {
	c.idle.mu.Lock()
	defer c.idle.mu.Unlock()
	return c.idle.conns[len(c.idle.conns)-1].alive()
}

// TestStaleFoundInUse: the connection dies under the request, with no byte of
// an answer: sent once more, on a fresh connection.
func TestStaleFoundInUse(t *testing.T) {
	f := func(name string, die func(p *peer)) {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, func(n int, p *peer) {
				if n > 0 {
					p.answer(okAnswer)
					p.gone()
					return
				}
				p.answer(okAnswer)
				die(p)
			})
			c := s.client()
			warm(t, c)
			var call Call
			a, err := c.Do(&call, post("second", 5*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(a)
			if string(body) != "ok" || err != nil || !a.Resent || s.accepted() != 2 {
				t.Errorf("got %q, %v, resent %v on %d connections", body, err, a.Resent, s.accepted())
			}
			a.Close()
		})
	}
	f("closed with the request unread", func(p *peer) { p.in.Peek(1) })
	f("closed with the request read", func(p *peer) { p.read() })
	f("reset", func(p *peer) { p.in.Peek(1); p.reset() })
}

// TestNotSentTwice: everything else is not sent again.
func TestNotSentTwice(t *testing.T) {
	f := func(name string, reused bool, want error, die func(p *peer)) {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, func(_ int, p *peer) {
				if reused {
					p.answer(okAnswer)
				}
				if p.read() != nil {
					die(p)
				}
			})
			c := s.client()
			if reused {
				warm(t, c)
			}
			err := run(c, post("second", time.Minute)).err
			wantErr(t, err, want)
			var e *Error
			if errors.As(err, &e) && e.Reused != reused {
				t.Errorf("got reused %v, want %v", e.Reused, reused)
			}
			if n := strings.Count(strings.Join(s.requests(), " "), "second"); n != 1 {
				t.Errorf("the request was sent %d times, want once", n)
			}
			if c.idleCount() != 0 {
				t.Error("the connection was kept")
			}
		})
	}
	f("fresh, closed", false, ErrLost, func(*peer) {})
	f("fresh, reset", false, ErrLost, func(p *peer) { p.reset() })
	f("reused, one byte", true, ErrLost, func(p *peer) { p.send("H") })
	f("reused, interim", true, ErrLost, func(p *peer) { p.send("HTTP/1.1 100 Continue\r\n\r\n") })
	f("reused, garbage", true, ErrMalformed, func(p *peer) { p.send("?") })
}

// TestLeftoverIsNotKept: bytes behind the answer would be the next one's.
func TestLeftoverIsNotKept(t *testing.T) {
	s := newStub(t, func(_ int, p *peer) {
		p.answer(okAnswer + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL")
		p.gone()
	})
	c := s.client()
	for range 3 {
		wantOK(t, run(c, post("x", 5*time.Second)))
	}
	if s.accepted() != 3 {
		t.Errorf("got %d connections, want 3", s.accepted())
	}
}

// TestKeptOrClosed is the rule of Close.
func TestKeptOrClosed(t *testing.T) {
	f := func(answer string, readAll, kept bool) {
		t.Helper()
		closed := make(chan struct{})
		s := newStub(t, func(_ int, p *peer) {
			p.answer(answer)
			p.gone()
			close(closed)
		})
		c := s.client()
		var call Call
		a, err := c.Do(&call, post("x", 5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if readAll {
			io.ReadAll(a)
		}
		a.Close()
		a.Close()
		call.Cancel()
		if (c.idleCount() == 1) != kept {
			t.Errorf("%q: kept %v, want %v", answer, !kept, kept)
		}
		if _, err := a.Read(make([]byte, 1)); err == nil {
			t.Errorf("%q: read after Close", answer)
		}
		c.CloseIdle()
		<-closed
	}
	f(okAnswer, true, true)
	f(okAnswer, false, false)
	f("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, true)
	f("HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok", true, false)
	f("HTTP/1.1 200 OK\r\nConnection: x, close\r\nContent-Length: 2\r\n\r\nok", true, false)
	f("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", true, false)
	f("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", true, true)
	f("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true, true)
	f("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", false, false)
}

// TestYoungestFirst: of several idle connections the last one given back is
// used.
func TestYoungestFirst(t *testing.T) {
	s := newStub(t, func(n int, p *peer) {
		for p.answer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + string(rune('0'+n))) {
		}
	})
	c := s.client()
	var calls [3]Call
	var answers [3]*Answer
	for i := range calls {
		a, err := c.Do(&calls[i], post("x", 5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		io.ReadAll(a)
		answers[i] = a
	}
	for _, i := range []int{1, 2, 0} {
		answers[i].Close()
	}
	for range 3 {
		if got := run(c, post("x", 5*time.Second)); got.body != "0" {
			t.Errorf("got connection %q, want 0", got.body)
		}
	}
}

// TestManyAtOnce shares one client between goroutines that read, cancel and
// close at random moments, against a replica that misbehaves in turn.
func TestManyAtOnce(t *testing.T) {
	s := newStub(t, func(n int, p *peer) {
		for i := 0; p.read() != nil; i++ {
			switch (n + i) % 7 {
			case 3:
				p.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
				return
			case 5:
				p.reset()
				return
			}
			p.send(okAnswer)
		}
	})
	c := s.client()
	var wg sync.WaitGroup
	for g := range 100 {
		wg.Go(func() {
			for i := range 10 {
				var call Call
				if (g+i)%4 == 0 {
					wg.Go(call.Cancel)
				}
				r := runCall(c, &call, post("x", time.Minute))
				if r.err == nil && r.body != "ok" {
					t.Errorf("got %q as a whole answer", r.body)
				}
				if r.err != nil && !errors.Is(r.err, ErrLost) && !errors.Is(r.err, ErrCancelled) {
					t.Errorf("got error %v", r.err)
				}
				call.Cancel()
			}
		})
	}
	wg.Wait()
}
