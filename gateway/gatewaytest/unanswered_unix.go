//go:build unix

package gatewaytest

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

// Unanswered gives an address where attempts to connect hang: the listener's
// backlog is full and nobody accepts. So behaves a host that is overloaded or gone.
func Unanswered(t testing.TB) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	shrinkBacklog(t, ln)
	fillBacklog(t, ln.Addr().String())
	return ln.Addr().String()
}

// shrinkBacklog makes the backlog of a listener as short as can be.
func shrinkBacklog(t testing.TB, ln net.Listener) {
	t.Helper()
	raw, err := ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var shrunk error
	err = raw.Control(func(fd uintptr) { shrunk = syscall.Listen(int(fd), 0) })
	if err = errors.Join(err, shrunk); err != nil {
		t.Fatalf("shrink the backlog: %v", err)
	}
}

// fillBacklog connects until an attempt isn't answered.
func fillBacklog(t testing.TB, address string) {
	t.Helper()
	for range 64 {
		conn, err := net.DialTimeout("tcp", address, 100*time.Millisecond)
		if err != nil {
			return
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("64 connections did not fill a backlog of 0")
}

// Filling gives the address of a replica that is well when its health is asked for
// the first time, and that stops to answer when the test calls fill: from then on
// attempts to connect hang as they do at Unanswered.
func Filling(t testing.TB) (address string, fill func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if conn, err := ln.Accept(); err == nil {
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 4<<10)) // the check; who asks sees by the answer whether it came
			_, _ = conn.Write([]byte(Head(200, "content-length: 0", "connection: close")))
		}
	}()
	return ln.Addr().String(), func() {
		t.Helper()
		<-asked
		shrinkBacklog(t, ln)
		fillBacklog(t, ln.Addr().String())
	}
}
