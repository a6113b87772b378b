package router

import (
	"fmt"
	"slices"
	"time"
)

// place is where a request waits: among those who must be served as they came.
type place struct {
	queue *queue
	need  need
}

// checkOrder: of one tenant with one need, nobody waits who came before a request
// that has just got its slots. Where SLOs decide, needs change while it waits.
func (w *world) checkOrder(t Ticket) {
	mine, known := w.places[t]
	delete(w.places, t)
	for other := range w.waiting {
		if its, ok := w.places[other]; known && ok && its == mine && w.slo.TTFT == 0 && other < t {
			w.t.Fatalf("ticket %d was served before %d", t, other)
		}
	}
}

// settle books what an event decided for others.
func (w *world) settle(list []Decision) {
	for _, d := range list {
		if !w.waiting[ticketOf(d)] {
			w.t.Fatalf("%T %+v for a ticket that doesn't wait", d, d)
		}
		delete(w.waiting, ticketOf(d))
		if _, ok := d.(Grant); ok {
			w.checkOrder(ticketOf(d))
		}
		w.decided(d)
	}
}

// decided books a decision, and checks a grant against the caps of now.
func (w *world) decided(d Decision) {
	fmt.Fprintf(&w.log, "%T %+v\n", d, d)
	switch d := d.(type) {
	case Grant:
		w.checkGrant(d)
		w.grants = append(w.grants, d)
	case Queued:
		w.waiting[d.Ticket] = true
		wt := w.r.waiters[d.Ticket]
		w.places[d.Ticket] = place{wt.queue, wt.lane.need}
	case *Refusal:
		if d.Outcome == Undecided || d.Detail == "" {
			w.t.Fatalf("got %+v", d)
		}
		w.end(d.Ticket)
	}
}

// end books the end of a request, which must be its only one.
func (w *world) end(t Ticket) {
	if !w.open[t] {
		w.t.Fatalf("ticket %d ended twice", t)
	}
	delete(w.open, t)
}

// finish ends every request and checks that nothing is left.
func (w *world) finish() {
	for len(w.grants) > 0 {
		w.release()
		w.check()
	}
	w.now = w.now.Add(time.Hour)
	w.settle(w.r.Tick(w.now))
	for len(w.grants) > 0 {
		w.release()
	}
	w.now = w.now.Add(time.Hour)
	w.settle(w.r.Tick(w.now))
	w.check()
	w.checkNothingLeft()
}

// checkNothingLeft holds when every request has ended, and closing leases too.
func (w *world) checkNothingLeft() {
	w.t.Helper()
	if len(w.open) > 0 || len(w.r.leases) > 0 || len(w.r.waiters) > 0 || !w.r.Next().IsZero() {
		w.t.Fatalf("left over: %d requests, %d leases, %d waiters, next tick %s", len(w.open), len(w.r.leases), len(w.r.waiters), w.r.Next())
	}
	for _, p := range w.r.State().Pools {
		for _, rep := range p.Replicas {
			if rep.Active.Total() != 0 || rep.Closing.Total() != 0 || rep.Work != 0 {
				w.t.Fatalf("%s still holds %+v", rep.Address, rep)
			}
		}
	}
}

func ticketOf(d Decision) Ticket {
	switch d := d.(type) {
	case Grant:
		return d.Ticket
	case Queued:
		return d.Ticket
	case *Refusal:
		return d.Ticket
	}
	panic("BUG: a fourth kind of decision")
}

func sortedKeys(m map[Ticket]bool) []Ticket {
	var list []Ticket
	for t := range m {
		list = append(list, t)
	}
	slices.Sort(list)
	return list
}
