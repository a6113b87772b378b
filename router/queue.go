package router

import (
	"cmp"
	"time"

	"sluice/config"
)

// The longest waits where the configuration says none: neither queue.max_wait nor
// an SLO; and of requests of priority Batch.
const (
	patience      = 30 * time.Second
	batchPatience = 10 * time.Minute
)

// queue is the waiting requests of one route, class and priority. Tenants take turns in it
// by their weights; of one tenant it is first come, first served. Inside it stand
// lanes: the waiters of a lane are one tenant's and need the same, so if its head
// doesn't fit, none of them does, and nobody has to look at them.
type queue struct {
	route    *route
	class    Class
	priority Priority
	lower    *queue  // for Interactive: that of Batch
	order    []*pool // in order of preference
	limits   config.Queue
	slo      promised
	policy   string          // path of its settings: routes.NAME.CLASS
	path     string          // of those that bound it: routes.NAME.CLASS.queue
	refuses  bool            // what would miss its SLO even on an idle replica
	lanes    []*lane         // none is empty
	foremost cached[*waiter] // head
	shares   shares          // of the tenants
	waiting  int             // requests
	bytes    int64           // of their bodies
	drain    drain
	service  mean  // seconds: to the end for Prefill, to the first token for Decode
	misses   mean  // 1 for a request that was refused for want of room, 0 for one that was served
	asked    usual // of all that came
	held     mean  // seconds that its requests keep their slots
}

func newQueue(rt *route, class Class, priority Priority) *queue {
	return &queue{route: rt, class: class, priority: priority, shares: shares{all: map[string]*share{}}, drain: drain{interval: priorInterval()}}
}

// waiter is a claim in a queue.
type waiter struct {
	claim
	since      time.Time // in the queue
	lane       *lane
	prev, next *waiter  // in the lane
	timer      timer    // its deadline
	lateness   lateness // when it becomes best effort
	passed     int      // requests that took room it could have used before their turn, while it was the head
	crowded    bool     // out: its place went to another tenant; its refusal is due
	hold       *replica // where room is held for it; nil: nowhere
}

// maxWait is the longest that a request may wait: the file's word, or what the
// SLO leaves after the expected service, but never less than a quarter of it
// (a class that is slow anyway should still queue a little); or the client's
// own word if that is shorter. Until a service was measured it is taken to be
// half the SLO.
func (q *queue) maxWait(req *Request) time.Duration {
	wait := q.limits.MaxWait
	if q.batch() {
		wait = cmp.Or(q.limits.BatchWait, batchPatience)
	}
	if wait == 0 {
		wait = q.slack(req.TokensIn)
	}
	if req.MaxWait > 0 {
		return min(wait, req.MaxWait)
	}
	return wait
}

// slack is what the SLO leaves for waiting.
func (q *queue) slack(tokensIn int) time.Duration {
	slo := q.slo.limit(tokensIn)
	if slo <= 0 {
		return patience
	}
	service := slo / 2
	if q.service.weight > 0 {
		service = time.Duration(q.service.value * float64(time.Second))
	}
	return max(slo-service, slo/4)
}

// head is the waiter whose turn it is of those who can be served in time; nil:
// there is none.
func (q *queue) head() *waiter {
	if !q.foremost.known {
		q.foremost.keep(q.findHead())
	}
	return q.foremost.value
}

func (q *queue) findHead() *waiter {
	var first *waiter
	for _, l := range q.lanes {
		if l.need.late {
			continue
		}
		if first == nil || l.head.fairer(first) {
			first = l.head
		}
	}
	return first
}

// ahead is how many waiters of the queue come before w, as far as is known.
func (q *queue) ahead(w *waiter) int {
	n, work := w.share.waiting-1, w.share.work-float64(w.work)
	for _, l := range q.lanes {
		if l.need.tenant != w.Tenant {
			continue
		}
		for other := l.tail; other != nil && other.ticket > w.ticket; other = other.prev {
			n, work = n-1, work-float64(other.work)
		}
	}
	return q.shares.before(w.share, n, work)
}

// enqueue lets a claim wait, without a deadline yet.
func (r *Router) enqueue(c *claim) *waiter {
	q := c.queue
	if q.waiting == 0 {
		r.waiting = append(r.waiting, q)
		q.drain.resume(r.now)
	}
	r.join(c)
	w := &waiter{claim: *c, since: r.now}
	w.timer.owner = w
	r.watchLateness(w)
	q.waiting++
	q.bytes += int64(c.Bytes)
	q.shares.entered(w)
	q.insert(w)
	r.waiters[w.ticket] = w
	return w
}

// leave takes a waiter out, with its timer and the room held for it.
func (r *Router) leave(w *waiter) {
	delete(r.waiters, w.ticket)
	r.timers.stop(&w.timer)
	if !w.crowded {
		r.unqueue(w)
	}
}

// unqueue takes a waiter's place in its queue.
func (r *Router) unqueue(w *waiter) {
	q := w.queue
	r.timers.stop(&w.lateness.timer)
	w.letGo()
	q.remove(w)
	q.shares.left(w)
	r.bookWait(q)
	q.waiting--
	q.bytes -= int64(w.Bytes)
	if q.waiting == 0 {
		r.waiting = without(r.waiting, q)
	}
}

// expire refuses a waiter whose deadline has come, or whose place has gone.
func (w *waiter) expire(r *Router, out []Decision) []Decision {
	r.leave(w)
	w.waited += r.now.Sub(w.since)
	if w.crowded {
		return append(out, r.refuseCrowded(&w.claim))
	}
	return append(out, r.refuseExpired(&w.claim))
}

// without removes an element where order doesn't matter.
func without[T comparable](list []T, gone T) []T {
	for i := range list {
		if list[i] == gone {
			last := len(list) - 1
			list[i] = list[last]
			clear(list[last:])
			return list[:last]
		}
	}
	return list
}
