package vllmsim

import (
	"fmt"
	"net"
	"sync"
)

// door is a listener that can be shut, so that connections are refused, and
// opened again at the same address.
type door struct {
	address net.Addr
	turning sync.Mutex // lets one at a time open or shut it: the port must be free by then

	mu     sync.Mutex // guards the rest
	inner  net.Listener
	moved  chan struct{} // closed when inner or closed changes
	closed bool
}

func newDoor(ln net.Listener) *door {
	return &door{address: ln.Addr(), inner: ln, moved: make(chan struct{})}
}

// Accept waits while the door is shut; net.ErrClosed after Close.
func (d *door) Accept() (net.Conn, error) {
	for {
		inner, moved, closed := d.state()
		if closed {
			return nil, net.ErrClosed
		}
		if inner == nil {
			<-moved
			continue
		}
		c, err := inner.Accept()
		if err == nil {
			return c, nil
		}
		if still, _, _ := d.state(); still == inner {
			return nil, err
		}
	}
}

func (d *door) state() (inner net.Listener, moved <-chan struct{}, closed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inner, d.moved, d.closed
}

// Addr is where it listens, or would.
func (d *door) Addr() net.Addr { return d.address }

// Close shuts it for good.
func (d *door) Close() error {
	d.turning.Lock()
	defer d.turning.Unlock()
	d.move(nil, true)
	return nil
}

// turn opens or shuts it.
func (d *door) turn(open bool) error {
	if open {
		return d.open()
	}
	d.shut()
	return nil
}

// shut refuses connections until open.
func (d *door) shut() {
	d.turning.Lock()
	defer d.turning.Unlock()
	d.move(nil, false)
}

// open listens again; on an open or closed door it does nothing.
func (d *door) open() error {
	d.turning.Lock()
	defer d.turning.Unlock()
	if inner, _, closed := d.state(); inner != nil || closed {
		return nil
	}
	ln, err := net.Listen(d.address.Network(), d.address.String())
	if err != nil {
		return fmt.Errorf("open the port of a simulated replica again: %w", err)
	}
	d.move(ln, false)
	return nil
}

// move puts another listener in place of the one there is, which it closes. Its
// caller holds turning.
func (d *door) move(to net.Listener, closed bool) {
	d.mu.Lock()
	from := d.inner
	d.inner, d.closed = to, d.closed || closed
	close(d.moved)
	d.moved = make(chan struct{})
	d.mu.Unlock()
	if from != nil {
		from.Close()
	}
}
