package router

import (
	"math"
	"time"

	"sluice/config"
)

// share is a tenant's part in a queue. Tenants get work by their weights, in two
// ways, since most of what is admitted within an SLO never waits:
//
//   - of those who wait, the next turn is of the tenant that has used least, in
//     work ÷ weight (fairest);
//   - a tenant that has used more than another who lacks room may only take such
//     room as leaves room for others (yield).
//
// Without tenants there is one share, and first come is first served.
type share struct {
	tenant  string
	weight  float64
	used    float64   // work granted ÷ weight, in prompt tokens, from a start that all share
	waiting int       // requests
	work    float64   // expected, of those, in prompt tokens
	bytes   int64     // of their bodies
	seen    time.Time // its last request came
	denied  time.Time // its last refusal for want of room
}

// shares are those of a queue.
type shares struct {
	all    map[string]*share
	active []*share // somebody of them waits, in the order in which that began
	start  float64  // what the last that was served had used before
	pace   rate     // at which what each has used grows, per second

	lacking   cached[float64] // leastLacking
	lackingAt time.Time
}

// join gives a claim its tenant's share. A tenant of whom nobody waits is lifted
// to the least that those have used who wait: what it didn't use while it was
// away is gone, else it could keep all others out when it comes back. Only what it
// lacked of its share in the last seconds it may make up for, if it was there:
// requests come by chance.
func (r *Router) join(c *claim) {
	if c.queue == nil {
		return
	}
	all := &c.queue.shares
	s := all.all[c.Tenant]
	if s == nil {
		s = &share{tenant: c.Tenant}
	}
	if c.notes == nil {
		all.all[c.Tenant] = s
	} else {
		c.notes.borrow(c.queue, s)
	}
	s.weight = weightOf(r.cfg, c.Tenant)
	if s.waiting == 0 {
		s.used = max(s.used, all.least()-all.credit(r.now, s))
	}
	s.seen = r.now
	c.share = s
	all.lacking.drop()
}

// weightOf is 1 where the configuration has no such tenant (any more).
func weightOf(cfg *config.Config, tenant string) float64 {
	if t, known := cfg.Tenants[tenant]; known && t.Weight > 0 {
		return t.Weight
	}
	return 1
}

// least is what a tenant has used at least that comes now.
func (s *shares) least() float64 {
	if len(s.active) == 0 {
		return s.start
	}
	least := math.Inf(1)
	for _, other := range s.active {
		least = min(least, other.used)
	}
	return least
}

// charge books the work that a claim will probably be, as it is granted.
func (c *claim) charge(now time.Time) {
	if c.queue == nil {
		return
	}
	s := &c.queue.shares
	s.start = max(s.start, c.share.used)
	c.charged = float64(c.work)
	c.queue.spend(c.share, c.charged)
	s.pace.add(now, c.charged/s.weights(c.share))
}

// spend books work to a share of the queue.
func (q *queue) spend(s *share, work float64) {
	s.used += work / s.weight
	q.foremost.drop()
	q.shares.lacking.drop()
}

// weights is the sum of those who wait and of the one that is served.
func (s *shares) weights(own *share) float64 {
	sum := own.weight
	for _, other := range s.active {
		if other != own {
			sum += other.weight
		}
	}
	return sum
}

// credit is what a tenant may make up for: about what each was given in the last
// seconds; nothing if it was away.
func (s *shares) credit(now time.Time, own *share) float64 {
	if now.Sub(own.seen).Seconds() > inflowMemory {
		return 0
	}
	return s.pace.now(now) * inflowMemory
}

// amend books what an answer's tokens, of one sequence, turned out to be.
func (l *lease) amend(tokens int) {
	work := float64(l.TokensIn) + l.w*float64(tokens*l.seqs)
	l.queue.spend(l.share, work-l.charged)
	l.charged = work
}

// refund gives back what was charged for a request that no replica has run.
func (l *lease) refund(o Outcome) {
	if l.queue == nil || o == Completed || o.MayHaveRun() {
		return
	}
	l.queue.spend(l.share, -l.charged)
	l.charged = 0
}

// entered counts a waiter in its tenant's share.
func (s *shares) entered(w *waiter) {
	s.lacking.drop()
	if w.share.waiting == 0 {
		s.active = append(s.active, w.share)
	}
	w.share.waiting++
	w.share.work += float64(w.work)
	w.share.bytes += int64(w.Bytes)
}

