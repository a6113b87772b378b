package conn

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// ErrWriteStall says that the client took no byte for Options.WriteStall. The
// error of Write that wraps it is also os.ErrDeadlineExceeded.
var ErrWriteStall = errors.New("client stopped reading")

// stall bounds how long a write may make no progress.
type stall struct {
	cut atomic.Bool // a write stalled; none is tried again

	mu    sync.Mutex // guards the rest; held while the deadline is set, so that the last setter wins
	until time.Time  // the deadline that we set; zero: none
	own   bool       // the caller set a deadline, which then rules instead of ours
}

// Write writes all of p to the client. It fails with ErrWriteStall when the
// client takes no byte for Options.WriteStall; it is the last write then, and
// Close resets the connection. The limit is coarse, from three quarters (the last
// write was just before, and the deadline isn't set anew each time) to twice (the
// client took some of p first, and it isn't known when).
func (c *Conn) Write(p []byte) (int, error) {
	if c.o.WriteStall == 0 {
		return c.nc.Write(p)
	}
	for done := 0; ; {
		if c.stall.cut.Load() {
			return done, c.stallError()
		}
		c.armStall()
		n, err := c.nc.Write(p[done:])
		done += n
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || c.ownDeadline() {
			return done, err
		}
		c.stall.cut.Store(n == 0)
	}
}

// SetWriteDeadline bounds Write absolutely, as net.Conn has it, instead of
// Options.WriteStall, until it is set to zero.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	s := &c.stall
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own, s.until = !t.IsZero(), time.Time{}
	return c.nc.SetWriteDeadline(t)
}

// armStall gives the next write at least three quarters of the limit. Setting a
// deadline costs more than a look at the clock, so a busy stream sets it four
// times per limit rather than once per write.
func (c *Conn) armStall() {
	s := &c.stall
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own {
		return
	}
	now := time.Now()
	if s.until.Sub(now) < c.o.WriteStall/4*3 {
		s.until = now.Add(c.o.WriteStall)
		_ = c.nc.SetWriteDeadline(s.until) // fails only when closed, which the write then says
	}
}

func (c *Conn) ownDeadline() bool {
	c.stall.mu.Lock()
	defer c.stall.mu.Unlock()
	return c.stall.own
}

func (c *Conn) stallError() error {
	return fmt.Errorf("write to client %s: %w: it took no byte for %s (timeouts.write_stall): %w",
		c.nc.RemoteAddr(), ErrWriteStall, c.o.WriteStall, os.ErrDeadlineExceeded)
}
