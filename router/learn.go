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

// priorTokensOut is what an answer without a bound is expected to have before
// any was seen: 300 tokens, a usual chat answer, worth ten samples.
func priorTokensOut() mean { return mean{value: 300, weight: 10} }

// priorInterval is the seconds between two departures of a queue before any
// was measured.
func priorInterval() mean { return mean{value: 0.1} }

// Learn takes in what a finished request teaches.
//
// A bound cuts answers short, and cut answers would teach that answers are
// short. So an answer counts towards the length of answers without a bound only
// if its bound, if any, was at least the present mean. One that was cut there
// is longer than it seems, and counts as long as its bound: it can only raise
// the mean, never by too much. One whose bound was below the mean says nothing.
func (r *Router) Learn(now time.Time, a Answer) {
	r.now = now
	rt := r.routeOf(a.Route, a.Pool)
	if rt == nil || rt.queueOf(a.Class) == nil {
		return
	}
	q := rt.queueOf(a.Class)
	learnLength(&rt.tokensOut, a)
	learnLength(&q.tokensOut, a)
	if a.Service > 0 {
		q.service.add(a.Service.Seconds())
	}
	if l := r.leases[a.Lease]; l != nil && l.closedAt.IsZero() && l.seqs > 0 {
		r.learnPace(l, a.TokensOut)
	}
}

func learnLength(m *mean, a Answer) {
	if a.TokensOut > 0 && (a.Bound < 0 || float64(a.Bound) >= m.value) {
		m.add(float64(a.TokensOut))
	}
}

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
