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
		r.review.owner = again{}
		r.timers.start(&r.review, r.now.Add(look))
	}
}

// again is the owner of the timer: what it is for, settle does anyway.
type again struct{}

func (again) expire(_ *Router, out []Decision) []Decision { return out }
