package vllmsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// ErrCrashed is what Serve returns when a fault has ended the process that the
// replica stands for.
var ErrCrashed = errors.New("the simulated replica crashed")

// watchdog is how often vLLM looks whether its engine is dead, to exit then.
const watchdog = 5 * time.Second

// life is how far a replica is between its start and its end.
type life struct {
	mu      sync.Mutex // guards the rest
	door    *door      // nil: not serving
	timers  []*time.Timer
	warm    bool // warm-up is over
	refuses bool // a fault shuts the door
	dead    bool // the engine is
	crashed bool
	over    bool
}

// Serve answers on ln until Shutdown; then it returns nil. It closes ln. While
// the replica warms up, connections are refused.
func (s *Server) Serve(ln net.Listener) error {
	d := newDoor(ln)
	s.life.begin(d, s.options)
	err := s.http.Serve(d)
	switch {
	case s.life.hasCrashed():
		return ErrCrashed
	case !errors.Is(err, http.ErrServerClosed):
		return fmt.Errorf("serve simulated replica on %s: %w", ln.Addr(), err)
	}
	return nil
}

// begin opens the door, at once or when the replica is warm.
func (l *life) begin(d *door, o Options) {
	l.mu.Lock()
	l.door = d
	if l.warm = o.WarmUp <= 0; !l.warm {
		l.after(time.Duration(float64(o.WarmUp)/o.Speed), l.warmedUp)
	}
	l.mu.Unlock()
	_ = l.settle() // it is open already
}

func (l *life) warmedUp() {
	l.mu.Lock()
	l.warm = true
	l.mu.Unlock()
	_ = l.settle() // a port that was lost stays refused
}

// after runs f later, unless the life ends first. Its caller holds mu.
func (l *life) after(d time.Duration, f func()) {
	if !l.over {
		l.timers = append(l.timers, time.AfterFunc(d, f))
	}
}

func (l *life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	for _, t := range l.timers {
		t.Stop()
	}
}

func (l *life) hasCrashed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.crashed
}

func (l *life) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// refuse shuts the door, or lets it be open again.
func (l *life) refuse(on bool) error {
	l.mu.Lock()
	l.refuses = on
	l.mu.Unlock()
	return l.settle()
}

// settle opens the door or shuts it, as it should be now. What changes meanwhile
// is not lost: it looks again.
func (l *life) settle() error {
	for {
		d, open := l.entrance()
		if d == nil {
			return nil
		}
		if err := d.turn(open); err != nil {
			return err
		}
		if _, still := l.entrance(); still == open {
			return nil
		}
	}
}

// entrance is the door, and whether it should be open; nil: there is none yet.
func (l *life) entrance() (d *door, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.door, l.warm && !l.refuses
}

// crash ends everything at once, as the end of a process does.
func (s *Server) crash() {
	s.life.mu.Lock()
	s.life.crashed = true
	s.life.mu.Unlock()
	s.life.end()
	s.http.Close() // the connections; what it says of the listener, Serve knows
	s.engine.close()
}

// loseEngine fails what runs, and what comes until the process exits.
func (s *Server) loseEngine() {
	s.life.mu.Lock()
	if !s.life.dead {
		s.life.dead = true
		s.life.after(watchdog, s.crash)
	}
	s.life.mu.Unlock()
	s.engine.die()
}

// Shutdown stops accepting and lets the requests under way finish until ctx
// ends. What is left then is aborted as vLLM does it, with status 200 and the
// finish reason "abort", and the connections are closed.
func (s *Server) Shutdown(ctx context.Context) error {
	s.life.end()
	err := s.http.Shutdown(ctx)
	s.engine.close()
	if err == nil {
		return nil
	}
	last, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(last) != nil {
		s.http.Close()
	}
	return fmt.Errorf("shut down simulated replica: requests were aborted: %w", err)
}
