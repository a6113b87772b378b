package replica

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// inMemory is a client in a bubble of virtual time, and its replica: play runs
// for each connection, after which it is closed.
func inMemory(t *testing.T, play func(n int, p *peer)) (*Client, *stub) {
	s := &stub{t: t, over: make(chan struct{})}
	t.Cleanup(func() { close(s.over) })
	c := newClient(t, Options{URL: "http://replica:8000", Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		n := s.accepted()
		s.mu.Lock()
		s.conns = append(s.conns, theirs)
		s.mu.Unlock()
		go func() {
			defer theirs.Close()
			play(n, &peer{Conn: theirs, in: bufio.NewReader(theirs), s: s})
		}()
		return ours, nil
	}})
	return c, s
}

// drip sends a byte each interval until the gateway has hung up.
func (p *peer) drip(text string, interval time.Duration) {
	for i := 0; ; i++ {
		select {
		case <-time.After(interval):
		case <-p.s.over:
			return
		}
		if _, err := p.Write([]byte{text[i%len(text)]}); err != nil {
			return
		}
	}
}

// after runs f in virtual time, and wants that it took so long.
func after(t *testing.T, want time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if got := time.Since(start); got != want {
		t.Errorf("took %v, want %v", got, want)
	}
}

// TestHeadDeadlineIsAbsolute: a head that drips doesn't move it.
func TestHeadDeadlineIsAbsolute(t *testing.T) {
	f := func(name string, play func(p *peer)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := inMemory(t, func(_ int, p *peer) { play(p) })
				after(t, 60*time.Second, func() {
					wantErr(t, run(c, post("x", 60*time.Second)).err, ErrTimeout)
				})
			})
		})
	}
	f("silent", func(p *peer) { p.read(); p.gone() })
	f("drips a head", func(p *peer) { p.read(); p.drip("HTTP/1.1 200 OK\r\nX: ", 700*time.Millisecond) })
	f("drips interim answers", func(p *peer) { p.read(); p.drip("HTTP/1.1 103 E\r\n\r\n", 700*time.Millisecond) })
}

// TestNeverReads: a replica that accepts and doesn't read, be the body
// small or large.
func TestNeverReads(t *testing.T) {
	f := func(size int) {
		synctest.Test(t, func(t *testing.T) {
			c, _ := inMemory(t, func(_ int, p *peer) { <-p.s.over })
			after(t, 60*time.Second, func() {
				err := run(c, post(strings.Repeat("x", size), 60*time.Second)).err
				wantErr(t, err, ErrTimeout)
				var e *Error
				if !errors.As(err, &e) || e.Phase != PhaseSend {
					t.Errorf("%d bytes: got %v, want a timeout while sending", size, err)
				}
			})
		})
	}
	f(10)
	f(1 << 20)
}

// TestSilenceIsNotSentTwice, on a reused connection either.
func TestSilenceIsNotSentTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := inMemory(t, func(_ int, p *peer) {
			p.answer(okAnswer)
			p.read()
			p.gone()
		})
		wantOK(t, run(c, post("x", 500*time.Millisecond)))
		wantErr(t, run(c, post("x", 500*time.Millisecond)).err, ErrTimeout)
		if len(s.requests()) != 2 || s.accepted() != 1 {
			t.Errorf("got %d requests on %d connections, want 2 on 1", len(s.requests()), s.accepted())
		}
	})
}

// TestReadTimeout counts from the moment a Read begins to wait, and isn't moved
// by framing that drips.
func TestReadTimeout(t *testing.T) {
	f := func(name string, want time.Duration, play func(p *peer)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := inMemory(t, func(_ int, p *peer) {
					p.answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
					play(p)
					p.gone()
				})
				var call Call
				a, err := c.Do(&call, post("x", 10*time.Second))
				if err != nil {
					t.Fatal(err)
				}
				defer a.Close()
				a.SetReadTimeout(60 * time.Second)
				after(t, want, func() {
					_, err := io.ReadAll(a)
					wantErr(t, err, ErrTimeout)
				})
			})
		})
	}
	event := func(p *peer) { p.send("2\r\nok\r\n") }
	f("silent", 60*time.Second, func(*peer) {})
	f("slow, then silent", 210*time.Second, func(p *peer) {
		for range 3 {
			time.Sleep(50 * time.Second)
			event(p)
		}
	})
	f("fast, then silent", 60*time.Second+100*time.Millisecond, func(p *peer) {
		for range 100 {
			time.Sleep(time.Millisecond)
			event(p)
		}
	})
	f("drips an extension", 60*time.Second, func(p *peer) { p.send("2;"); p.drip("x", time.Second) })
}

