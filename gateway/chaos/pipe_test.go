package chaos

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// room is how many bytes a direction takes before its writer has to wait: few, so
// that slow readers are felt at once.
const room = 8 << 10

// flow is one direction of a connection.
type flow struct {
	mu        sync.Mutex // guards all below
	cond      *sync.Cond // something has changed
	bytes     []byte
	ended     bool  // the writer has sent its FIN
	deaf      bool  // the reader has closed: nothing is taken any more
	broken    error // reset
	readBy    time.Time
	writeBy   time.Time
	readWake  *time.Timer // wakes whoever waits at readBy
	writeWake *time.Timer // and at writeBy
}

func newFlow() *flow {
	f := &flow{}
	f.cond = sync.NewCond(&f.mu)
	return f
}

func (f *flow) change(what func()) {
	f.mu.Lock()
	what()
	f.mu.Unlock()
	f.cond.Broadcast()
}

func late(by time.Time) bool { return !by.IsZero() && !time.Now().Before(by) }

// read prefers what is there, an end too, to the deadline: so does a look at a
// socket.
func (f *flow) read(p []byte, closed func() bool) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		switch {
		case closed():
			return 0, net.ErrClosed
		case f.broken != nil:
			return 0, f.broken
		case len(f.bytes) > 0:
			n := copy(p, f.bytes)
			f.bytes = f.bytes[n:]
			f.cond.Broadcast()
			return n, nil
		case f.ended:
			return 0, io.EOF
		case late(f.readBy):
			return 0, os.ErrDeadlineExceeded
		}
		f.cond.Wait()
	}
}

func (f *flow) write(p []byte, closed func() bool) (done int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		switch {
		case closed() || f.ended:
			return done, net.ErrClosed
		case f.broken != nil:
			return done, f.broken
		case f.deaf:
			return done, syscall.EPIPE
		case late(f.writeBy):
			return done, os.ErrDeadlineExceeded
		}
		n := min(len(p)-done, room-len(f.bytes))
		f.bytes = append(f.bytes, p[done:done+n]...)
		f.cond.Broadcast()
		if done += n; done == len(p) {
			return done, nil
		}
		f.cond.Wait()
	}
}

// wakeAt has a deadline noticed.
func (f *flow) wakeAt(t **time.Timer, by *time.Time, when time.Time) {
	f.change(func() {
		*by = when
		if *t != nil {
			(*t).Stop()
			*t = nil
		}
		if wait := time.Until(when); !when.IsZero() && wait > 0 {
			*t = time.AfterFunc(wait, func() { f.change(func() {}) })
		}
	})
}

// end is one end of a connection in memory. It behaves as TCP does: what is
// written arrives in pieces, an end that is closed with bytes unread resets the
// other, a reset drops what is on its way.
type end struct {
	in, out     *flow
	local, peer net.Addr

	mu     sync.Mutex // guards closed and abort
	closed bool
	abort  bool // Close resets
}

// connection makes the two ends of a new one.
func connection(clientAddr, serverAddr net.Addr) (client, server *end) {
	up, down := newFlow(), newFlow()
	return &end{in: down, out: up, local: clientAddr, peer: serverAddr},
		&end{in: up, out: down, local: serverAddr, peer: clientAddr}
}

func (e *end) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// close reports whether this is the first time, and whether it is a reset.
func (e *end) close() (first, reset bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first, e.closed = !e.closed, true
	return first, e.abort
}

func (e *end) Read(p []byte) (int, error)  { return e.in.read(p, e.isClosed) }
func (e *end) Write(p []byte) (int, error) { return e.out.write(p, e.isClosed) }

func (e *end) Close() error {
	first, reset := e.close()
	if !first {
		return net.ErrClosed
	}
	e.in.change(func() {
		reset = reset || len(e.in.bytes) > 0
		e.in.deaf, e.in.bytes = true, nil
	})
	e.out.change(func() {
		if e.out.ended = true; reset && e.out.broken == nil {
			e.out.broken, e.out.bytes = syscall.ECONNRESET, nil
		}
	})
	return nil
}

// CloseWrite ends our direction alone.
func (e *end) CloseWrite() error {
	e.out.change(func() { e.out.ended = true })
	return nil
}

// SetLinger makes Close reset the connection.
func (e *end) SetLinger(int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.abort = true
	return nil
}

// reset is SetLinger(0) and Close.
func (e *end) reset() {
	_ = e.SetLinger(0)
	_ = e.Close()
}

func (e *end) LocalAddr() net.Addr  { return e.local }
func (e *end) RemoteAddr() net.Addr { return e.peer }

func (e *end) SetDeadline(t time.Time) error {
	_ = e.SetReadDeadline(t)
	return e.SetWriteDeadline(t)
}

func (e *end) SetReadDeadline(t time.Time) error {
	if e.isClosed() {
		return net.ErrClosed
	}
	e.in.wakeAt(&e.in.readWake, &e.in.readBy, t)
	return nil
}

func (e *end) SetWriteDeadline(t time.Time) error {
	if e.isClosed() {
		return net.ErrClosed
	}
	e.out.wakeAt(&e.out.writeWake, &e.out.writeBy, t)
	return nil
}

// door is a listener in memory.
type door struct {
	addr  net.Addr
	queue chan net.Conn

	mu   sync.Mutex // guards the rest, and queue's closing
	shut bool
	ends []*end // of the server's side, all there ever were
}

func newDoor(port int) *door {
	return &door{addr: at(port), queue: make(chan net.Conn, 1024)}
}

func at(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port} }

func (d *door) Accept() (net.Conn, error) {
	if nc, ok := <-d.queue; ok {
		return nc, nil
	}
	return nil, net.ErrClosed
}

// Close turns away who stands before the door, as the kernel does.
func (d *door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return nil
	}
	d.shut = true
	close(d.queue)
	for nc := range d.queue {
		nc.(*end).reset()
	}
	return nil
}

func (d *door) Addr() net.Addr { return d.addr }

// connect opens a connection to the door, from a port of the caller's.
func (d *door) connect(port int) (*end, error) {
	client, server := connection(at(port), d.addr)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return nil, syscall.ECONNREFUSED
	}
	d.queue <- server
	d.ends = append(d.ends, server)
	return client, nil
}

// exit is the end of the server's process: what it has left open the kernel closes.
func (d *door) exit() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.ends {
		_ = e.Close()
	}
}
