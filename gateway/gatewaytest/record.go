package gatewaytest

import (
	"fmt"
	"slices"
	"time"
)

// Calls are the requests received so far, in order of arrival, without probes.
func (r *Replica) Calls() []*Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// Call waits until the i-th call (from 0) has been read and gives it.
// To be called from the test's own goroutine.
func (r *Replica) Call(i int) *Call {
	r.t.Helper()
	r.until(fmt.Sprintf("call %d", i), func() bool { return len(r.calls) > i })
	return r.Calls()[i]
}

// Probes is how often a probed path, such as "/health", has been asked for.
func (r *Replica) Probes(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.probes[path]
}

// Connections is how many connections have been accepted so far.
func (r *Replica) Connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

// Running is how many calls run now: from the head's arrival to the script's end.
func (r *Replica) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// WaitRunning waits until exactly n calls run at once.
// To be called from the test's own goroutine.
func (r *Replica) WaitRunning(n int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d running calls", n), func() bool { return r.running == n })
}

// Peak is the most calls that have run at once.
func (r *Replica) Peak() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.peak
}

func (r *Replica) idleLimit() (idle time.Duration, resets bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.idle, r.resets
}

// enter counts a call that has begun; leave counts it out.
func (r *Replica) enter() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running++
	r.peak = max(r.peak, r.running)
	r.announce()
}

func (r *Replica) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
	r.announce()
}

// record shows a call to the test.
func (r *Replica) record(call *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
	r.announce()
}

// announce wakes all that wait in until. The caller holds the lock.
func (r *Replica) announce() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// until waits for a condition over the guarded fields, or fails the test.
func (r *Replica) until(what string, holds func() bool) {
	r.t.Helper()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	for {
		r.mu.Lock()
		ok, changed := holds(), r.changed
		calls, running := len(r.calls), r.running
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			r.t.Fatalf("replica %s: waited %v for %s; %d calls came, %d run", r.address, Patience, what, calls, running)
		}
	}
}
