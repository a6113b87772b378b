package router

import "slices"

// maxPassed is how often a waiting head may be passed by younger requests that
// take room it could have used. Then room is held for it.
const maxPassed = 8

// pick finds the place for a claim: the first pool in its order of preference
// that has a willing replica with room, and there the one with the least
// outstanding work. Nil: none has room. w is its waiter, if it waits.
func (r *Router) pick(c *claim, w *waiter) (*replica, int) {
	c.yield(r.now)
	for choice, p := range c.order() {
		if rep := r.within(c, p, w, choice == 0); rep != nil {
			return rep, choice
		}
	}
	return nil, 0
}

// within is the best replica of one pool.
func (r *Router) within(c *claim, p *pool, w *waiter, home bool) *replica {
	switch {
	case c.class == Other:
		return p.leastReady(c)
	case c.fits(p):
		return r.least(p, c, w, home)
	}
	return nil
}

// next finds the waiter that came first of those that fit, or of its queue the one
// whose tenant's turn it is, and its place. Those who can't be served in time any
// more come after all who can. Room is held first: the last grant may have freed a
// replica to hold it on.
func (r *Router) next() (first *waiter, place *replica, choice int) {
	r.reserve()
	return r.turn()
}

// turn is next without holding room. It changes nothing.
func (r *Router) turn() (first *waiter, place *replica, choice int) {
	for _, q := range r.waiting {
		for _, l := range q.lanes {
			if first != nil && first.before(l.head) {
				continue
			}
			if rep, at := r.pick(&l.head.claim, l.head); rep != nil {
				first, place, choice = l.head, rep, at
			}
		}
	}
	return r.fairest(first, place, choice)
}

// overtakes tells whether a claim would take room that a waiter has come into with
// time alone, since the last event. Then that one's turn comes first, at once.
func (r *Router) overtakes(c *claim) bool {
	if len(r.waiting) == 0 || c.class == Other {
		return false
	}
	first, _, _ := r.turn()
	return first != nil && (c.batch() || !first.batch())
}

// before orders waiters: by priority, those in time, then by arrival.
func (w *waiter) before(other *waiter) bool {
	if w.batch() != other.batch() {
		return other.batch()
	}
	if w.late != other.late {
		return other.late
	}
	return w.ticket < other.ticket
}

// countPass counts a grant against the heads it passed, and holds room for a
// head that has been passed too often.
func (r *Router) countPass(c *claim, rep *replica) {
	if c.seqs == 0 {
		return
	}
	for _, q := range r.waiting {
		h := q.head()
		if h == nil || !h.precedes(c) || !h.wanted(rep) || !rep.tightened(c.class, h.class) {
			continue
		}
		if h.passed++; h.passed >= maxPassed && !h.batch() {
			h.reserve()
		}
	}
}

// wanted tells whether a waiter could use room on a replica, enough of it given.
func (w *waiter) wanted(rep *replica) bool {
	return rep.couldHold(&w.claim) && w.fits(rep.pool) && slices.Contains(w.queue.order, rep.pool)
}

// tightened tells whether a sequence just taken by one class left another less
// room: not if the other's own cap is what limits it.
func (rep *replica) tightened(by, of Class) bool {
	return by == of || rep.capNow()-rep.held() < rep.pool.capOf(of)-rep.heldOf(of)
}

// reserve holds room for each head that has been passed too often. Not for one of
// priority Batch: its turn among those is rule 4 of spare, and others owe it none.
func (r *Router) reserve() {
	for _, q := range r.waiting {
		if h := q.head(); h != nil && h.passed >= maxPassed && !h.batch() {
			h.reserve()
		}
	}
}

// reserve holds room for a waiter on the replica that lacks least, in order of
// preference. A replica holds room for one; where all do, the waiter's turn
// comes when one of those has been served.
func (w *waiter) reserve() {
	if w.hold != nil {
		return
	}
	var best *replica
	for _, p := range w.queue.order {
		for _, rep := range p.replicas {
			free := rep.hold == nil && !rep.busy && w.wanted(rep)
			if free && (best == nil || rep.room(w.class, w) > best.room(w.class, w)) {
				best = rep
			}
		}
	}
	if best != nil {
		w.hold, best.hold = best, w
	}
}

// letGo gives up the room held for a waiter.
func (w *waiter) letGo() {
	if w.hold != nil {
		w.hold.hold, w.hold = nil, nil
	}
}

// letAllGo gives up all held room, when what the replicas are worth has
// changed. The next settle holds it again where it still makes sense.
func (r *Router) letAllGo() {
	for _, rep := range r.replicas {
		if rep.hold != nil {
			rep.hold.letGo()
		}
	}
}
