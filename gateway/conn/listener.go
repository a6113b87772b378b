package conn

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Options says how the connections of a Listener behave.
type Options struct {
	// WriteStall is how long a client may take no byte of what is written to
	// it before the write fails with ErrWriteStall. 0: for ever.
	WriteStall time.Duration

	// LingerBytes and LingerTime bound what Close reads and drops, and for
	// how long, after Conn.Linger. 0: 4 MiB and 500 ms.
	LingerBytes int64
	LingerTime  time.Duration

	// MaxOpen is how many connections may be open at once; 0: any number. One too
	// many gets Full and is closed. Full is written below TLS: leave it empty there.
	MaxOpen int
	Full    []byte

	// OnAcceptError hears of each error of Accept that is tried again, of each
	// connection that is turned away (ErrFull), and of connections that epoll
	// can't watch. It is called by the goroutine that accepts. nil: nobody hears.
	OnAcceptError func(error)
}

const (
	defaultLingerBytes = 4 << 20
	defaultLingerTime  = 500 * time.Millisecond

	firstBackOff = 5 * time.Millisecond
	maxBackOff   = time.Second
)

// Listener accepts connections as *Conn. TLS goes on top of it.
type Listener struct {
	ln      net.Listener
	o       Options
	watcher *watcher
	closed  chan struct{}
	once    sync.Once // closes closed

	open atomic.Int64  // connections accepted and not yet closed
	door chan struct{} // holds one for each that is being turned away
}

// NewListener wraps ln, which it then owns. It fails when an option is negative
// or the kernel refuses an epoll instance.
func NewListener(ln net.Listener, o Options) (*Listener, error) {
	if o.WriteStall < 0 || o.LingerBytes < 0 || o.LingerTime < 0 || o.MaxOpen < 0 {
		return nil, fmt.Errorf("listen on %s: write stall %s, linger bytes %d, linger time %s and open connections %d must not be negative",
			ln.Addr(), o.WriteStall, o.LingerBytes, o.LingerTime, o.MaxOpen)
	}
	if o.LingerBytes == 0 {
		o.LingerBytes = defaultLingerBytes
	}
	if o.LingerTime == 0 {
		o.LingerTime = defaultLingerTime
	}
	w, err := newWatcher()
	if err != nil {
		return nil, fmt.Errorf("listen on %s: watch for clients that leave: %w", ln.Addr(), err)
	}
	return &Listener{ln: ln, o: o, watcher: w, closed: make(chan struct{}), door: make(chan struct{}, atTheDoor)}, nil
}

// Accept waits for the next connection, a *Conn. Errors that pass are reported
// to OnAcceptError and tried again after a pause of 5 ms, doubled each time up
// to 1 s; Close ends the pause. Any other error is returned as it is.
func (l *Listener) Accept() (net.Conn, error) {
	for pause := firstBackOff; ; {
		nc, err := l.ln.Accept()
		switch {
		case err == nil && l.admit():
			return l.wrap(nc), nil
		case err == nil:
			l.turnAway(nc)
		case !passes(err):
			return nil, err
		default:
			l.report(fmt.Errorf("accept on %s, trying again in %s: %w", l.ln.Addr(), pause, err))
			if !l.sleep(pause) {
				return nil, net.ErrClosed
			}
			pause = min(2*pause, maxBackOff)
		}
	}
}

// Close stops accepting. Connections already accepted live on and are still
// watched; the watcher ends with the last of them.
func (l *Listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.watcher.close()
	})
	return l.ln.Close()
}

// Addr is the address that the listener listens on.
func (l *Listener) Addr() net.Addr { return l.ln.Addr() }

// wrap makes a *Conn of an accepted connection and has it watched.
func (l *Listener) wrap(nc net.Conn) *Conn {
	c := &Conn{nc: nc, o: &l.o, open: &l.open}
	err := l.watcher.add(c)
	if err == nil {
		return c
	}
	c.back = &backRead{nc: nc, left: c.depart}
	if !errors.Is(err, errors.ErrUnsupported) {
		l.report(fmt.Errorf("watch client %s by epoll, reading in the background instead: %w", nc.RemoteAddr(), err))
	}
	return c
}

func (l *Listener) report(err error) {
	if l.o.OnAcceptError != nil {
		l.o.OnAcceptError(err)
	}
}

// sleep reports whether the pause went by without the listener being closed.
func (l *Listener) sleep(pause time.Duration) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.closed:
		return false
	}
}

// passing are the errors of accept(2) that say nothing about the listener: too
// few descriptors or memory, or trouble of the one connection that was next,
// which Linux hands to the accepting call.
var passing = []syscall.Errno{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
	syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EPROTO, syscall.EPERM, syscall.EINTR,
	syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.ENOPROTOOPT, syscall.ETIMEDOUT,
}

func passes(err error) bool {
	for _, e := range passing {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
