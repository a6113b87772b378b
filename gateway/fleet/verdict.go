package fleet

import (
	"time"

	"sluice/router"
)

// Verdict is one attempt's right to a replica, and what became of it. It is
// taken by Begin and given back by Ended. One goroutine at a time uses it.
type Verdict struct {
	member   *Member
	done     func(error) // gobreaker's; nil: the verdict has fallen
	answered bool        // it was a success
	ended    bool
}

// Begin asks the breaker's leave for an attempt. False: it refuses, and the
// request goes elsewhere. Who gets a Verdict calls its Ended.
func (m *Member) Begin() (*Verdict, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	done, err := m.breaker.Allow()
	if err != nil {
		return nil, false
	}
	return &Verdict{member: m, done: done}, true
}

// Report gives the verdict: router.Completed at the first event of the answer,
// whatever comes after it, or the outcome of an attempt that got none. An
// outcome that isn't the replica's fault is neutral. Only the first call counts.
func (v *Verdict) Report(o router.Outcome) {
	if v.done == nil {
		return
	}
	v.done(judgement(o))
	v.done = nil
	v.answered = o == router.Completed
	v.member.learn(o)
}

// Ended says how the attempt ended; router.Undecided is neutral. It is called
// once, and is the verdict if none has been reported. Calling it again does
// nothing.
func (v *Verdict) Ended(o router.Outcome) {
	if v.ended {
		return
	}
	v.ended = true
	if v.answered && o.Blames() {
		v.member.broke()
	}
	v.Report(o)
	if o == router.Completed {
		v.member.whole()
	}
	if o.LeavesWork() {
		signal(v.member.left)
		signal(v.member.left) // two readings tell what a busy replica has let go of
	}
}

// learn draws from an outcome what it says about the replica's health.
func (m *Member) learn(o router.Outcome) {
	switch o {
	case router.Completed, router.Busy, router.ClientError, router.Misconfigured:
		m.Alive(time.Now())
	case router.ConnectFailed:
		m.disconnect()
	}
}

// whole notes an answer that came to its proper end.
func (m *Member) whole() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = 0
}

// broke counts a stream that broke after its first event. So many in a row open
// the breaker by themselves: their first events were successes, and between two
// successes no failures are in a row.
func (m *Member) broke() {
	m.mu.Lock()
	m.broken++
	times, b := 1, m.breaker
	if m.broken >= m.spec.health.FailuresOpen {
		times, m.broken = m.spec.health.FailuresOpen, 0
	}
	m.mu.Unlock()
	b.fail(times)
}
