package replica

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

const tooLarge = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"

// TestEarlyRefusal: an answer that comes while 32 MB are being written isn't
// lost, whatever the replica does with the rest.
func TestEarlyRefusal(t *testing.T) {
	f := func(name string, mayKeep bool, play func(p *peer)) {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, func(_ int, p *peer) { play(p) })
			c := s.client()
			got := run(c, post(strings.Repeat("x", 32<<20), 20*time.Second))
			if got.status != 413 || got.body != "no" || got.err != nil {
				t.Errorf("got %d %q, error %v, want 413 no", got.status, got.body, got.err)
			}
			if !mayKeep && c.idleCount() != 0 {
				t.Error("the connection was kept")
			}
		})
	}
	f("reads nothing more", false, func(p *peer) { p.in.Peek(1); p.send(tooLarge); <-p.s.over })
	f("closes", false, func(p *peer) { p.in.Peek(1); p.send(tooLarge) })
	f("reads on", true, func(p *peer) { p.in.Peek(1); p.send(tooLarge); p.gone() }) // all of it may have been sent
}

func TestSuccessBeforeTheRequestIsMalformed(t *testing.T) {
	s := newStub(t, func(_ int, p *peer) {
		p.in.Peek(1)
		p.send(okAnswer)
		<-p.s.over
	})
	got := run(s.client(), post(strings.Repeat("x", 32<<20), 20*time.Second))
	wantErr(t, got.err, ErrMalformed)
}

// TestLargeBodyArrives whole, in its pieces, and its connection is kept.
func TestLargeBodyArrives(t *testing.T) {
	s := newStub(t, func(_ int, p *peer) {
		for p.answer(okAnswer) {
		}
	})
	c := s.client()
	piece := strings.Repeat("0123456789abcdef", 1<<16)
	for range 3 {
		req := post("", 20*time.Second)
		req.Body = [][]byte{[]byte("head"), nil, []byte(piece), []byte(piece), []byte("tail")}
		wantOK(t, run(c, req))
	}
	for _, piece := range c.idle.conns[0].pieces {
		if piece != nil {
			t.Error("an idle connection holds on to its last request's body")
		}
	}
	for i, got := range s.requests() {
		if got != "head"+piece+piece+"tail" {
			t.Errorf("request %d: got %d bytes, not those that were sent", i, len(got))
		}
	}
	if s.accepted() != 1 {
		t.Errorf("got %d connections, want 1", s.accepted())
	}
}

// TestCancel in each phase: the call ends at once, the replica sees the
// connection close, and nothing is sent again.
func TestCancel(t *testing.T) {
	f := func(name, body string, play func(p *peer, reached chan<- struct{})) {
		t.Run(name, func(t *testing.T) {
			reached, closed := make(chan struct{}), make(chan struct{})
			s := newStub(t, func(n int, p *peer) {
				if n > 0 {
					t.Error("the request was sent again")
					return
				}
				play(p, reached)
				p.gone()
				close(closed)
			})
			var call Call
			go func() {
				<-reached
				call.Cancel()
			}()
			c := s.client()
			wantErr(t, runCall(c, &call, post(body, time.Minute)).err, ErrCancelled)
			<-closed
			call.Cancel()
			if c.idleCount() != 0 {
				t.Error("a cancelled connection was kept")
			}
		})
	}
	reach := func(text string) func(*peer, chan<- struct{}) {
		return func(p *peer, reached chan<- struct{}) {
			p.read()
			p.send(text)
			close(reached)
		}
	}
	f("writing", strings.Repeat("x", 32<<20), func(p *peer, reached chan<- struct{}) {
		p.in.Peek(1)
		close(reached)
	})
	f("before the head", "x", reach(""))
	f("in the head", "x", reach("HTTP/1.1 200 OK\r\n"))
	f("in the body", "x", reach("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"))
}

func TestCancelBeforeDo(t *testing.T) {
	s := newStub(t, func(_ int, p *peer) {
		for p.answer(okAnswer) {
		}
	})
	c := s.client()
	warm(t, c)
	var call Call
	call.Cancel()
	wantErr(t, runCall(c, &call, post("x", time.Minute)).err, ErrCancelled)
	if len(s.requests()) != 1 || c.idleCount() != 1 {
		t.Errorf("got %d requests, %d idle connections, want 1 and 1", len(s.requests()), c.idleCount())
	}
}

func TestCancelWhileConnecting(t *testing.T) {
	dialling := make(chan struct{})
	c := newClient(t, Options{URL: "http://h", ConnectTimeout: time.Minute,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			close(dialling)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
	var call Call
	go func() {
		<-dialling
		call.Cancel()
	}()
	wantErr(t, runCall(c, &call, post("x", time.Minute)).err, ErrCancelled)
}

// TestCancelSpoilsBufferedData: even what has arrived isn't given out after it.
func TestCancelSpoilsBufferedData(t *testing.T) {
	s := newStub(t, func(_ int, p *peer) { p.answer(okAnswer); p.gone() })
	var call Call
	a, err := s.client().Do(&call, post("x", 5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	call.Cancel()
	n, err := a.Read(make([]byte, 10))
	if n != 0 {
		t.Errorf("got %d bytes after Cancel", n)
	}
	wantErr(t, err, ErrCancelled)
}

// TestCancelAfterCloseDoesNothing, even while the connection serves another.
func TestCancelAfterCloseDoesNothing(t *testing.T) {
	next := make(chan struct{})
	s := newStub(t, func(_ int, p *peer) {
		p.answer(okAnswer)
		p.read()
		next <- struct{}{}
		<-next
		p.send(okAnswer)
		p.gone()
	})
	c := s.client()
	var first Call
	wantOK(t, runCall(c, &first, post("x", 5*time.Second)))
	go func() {
		<-next
		first.Cancel()
		next <- struct{}{}
	}()
	wantOK(t, run(c, post("y", 5*time.Second)))
	if s.accepted() != 1 {
		t.Errorf("got %d connections, want 1", s.accepted())
	}
}

func TestCallServesOnce(t *testing.T) {
	s := newStub(t, func(_ int, p *peer) { p.answer(okAnswer) })
	c := s.client()
	var call Call
	wantOK(t, runCall(c, &call, post("x", 5*time.Second)))
	defer func() {
		if recover() == nil {
			t.Error("a second Do with one Call didn't panic")
		}
	}()
	c.Do(&call, post("x", 5*time.Second))
}
