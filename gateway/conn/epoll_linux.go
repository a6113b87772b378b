package conn

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// notSentLowat is how much of what was written the kernel holds before it is
// sent, in bytes. By default it takes up to 4 MiB from a client that reads slowly.
const notSentLowat = 128 << 10

// watcher tells the connections of a listener that their clients have left. It
// is one epoll instance, to which each connection is added once, for
// EPOLLRDHUP alone (errors and hang-ups are always told), edge-triggered. The
// instance is itself waited for by the runtime's poller, so no thread blocks.
type watcher struct {
	fd    int
	file  *os.File // owns fd
	ready syscall.RawConn
	start sync.Once // starts run, with the first connection

	mu      sync.Mutex // guards the rest
	slots   []slot
	unused  []int32 // slots that are free
	closing bool    // no connection is added any more
}

// slot is a connection's place. The kernel's events carry its index and its
// generation, so that an event of a closed connection can't reach the next one
// that has the slot, or the descriptor.
type slot struct {
	conn       *Conn
	generation int32
}

// slotRef is a connection's hold on its slot. The zero value holds none.
type slotRef struct {
	w     *watcher
	index int32
}

func newWatcher() (*watcher, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	// Without O_NONBLOCK the runtime's poller wouldn't take the descriptor.
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(fd))
	}
	file := os.NewFile(uintptr(fd), "epoll")
	ready, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &watcher{fd: fd, file: file, ready: ready}, nil
}

// add has c watched until its slot is freed. It fails with
// errors.ErrUnsupported for a connection that has no descriptor.
func (w *watcher) add(c *Conn) error {
	sc, ok := c.nc.(syscall.Conn)
	if !ok {
		return errors.ErrUnsupported
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return err
	}
	event, err := w.take(c)
	if err != nil {
		return err
	}
	// Not before there is a real connection: in a testing/synctest bubble a
	// goroutine that waits for the kernel keeps time from passing.
	w.start.Do(func() { go w.run() })
	var added error
	err = raw.Control(func(fd uintptr) {
		// Best effort: a Unix socket doesn't know it.
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, notSentLowat)
		added = os.NewSyscallError("epoll_ctl", unix.EpollCtl(w.fd, unix.EPOLL_CTL_ADD, int(fd), &event))
	})
	if err = errors.Join(err, added); err != nil {
		c.slot.free()
		c.slot = slotRef{}
	}
	return err
}

// take gives c a slot, and returns the event that the kernel is to report for
// it. The slot is given back with free.
func (w *watcher) take(c *Conn) (unix.EpollEvent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing {
		return unix.EpollEvent{}, os.ErrClosed
	}
	i := int32(len(w.slots))
	if n := len(w.unused); n > 0 {
		i, w.unused = w.unused[n-1], w.unused[:n-1]
	} else {
		w.slots = append(w.slots, slot{})
	}
	w.slots[i].conn = c
	c.slot = slotRef{w: w, index: i}
	return unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET, Fd: i, Pad: w.slots[i].generation}, nil
}

// free gives the slot back. The kernel forgets a descriptor when it is closed,
// so there is nothing to tell it.
func (r slotRef) free() {
	if r.w == nil {
		return
	}
	w := r.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots[r.index] = slot{generation: w.slots[r.index].generation + 1}
	w.unused = append(w.unused, r.index)
	w.endIfIdle()
}

// close lets the watcher end with its last connection.
func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing = true
	w.endIfIdle()
}

// endIfIdle closes the epoll instance, and so ends run, when no connection is
// left or will come. The caller holds the mutex.
func (w *watcher) endIfIdle() {
	if w.closing && len(w.unused) == len(w.slots) {
		_ = w.file.Close() // nothing was written to it
	}
}

// run tells connections of departures until the epoll instance is closed.
func (w *watcher) run() {
	events := make([]unix.EpollEvent, 128)
	for {
		n, err := w.wait(events)
		if err != nil {
			return
		}
		for _, e := range events[:n] {
			if c := w.at(e.Fd, e.Pad); c != nil {
				c.depart()
			}
		}
	}
}

// wait returns how many events there are. Its only error is that the epoll
// instance has been closed.
func (w *watcher) wait(events []unix.EpollEvent) (n int, err error) {
	err = w.ready.Read(func(fd uintptr) bool {
		e := error(unix.EINTR)
		for e == unix.EINTR {
			n, e = unix.EpollWait(int(fd), events, 0)
		}
		if e != nil {
			panic("BUG: epoll_wait: " + e.Error())
		}
		return n > 0
	})
	return n, err
}

// at returns the connection that holds a slot, nil if that is another one now.
func (w *watcher) at(index, generation int32) *Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.slots[index]; s.generation == generation {
		return s.conn
	}
	return nil
}
