package router

import "time"

// othersFirst tells whether somebody waits in time who could use the replica and
// comes before the claim there: whose first choice its pool is, if it isn't the
// claim's, unless the claim makes clearly more of the room; anybody, if the claim
// is late.
func (r *Router) othersFirst(rep *replica, c *claim, home bool) bool {
	if home && !c.late {
		return false
	}
	for _, q := range r.waiting {
		h := q.head()
		switch {
		case h == nil || q.batch() || q == c.queue && !c.late || !r.couldUse(rep, h):
		case c.late:
			return true
		case !home && q.order[0] == rep.pool && c.density() < clearly*h.density() && !h.mixes(rep, r.now):
			return true
		}
	}
	return false
}

// couldUse tells whether a waiter could use room on a replica, enough of it given.
func (r *Router) couldUse(rep *replica, w *waiter) bool {
	return w.wanted(rep) && !r.misses(rep, &w.claim)
}

// guaranteed is the share of a route's work that a class gets at least, while it has
// requests that can be served in time. A fleet that serves both classes within their
// SLOs does somewhat less work than with either alone, so a quarter comes to the fifth
// of what it could serve of the class alone that is promised.
const guaranteed = 0.25

// owes tells whether a claim must leave its room to another class: one that waits
// in time, has had less than its share of its route's work lately, and can't be served
// for want of this room. A class that is owed its own share owes nobody: each would
// wait for the other.
func (r *Router) owes(rep *replica, c *claim) bool {
	if c.queue.short(r.now) {
		return false
	}
	for _, q := range r.waiting {
		h := q.head()
		if h == nil || q.batch() || q.class == c.class || !r.couldUse(rep, h) {
			continue
		}
		if !q.short(r.now) && !c.mixes(rep, r.now) {
			continue
		}
		var p Prospect
		if r.nextTokens(&p, rep, &h.claim); p.slow() || r.contested(rep, c, h) {
			return true
		}
	}
	return false
}

// contested tells whether a claim would take the last room that another's head could
// use: not if its own class's cap is what stops that one; nor on an empty replica if
// others come before it there, who would wait for each other.
func (r *Router) contested(rep *replica, c *claim, head *waiter) bool {
	own := rep.pool.capOf(head.class) - rep.heldOf(head.class)
	if own < head.seqs || rep.admits()-rep.held() >= head.seqs+c.seqs {
		return false
	}
	return rep.held() > 0 || !r.othersFirst(rep, &head.claim, head.queue.order[0] == rep.pool)
}

// short tells whether a class has had less than its share of its route's work.
func (q *queue) short(now time.Time) bool { return q.route.share(q.class, now) < guaranteed }

// share is the part of a route's work that a class has got lately; all of it where
// nobody has got any.
func (rt *route) share(c Class, now time.Time) float64 {
	mine, other := rt.work[c].now(now), rt.work[c.opposite()].now(now)
	if other < 1 {
		return 1
	}
	return mine / (mine + other)
}

// clearly is how many times as much a request must make of a slot in a pool that
// isn't its first choice, to come before those whose it is.
const clearly = 1.5

// density is what a claim makes of a slot: its work, for each second that it
// stays. Prompts are computed many times as fast as answers are generated, so
// short answers make more of it than long ones.
func (c *claim) density() float64 {
	return float64(c.work) / max(c.queue.stay(c), 1e-3)
}

// stay is how long requests like the claim hold their slots, in seconds.
func (q *queue) stay(c *claim) float64 {
	if q.held.weight == 0 {
		return 1 + c.each()*usualToken
	}
	return q.held.value
}

// usualToken is the seconds per token before any stay was measured.
const usualToken = 0.04
