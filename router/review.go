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
	promised := slices.ContainsFunc(r.waiting, func(q *queue) bool { return q.slo.TTFT > 0 || q.batch() })
	switch {
	case !promised:
		r.timers.stop(&r.review)
	case r.review.place == 0:
		r.reviewAt(r.now.Add(look))
	}
}

func (r *Router) reviewAt(at time.Time) {
	r.review.owner = reviewer{}
	r.timers.start(&r.review, at)
}

// reviewer is the owner of the timer: what it is for, settle does anyway.
type reviewer struct{}

func (reviewer) expire(_ *Router, out []Decision) []Decision { return out }
