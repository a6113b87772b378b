package conn

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// backRead stands in where epoll can't watch: while a Watch waits it reads in
// the background, and keeps what came for the next Read. Whoever calls start
// gives it back with stop.
type backRead struct {
	nc   net.Conn
	left func() // the client has gone

	mu       sync.Mutex    // guards done and deadline; held while a read is started or stopped
	done     chan struct{} // closed when the running read has ended; nil: none runs
	deadline time.Time     // the caller's, for its own reads

	// What was read ahead: of the running read, else of the caller's Read.
	buf  [4096]byte
	r, w int   // buf[r:w] is still to be delivered
	err  error // what ended the bytes
}

// start begins to read ahead, unless that runs already or there is no room.
func (b *backRead) start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done != nil || b.err != nil {
		return
	}
	if b.r == b.w {
		b.r, b.w = 0, 0
	}
	_ = b.nc.SetReadDeadline(time.Time{}) // fails only when closed, which the read then says
	b.done = make(chan struct{})
	go b.run(b.done)
}

func (b *backRead) run(done chan struct{}) {
	defer close(done)
	for b.w < len(b.buf) {
		n, err := b.nc.Read(b.buf[b.w:])
		b.w += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return // stop
		}
		if err != nil {
			b.err = err
			b.left()
			return
		}
	}
}

// stop ends the reading ahead and waits for its end.
func (b *backRead) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done == nil {
		return
	}
	_ = b.nc.SetReadDeadline(time.Unix(1, 0))
	<-b.done
	b.done = nil
	_ = b.nc.SetReadDeadline(b.deadline)
}

// read delivers what was read ahead, then what comes. None may run ahead.
func (b *backRead) read(p []byte) (int, error) {
	if b.r < b.w {
		n := copy(p, b.buf[b.r:b.w])
		b.r += n
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.nc.Read(p)
}

// setDeadline bounds the caller's reads, not the reading ahead.
func (b *backRead) setDeadline(t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deadline = t
	if b.done != nil {
		return nil
	}
	return b.nc.SetReadDeadline(t)
}

// readBehind is Read where back stands in. The caller's read comes first; it
// sees a departure itself, and the watching goes on after it.
func (c *Conn) readBehind(p []byte) (int, error) {
	c.back.stop()
	n, err := c.back.read(p)
	switch {
	case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
		c.depart()
	case c.watch.armed():
		c.back.start()
	}
	return n, err
}
