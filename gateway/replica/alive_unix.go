//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package replica

import (
	"net"
	"syscall"
)

// peeker looks at an idle socket without taking anything from it. It is made
// once per connection, so that a look allocates nothing.
type peeker struct {
	raw   syscall.RawConn
	look  func(fd uintptr)
	quiet bool
}

// newPeeker is nil for connections that aren't sockets.
func newPeeker(c net.Conn) *peeker {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	p := &peeker{raw: raw}
	p.look = func(fd uintptr) {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		p.quiet = err == syscall.EAGAIN
	}
	return p
}

// alive tells whether the socket is open and silent. Anything to be read is an
// end, a reset, or an answer that nobody asked for. Control, unlike Read, works
// whatever the deadlines are.
func (p *peeker) alive() bool {
	if p == nil {
		return true
	}
	p.quiet = false
	err := p.raw.Control(p.look)
	return err == nil && p.quiet
}
