package conn

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// Conn is a client's connection. It is made by Listener.Accept. Read and Write
// may each be used by one goroutine at a time; everything else by any.
type Conn struct {
	nc   net.Conn
	o    *Options
	open *atomic.Int64 // the listener's count, which Close takes it out of; nil: it isn't in it

	watch watch
	slot  slotRef   // in the listener's watcher; zero when back stands in
	back  *backRead // nil where epoll watches

	stall stall

	linger  atomic.Bool
	closing atomic.Bool
}

// Of finds the Conn below nc, which is one or wraps one as *tls.Conn does (by a
// method NetConn). It returns nil when there is none.
func Of(nc net.Conn) *Conn {
	for {
		switch c := nc.(type) {
		case *Conn:
			return c
		case interface{ NetConn() net.Conn }:
			nc = c.NetConn()
		default:
			return nil
		}
	}
}

// Read reads what the client sent.
func (c *Conn) Read(p []byte) (int, error) {
	if c.back == nil {
		return c.nc.Read(p)
	}
	return c.readBehind(p)
}

// Linger makes the next Close let the client read what was written, although it
// is still sending. Ask for it when a request is answered before its body was
// read, and the connection is then closed.
func (c *Conn) Linger() { c.linger.Store(true) }

// Close closes the connection; no watch fires afterwards. After Linger it takes
// until the client has closed too, at most Options.LingerTime; a second Close
// cuts that short. After a write stall it resets the connection.
func (c *Conn) Close() error {
	first := !c.closing.Swap(true)
	if first {
		c.letGo()
	}
	err := c.nc.Close()
	if first && c.open != nil {
		c.open.Add(-1)
	}
	return err
}

// letGo is what precedes closing: leave the watcher, then reset or linger.
func (c *Conn) letGo() {
	c.Unwatch()
	c.slot.free()
	switch {
	case c.stall.cut.Load():
		c.resetOnClose()
	case c.linger.Load():
		c.drain()
	}
}

// resetOnClose makes the kernel drop what a stalled client didn't take. Else it
// would go on offering it for minutes, and end what arrived with a FIN.
func (c *Conn) resetOnClose() {
	if r, ok := c.nc.(interface{ SetLinger(sec int) error }); ok {
		_ = r.SetLinger(0) // best effort: the connection is closed either way
	}
}

// drain ends our direction, so that the client sees the end of its answer, and
// drops what still arrives: closing with unread bytes would send a reset. Errors
// only end it early.
func (c *Conn) drain() {
	h, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || h.CloseWrite() != nil {
		return
	}
	if c.nc.SetReadDeadline(time.Now().Add(c.o.LingerTime)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(c.nc, c.o.LingerBytes))
}

// LocalAddr is the address that the client connected to.
func (c *Conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// RemoteAddr is the client's address.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline bounds Read, as net.Conn has it. It doesn't bound a Watch.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.back == nil {
		return c.nc.SetReadDeadline(t)
	}
	return c.back.setDeadline(t)
}
