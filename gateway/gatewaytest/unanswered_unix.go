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
	raw, err := ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var shrunk error
	err = raw.Control(func(fd uintptr) { shrunk = syscall.Listen(int(fd), 0) })
	if err = errors.Join(err, shrunk); err != nil {
		t.Fatalf("shrink the backlog: %v", err)
	}
	fillBacklog(t, ln.Addr().String())
	return ln.Addr().String()
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
