package replica

import (
	"sync"
	"time"
)

// idleStack keeps connections between requests, the youngest on top.
type idleStack struct {
	timeout time.Duration // 0: keep none

	mu    sync.Mutex  // guards what follows
	conns []*conn     // by the time they became idle, oldest first
	timer *time.Timer // closes the oldest in time; nil before the first put
	armed bool        // the timer is running
}

// take pops the youngest connection, nil if there is none. It may have died
// since: the caller looks.
func (s *idleStack) take() *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.conns) - 1
	if n < 0 {
		return nil
	}
	c := s.conns[n]
	s.conns[n] = nil
	s.conns = s.conns[:n]
	return c
}

// put takes over a connection, which it closes once it is too old.
func (s *idleStack) put(c *conn, now time.Time) {
	if s.timeout <= 0 {
		c.close()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.idleSince = now
	s.conns = append(s.conns, c)
	s.arm(s.timeout)
}

// arm starts the one timer if it isn't running. The caller holds mu.
func (s *idleStack) arm(after time.Duration) {
	switch {
	case s.armed:
		return
	case s.timer == nil:
		s.timer = time.AfterFunc(after, s.sweep)
	default:
		s.timer.Reset(after)
	}
	s.armed = true
}

// sweep closes what is too old, and comes back when the next one will be.
func (s *idleStack) sweep() {
	for _, c := range s.expired(time.Now()) {
		c.close()
	}
}

func (s *idleStack) expired(now time.Time) []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.conns) && now.Sub(s.conns[n].idleSince) >= s.timeout {
		n++
	}
	old := append([]*conn(nil), s.conns[:n]...)
	kept := copy(s.conns, s.conns[n:])
	clear(s.conns[kept:])
	s.conns = s.conns[:kept]
	s.armed = false
	if kept > 0 {
		s.arm(s.timeout - now.Sub(s.conns[0].idleSince))
	}
	return old
}

// takeAll empties the stack.
func (s *idleStack) takeAll() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.conns
	s.conns = nil
	if s.armed {
		s.armed = !s.timer.Stop()
	}
	return all
}
