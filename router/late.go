package router

import (
	"math"
	"time"
)

// lateness is when a waiter becomes best effort.
type lateness struct {
	timer
	waiter *waiter
}

// watchLateness sets the timer for it, on the quickest of the replicas that may
// serve the waiter.
func (r *Router) watchLateness(w *waiter) {
	limit := w.queue.slo.limit(w.TokensIn)
	if limit <= 0 {
		return
	}
	least := math.Inf(1)
	for _, p := range w.queue.order {
		for _, rep := range p.replicas {
			least = min(least, rep.pace.idle(&w.claim))
		}
	}
	at := w.arrival.Add(time.Duration((limit.Seconds()*firstMargin - min(least, 3600)) * float64(time.Second)))
	if !at.After(r.now) {
		w.late = true
		return
	}
	w.lateness.waiter, w.lateness.owner = w, &w.lateness
	r.timers.start(&w.lateness.timer, at)
}

// expire moves the waiter to those who are late.
func (l *lateness) expire(_ *Router, out []Decision) []Decision {
	w := l.waiter
	w.letGo()
	w.queue.remove(w)
	w.late = true
	w.queue.insert(w)
	return out
}
