package router

import (
	"cmp"
	"slices"
)

// need is what decides whether a waiter fits, besides its queue.
type need struct {
	seqs  int
	reach int    // pools of the order whose context holds it; a longer prompt reaches a subset
	sure  bool   // these surely hold it: those that only may don't count
	tried string // where it must not go again
	late  bool   // not even an idle replica could serve it within its SLO any more
	model string // that must go on with its answer

	tenant string // takes its turn apart from the others
}

// lane is the waiters of one queue and tenant with one need, in order of arrival.
type lane struct {
	need       need
	head, tail *waiter
}

func needOf(c *claim) need {
	n := need{seqs: c.seqs, tried: c.tried, late: c.late, tenant: c.Tenant, sure: c.choosy(), model: c.model}
	for _, p := range c.queue.order {
		if c.fits(p) {
			n.reach++
		}
	}
	return n
}

// insert puts a waiter where its arrival belongs: at the end, but for a request
// that was tried before.
func (q *queue) insert(w *waiter) {
	q.foremost.drop()
	l := q.laneOf(needOf(&w.claim))
	w.lane = l
	w.prev = l.tail
	for w.prev != nil && w.prev.ticket > w.ticket {
		w.prev = w.prev.prev
	}
	if w.prev == nil {
		w.next, l.head = l.head, w
	} else {
		w.next, w.prev.next = w.prev.next, w
	}
	if w.next == nil {
		l.tail = w
	} else {
		w.next.prev = w
	}
}

func (q *queue) laneOf(n need) *lane {
	for _, l := range q.lanes {
		if l.need == n {
			return l
		}
	}
	l := &lane{need: n}
	q.lanes = append(q.lanes, l)
	return l
}

// remove takes a waiter out of its lane, and the lane out if it was the last.
func (q *queue) remove(w *waiter) {
	q.foremost.drop()
	l := w.lane
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.lane, w.prev, w.next = nil, nil, nil
	if l.head == nil {
		q.lanes = without(q.lanes, l)
	}
}

// youngestOf lists a tenant's waiters, the last that came first. One that was let
// in once and comes back from a replica is not among them.
func (q *queue) youngestOf(s *share) []*waiter {
	var list []*waiter
	for _, l := range q.lanes {
		if l.need.tenant != s.tenant || l.need.tried != "" {
			continue
		}
		for w := l.head; w != nil; w = w.next {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b *waiter) int { return cmp.Compare(b.ticket, a.ticket) })
	return list
}

// all lists the waiters, lane by lane.
func (q *queue) all() []*waiter {
	list := make([]*waiter, 0, q.waiting)
	for _, l := range q.lanes {
		for w := l.head; w != nil; w = w.next {
			list = append(list, w)
		}
	}
	return list
}

// relane sorts the waiters again after what they may use has changed.
func (q *queue) relane() {
	list := q.all()
	q.lanes = nil
	for _, w := range list {
		w.lane, w.prev, w.next = nil, nil, nil
		q.insert(w)
	}
}
