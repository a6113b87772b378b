package router

import "time"

// mean follows a quantity that drifts: the plain mean of the first samples,
// then an exponentially weighted one with the memory of meanMemory samples.
type mean struct {
	value  float64
	weight float64 // samples that it stands for
}

const meanMemory = 200

// add takes in a sample.
func (m *mean) add(x float64) {
	m.weight = min(m.weight+1, meanMemory)
	m.value += (x - m.value) / m.weight
}

// priorInterval is the seconds between two departures of a queue before any
// was measured.
func priorInterval() mean { return mean{value: 0.1} }

// Learn takes in what a finished request teaches, just before its Release: how
// long its kind of answer is, how long it took, how fast its replica is. An
// answer that has all the tokens of its bound was probably cut there, and is
// known only to be longer. A lease that has ended teaches nothing any more.
func (r *Router) Learn(now time.Time, a Answer) {
	r.now = now
	l := r.leases[a.Lease]
	if l == nil || !l.closedAt.IsZero() || l.seqs == 0 {
		return
	}
	if a.TokensOut > 0 {
		r.foreseen.add(a.TokensOut <= l.length.P90)
		r.lengths.learn(now, l.kind, a.TokensOut, a.TokensOut != l.OutBound)
		l.amend(a.TokensOut)
	}
	l.queue.held.add(now.Sub(l.since).Seconds())
	if a.Service > 0 {
		l.queue.service.add(a.Service.Seconds())
	}
	r.learnPace(l, a.TokensOut)
}

// coverage is how often an answer was at most as long as nine of ten were
// expected to be: near 0.9 if lengths are foreseen well.
type coverage struct{ within, all int }

func (c *coverage) add(within bool) {
	c.all++
	if within {
		c.within++
	}
}

// share is 0 before any answer.
func (c *coverage) share() float64 { return float64(c.within) / float64(max(c.all, 1)) }

// drain measures how fast a queue empties: the mean time between requests that
// leave it for a replica, while somebody waits.
type drain struct {
	interval mean      // seconds
	last     time.Time // a request left, or the queue began to fill
}

// drainMemory is how many departures an estimate stands on: enough to smooth
// the bursts in which slots come free, few enough to follow a change.
const drainMemory = 32

// resume starts measuring: the queue was empty.
func (d *drain) resume(now time.Time) { d.last = now }

// dispatched counts a request that left for a replica.
func (d *drain) dispatched(now time.Time) {
	d.interval.weight = min(d.interval.weight, drainMemory-1)
	d.interval.add(now.Sub(d.last).Seconds())
	d.last = now
}

// each is the seconds that one request takes to leave: as measured, or longer
// where nobody has left for longer than that.
func (q *queue) each(now time.Time) float64 {
	if q.waiting == 0 {
		return q.drain.interval.value
	}
	return max(q.drain.interval.value, now.Sub(q.drain.last).Seconds())
}
