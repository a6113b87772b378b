package conn_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/conn"
)

// limited listens for at most n connections, and hands over each that it accepts.
func limited(t *testing.T, n int, refused *atomic.Int64) (address string, accepted <-chan net.Conn) {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := conn.NewListener(plain, conn.Options{MaxOpen: n, Full: []byte("full\n"), OnAcceptError: func(err error) {
		if errors.Is(err, conn.ErrFull) {
			refused.Add(1)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	conns := make(chan net.Conn, 1000)
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			conns <- nc
		}
	}()
	return plain.Addr().String(), conns
}

// knock connects and sends something at once, as a client does.
func knock(t *testing.T, address string) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(nc, strings.Repeat("a request", 1000)); err != nil {
		t.Fatal(err)
	}
	return nc
}

func TestTheListenerIsFull(t *testing.T) {
	var refused atomic.Int64
	address, accepted := limited(t, 2, &refused)
	first, second := knock(t, address), knock(t, address)
	inside := <-accepted
	<-accepted
	for range 3 {
		if said, err := io.ReadAll(knock(t, address)); string(said) != "full\n" || err != nil {
			t.Errorf("one too many heard %q, %v", said, err)
		}
	}
	if n := refused.Load(); n != 3 {
		t.Errorf("%d were turned away, want 3", n)
	}
	inside.Close()
	inside.Close() // is counted out once
	knock(t, address)
	<-accepted
	if said, err := io.ReadAll(knock(t, address)); string(said) != "full\n" || err != nil {
		t.Errorf("after one has left and one has come, the next heard %q, %v", said, err)
	}
	first.Close()
	second.Close()
}

// A crowd before the door costs the listener nothing: it goes on accepting.
func TestACrowdBeforeTheDoor(t *testing.T) {
	var refused atomic.Int64
	address, accepted := limited(t, 1, &refused)
	knock(t, address)
	inside := <-accepted
	for range 300 {
		knock(t, address)
	}
	for deadline := time.Now().Add(10 * time.Second); refused.Load() < 300; {
		if time.Now().After(deadline) {
			t.Fatalf("%d were turned away, want 300", refused.Load())
		}
	}
	inside.Close()
	knock(t, address)
	<-accepted
}