// left counts it out.
func (s *shares) left(w *waiter) {
	s.lacking.drop()
	w.share.waiting--
	w.share.work -= float64(w.work)
	w.share.bytes -= int64(w.Bytes)
	if w.share.waiting == 0 {
		s.active = without(s.active, w.share)
	}
}

// fairer tells whether a waiter comes before another of its queue: those who can
// be served in time first, then the tenant that has used less, then by arrival.
func (w *waiter) fairer(other *waiter) bool {
	switch {
	case w.late != other.late:
		return other.late
	case w.share.used != other.share.used:
		return w.share.used < other.share.used
	}
	return w.ticket < other.ticket
}

// precedes tells whether a waiter should have come before a claim that has just
// been granted.
func (w *waiter) precedes(c *claim) bool {
	switch {
	case w.batch() != c.batch():
		return false
	case w.queue != c.queue || w.share == c.share:
		return w.ticket < c.ticket
	}
	had := c.share.used - c.charged/c.share.weight
	return w.share.used < had || w.share.used == had && w.ticket < c.ticket
}

// fairest gives a queue's turn, which the one who came first of those that fit
// has won, to whose turn it is among its tenants.
func (r *Router) fairest(first *waiter, place *replica, choice int) (*waiter, *replica, int) {
	if first == nil || len(first.queue.shares.active) < 2 {
		return first, place, choice
	}
	for _, l := range first.queue.lanes {
		if !l.head.fairer(first) {
			continue
		}
		if rep, at := r.pick(&l.head.claim, l.head); rep != nil {
			first, place, choice = l.head, rep, at
		}
	}
	return first, place, choice
}

// A tenant that is ahead by so many of its requests leaves room for one more; at
// most for so many.
const (
	leadStep = 4.0
	leadMost = 8
)

// yield says for how many requests like it a claim leaves room: the more, the
// further its tenant is ahead of another that waits, or was refused a moment ago.
func (c *claim) yield(now time.Time) {
	c.beside = 0
	if c.queue == nil {
		return
	}
	if ahead := c.share.used - c.queue.shares.leastLacking(now); ahead > 0 {
		lead := ahead * c.share.weight / float64(max(c.work, 1))
		c.beside = 1 + int(min(lead/leadStep, leadMost-1))
	}
}

// leastLacking is the least that a tenant has used of which somebody waits, or was
// refused a moment ago.
func (s *shares) leastLacking(now time.Time) float64 {
	if s.lacking.known && s.lackingAt.Equal(now) {
		return s.lacking.value
	}
	least := math.Inf(1)
	for _, other := range s.all {
		if other.waiting > 0 || now.Sub(other.denied).Seconds() < inflowMemory {
			least = min(least, other.used)
		}
	}
	s.lacking.keep(least)
	s.lackingAt = now
	return least
}

// outlook is the prospect of a claim beside which others like it must have room: as
// if they were there already, but no more than are really there. So half of the
// room is anybody's.
func (r *Router) outlook(rep *replica, c *claim, home bool) Prospect {
	if c.batch() {
		return r.spare(rep, c)
	}
	n := min(c.beside, rep.heldOf(c.class))
	if n == 0 {
		return r.prospect(rep, c, home)
	}
	fuller := *rep
	for range n {
		fuller.active.add(c.class, c.seqs)
		fuller.pace.began(r.now, float64(c.TokensIn))
	}
	return r.prospect(&fuller, c, home)
}

// before is how many waiters come before a request of a tenant that has n of its
// own, of so much work, before it: those of each other tenant until that one will
// have used as much.
func (s *shares) before(own *share, n int, work float64) int {
	reach := own.used + work/own.weight
	if own.waiting == 0 {
		reach = max(reach, own.used)
	}
	others := 0.0
	for _, other := range s.active {
		if other.tenant != own.tenant {
			part := (reach - other.used) * other.weight / max(other.work, 1)
			others += float64(other.waiting) * min(max(part, 0), 1)
		}
	}
	return n + int(math.Ceil(others))
}

// before is how many waiters of its queue come before a claim that came now.
func (c *claim) before() int { return c.queue.shares.before(c.share, c.share.waiting, c.share.work) }

// forget drops the shares of tenants that the configuration no longer has, and
// takes in changed weights.
func (s *shares) forget(cfg *config.Config) {
	s.lacking.drop()
	for tenant, own := range s.all {
		if _, known := cfg.Tenants[tenant]; !known && own.waiting == 0 {
			delete(s.all, tenant)
			continue
		}
		own.weight = weightOf(cfg, tenant)
	}
}
