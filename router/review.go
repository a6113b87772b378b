package router

import (
	"slices"
	"time"
)

// look is how often waiters are looked at again: what replicas are willing to take
// changes with time alone.
const look = 20 * time.Millisecond

// lookAgain sets the timer for it, while anybody waits.
func (r *Router) lookAgain() {
	switch {
	case !slices.ContainsFunc(r.waiting, (*queue).watches):
		r.timers.stop(&r.review)
	case r.review.place == 0:
		r.reviewAt(r.now.Add(look))
	}
}

func (r *Router) reviewAt(at time.Time) {
	r.review.owner = reviewer{}
	r.timers.start(&r.review, at)
}

// watches tells whether time alone may let somebody of the queue in. Where caps alone
// decide, only what a replica's metrics said of its KV cache grows old.
func (q *queue) watches() bool {
	return q.slo.TTFT > 0 || q.batch() || slices.ContainsFunc(q.order, (*pool).told)
}

// told tells whether any replica's metrics have told of its KV cache.
func (p *pool) told() bool {
	return slices.ContainsFunc(p.replicas, func(rep *replica) bool { return rep.kv.capacity.weight > 0 })
}

// reviewer is the owner of the timer: what it is for, settle does anyway.
type reviewer struct{}

func (reviewer) expire(_ *Router, out []Decision) []Decision { return out }
