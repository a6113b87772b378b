package conn

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// scripted is a listener whose Accept returns each error once, then waits for
// connections, which are in memory.
type scripted struct {
	errs   []error
	conns  chan net.Conn
	closed chan struct{}
}

func newScripted(errs ...error) *scripted {
	return &scripted{errs: errs, conns: make(chan net.Conn, 1), closed: make(chan struct{})}
}

func (s *scripted) Accept() (net.Conn, error) {
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return nil, err
	}
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *scripted) Close() error   { close(s.closed); return nil }
func (s *scripted) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// acceptError is what net makes of an errno of accept(2).
func acceptError(e syscall.Errno) error {
	return &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", e)}
}

func TestAcceptOutlivesPassingErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs := []error{
			acceptError(syscall.EMFILE), acceptError(syscall.ENFILE), acceptError(syscall.ECONNABORTED),
			acceptError(syscall.ENOBUFS), acceptError(syscall.ENOMEM), acceptError(syscall.EPROTO),
		}
		for range 4 {
			errs = append(errs, acceptError(syscall.EMFILE))
		}
		s := newScripted(errs...)
		var heard []error
		l, err := NewListener(s, Options{OnAcceptError: func(err error) { heard = append(heard, err) }})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		server, _ := net.Pipe()
		s.conns <- server
		start := time.Now()
		if _, err := l.Accept(); err != nil {
			t.Fatal(err)
		}
		// 5, 10, 20, … 640 ms, then 1 s.
		if got, want := time.Since(start), (1275+2*1000)*time.Millisecond; got != want {
			t.Errorf("accepted after %s, want %s", got, want)
		}
		if len(heard) != len(errs) || !errors.Is(heard[0], syscall.EMFILE) {
			t.Errorf("heard of %d errors, want %d: %v", len(heard), len(errs), heard)
		}
	})
}

func TestAcceptReturnsOtherErrors(t *testing.T) {
	for _, want := range []error{net.ErrClosed, acceptError(syscall.EBADF), acceptError(syscall.EINVAL), os.ErrDeadlineExceeded} {
		l, err := NewListener(newScripted(want), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Accept(); err != want {
			t.Errorf("got %v, want %v", err, want)
		}
		l.Close()
	}
}

func TestCloseEndsThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		for range 1000 {
			s.errs = append(s.errs, acceptError(syscall.EMFILE))
		}
		l, err := NewListener(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		synctest.Wait() // in its first pause
		start := time.Now()
		l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) || time.Since(start) != 0 {
			t.Errorf("got %v after %s, want %v at once", err, time.Since(start), net.ErrClosed)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{WriteStall: -1}, {LingerBytes: -1}, {LingerTime: -1}} {
		if _, err := NewListener(newScripted(), o); err == nil || !strings.Contains(err.Error(), "must not be negative") {
			t.Errorf("%+v: got %v, want a refusal", o, err)
		}
	}
}

// In memory and in virtual time, as tests of the gateway use it.
func TestWatchInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := inMemory(t, Options{})
		c.SetReadDeadline(time.Now().Add(10 * time.Second)) // of a server; it doesn't bound the Watch
		w := newWatching(c)
		time.Sleep(time.Hour)
		w.want(t, 0)
		go io.WriteString(client, next)
		synctest.Wait()
		w.want(t, 0)
		c.SetReadDeadline(time.Time{})
		receive(t, c, next)
		client.Close()
		synctest.Wait()
		w.want(t, 1)
	})
}

func TestReadDeadlineOutlivesWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := inMemory(t, Options{})
		start := time.Now()
		c.SetDeadline(start.Add(time.Minute))
		w := newWatching(c)
		c.SetReadDeadline(start.Add(2 * time.Minute))
		c.Unwatch()
		_, err := c.Read(make([]byte, 1))
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != 2*time.Minute {
			t.Errorf("got %v after %s, want the deadline after 2 minutes", err, time.Since(start))
		}
		w.want(t, 0)
	})
}

// More than the background read keeps: nothing is lost, only the watching ends.
func TestBackgroundReadIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client := inMemory(t, Options{})
		much := strings.Repeat("0123456789", 1000)
		c.Watch(func() {})
		go io.WriteString(client, much)
		synctest.Wait()
		c.Unwatch()
		receive(t, c, much)
		w := newWatching(c)
		client.Close()
		synctest.Wait()
		w.want(t, 1)
	})
}

// inMemory returns the two ends of an accepted net.Pipe, for use in a bubble.
func inMemory(t *testing.T, o Options) (c *Conn, client net.Conn) {
	t.Helper()
	s := newScripted()
	o.OnAcceptError = func(err error) { t.Error(err) }
	l, err := NewListener(s, o)
	if err != nil {
		t.Fatal(err)
	}
	server, client := net.Pipe()
	s.conns <- server
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); accepted.Close(); l.Close() })
	return Of(accepted), client
}

func ExampleListener() {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	ln, err := NewListener(tcp, Options{WriteStall: 30 * time.Second})
	if err != nil {
		panic(err)
	}
	defer ln.Close()
	client, _ := net.Dial("tcp", ln.Addr().String())
	nc, _ := ln.Accept() // a server gets this, perhaps below TLS
	defer nc.Close()

	left := make(chan struct{})
	c := Of(nc)
	c.Watch(func() { close(left) })
	defer c.Unwatch()
	client.Close()
	<-left
	fmt.Println("the client has left")
	// Output: the client has left
}
