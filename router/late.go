package router

import (
	"math"
	"time"
)

// lateness is when a waiter becomes best effort; where that is refused, then when not
// even an idle replica could serve it within its SLO any more.
type lateness struct {
	timer
	waiter *waiter
}

// watchLateness sets the timer for it, on the quickest of the replicas that may
// serve the waiter.
func (r *Router) watchLateness(w *waiter) {
	r.timers.stop(&w.lateness.timer)
	w.lateness.waiter, w.lateness.owner = w, &w.lateness
	limit := w.queue.slo.limit(w.TokensIn)
	if w.late = false; limit <= 0 {
		return
	}
	least := math.Inf(1)
	for _, p := range w.queue.order {
		for _, rep := range p.replicas {
			least = min(least, rep.pace.idle(&w.claim))
		}
	}
	at := w.arrival.Add(time.Duration((limit.Seconds()*firstMargin - min(least, endless)) * float64(time.Second)))
	if w.late = !at.After(r.now); w.late {
		r.watchMiss(w)
		return
	}
	r.timers.start(&w.lateness.timer, at)
}

// watchMiss sets the timer for a late waiter's refusal, where the operator wants that.
func (r *Router) watchMiss(w *waiter) {
	if w.refuses() {
		r.timers.start(&w.lateness.timer, r.missAt(&w.claim))
	}
}

// expire moves the waiter to those who are late, or refuses one that has been there.
func (l *lateness) expire(r *Router, out []Decision) []Decision {
	w := l.waiter
	if w.late {
		return r.endLate(w, out)
	}
	w.letGo()
	w.queue.remove(w)
	w.late = true
	w.queue.insert(w)
	r.watchMiss(w)
	return out
}

// endLate refuses a waiter, unless what was learned since gives it more time.
func (r *Router) endLate(w *waiter, out []Decision) []Decision {
	if !r.hopeless(&w.claim) {
		r.watchMiss(w)
		return out
	}
	r.leave(w)
	w.waited += r.now.Sub(w.since)
	return append(out, r.refuseMissed(&w.claim))
}
