package gateway

import (
	"sync"
	"time"
)

// visit is a request's time inside: it ends when the client leaves, when the
// grace period is over, or with the answer. It is a context.Context for those
// who wait in its name. It isn't made by package context because each request
// would pay for a place in a tree of contexts and a goroutine for each end; a
// visit needs one lock and, only if it must wait, one channel.
type visit struct {
	mu    sync.Mutex // guards all below
	cause error      // why it ended; nil: it goes on
	done  chan struct{}
	stop  func() // ends the call that is under way; nil: none is
}

// end ends the visit, once: the first cause stays. It wakes those who wait and
// stops the call under way. Nothing it calls blocks.
func (v *visit) end(cause error) {
	v.mu.Lock()
	if v.cause != nil {
		v.mu.Unlock()
		return
	}
	v.cause = cause
	if v.done != nil {
		close(v.done)
	}
	stop := v.stop
	v.mu.Unlock()
	if stop != nil {
		stop() // not under the lock: it takes those of connections, which call end under theirs
	}
}

// during says how to stop the call that is under way, nil when it is over. If
// the visit has ended already it is stopped at once. A stop that was on its way
// may still come after during(nil): it must be harmless then.
func (v *visit) during(stop func()) {
	v.mu.Lock()
	v.stop = stop
	ended := v.cause != nil
	v.mu.Unlock()
	if ended && stop != nil {
		stop()
	}
}

// Done is closed when the visit ends.
func (v *visit) Done() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.done == nil {
		v.done = make(chan struct{})
		if v.cause != nil {
			close(v.done)
		}
	}
	return v.done
}

// Err is why the visit ended; nil while it goes on.
func (v *visit) Err() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.cause
}

// Deadline is none: there is no whole-request timer.
func (v *visit) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value is nil: nothing is smuggled through.
func (v *visit) Value(any) any { return nil }