// TestShorterThanTheHeads: the body's limits hold though the head's deadline,
// which is still set, is later.
func TestShorterThanTheHeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := inMemory(t, func(_ int, p *peer) {
			p.answer("HTTP/1.1 200 OK\r\n\r\n")
			p.gone()
		})
		var call Call
		a, err := c.Do(&call, post("x", 10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		a.SetReadTimeout(2 * time.Second)
		after(t, 2*time.Second, func() {
			_, err := io.ReadAll(a)
			wantErr(t, err, ErrTimeout)
		})
	})
}

// TestReadDeadline is absolute, the sooner of both limits holds, and both can
// be changed on the way.
func TestReadDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := inMemory(t, func(_ int, p *peer) {
			p.answer("HTTP/1.1 200 OK\r\n\r\n")
			p.drip("x", 7*time.Second)
		})
		var call Call
		a, err := c.Do(&call, post("x", 10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		read := func() error {
			_, err := a.Read(make([]byte, 1))
			return err
		}
		start := time.Now()
		a.SetReadDeadline(start.Add(8 * time.Second))
		after(t, 7*time.Second, func() { read() })
		a.SetReadDeadline(time.Time{})
		after(t, 7*time.Second, func() { read() }) // beyond both earlier limits
		a.SetReadTimeout(8 * time.Second)
		a.SetReadDeadline(start.Add(30 * time.Second))
		after(t, 7*time.Second, func() { read() })
		after(t, 7*time.Second, func() { read() })
		after(t, 2*time.Second, func() { wantErr(t, read(), ErrTimeout) })
		wantErr(t, read(), ErrTimeout) // it stays
	})
}

// TestOldDeadlineDoesNotOutliveItsRequest: a connection that is used again
// after the limits of its last request have passed.
func TestOldDeadlineDoesNotOutliveItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := inMemory(t, func(_ int, p *peer) {
			for p.read() != nil {
				time.Sleep(2 * time.Second)
				p.send(okAnswer)
			}
		})
		wantOK(t, run(c, post("x", 2500*time.Millisecond)))
		time.Sleep(3 * time.Second)
		wantOK(t, run(c, &Request{Method: "GET", Path: "/"})) // no limit
		wantOK(t, run(c, post("x", 2500*time.Millisecond)))
		if s.accepted() != 1 {
			t.Errorf("got %d connections, want 1", s.accepted())
		}
	})
}

// TestSlowDeathIsNotStale: a replica that took a request on a reused
// connection, worked, and died may have run it.
func TestSlowDeathIsNotStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := inMemory(t, func(_ int, p *peer) {
			p.answer(okAnswer)
			p.read()
			time.Sleep(2 * time.Second)
		})
		wantOK(t, run(c, post("x", time.Minute)))
		wantErr(t, run(c, post("x", time.Minute)).err, ErrLost, io.ErrUnexpectedEOF)
		if len(s.requests()) != 2 {
			t.Errorf("got %d requests, want 2", len(s.requests()))
		}
	})
}

func TestConnectTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := func(connect, firstByte, want time.Duration) {
			t.Helper()
			c := newClient(t, Options{URL: "http://h", ConnectTimeout: connect,
				Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}})
			after(t, want, func() {
				wantErr(t, run(c, post("x", firstByte)).err, ErrConnect, context.DeadlineExceeded)
			})
		}
		f(time.Second, time.Minute, time.Second)
		f(time.Minute, time.Second, time.Second)
	})
}
