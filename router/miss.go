package router

import (
	"fmt"
	"iter"
	"math"
	"time"

	"sluice/config"
)

// Where the operator says on_slo_miss: refuse, a request that not even an idle replica
// could serve within its SLO is refused: at once, or, if it waits, as soon as that is
// so. Time per token isn't judged: one answer alone shows how fast a replica is.
//
// What is refused is never tried, and what is never tried is never learned. So a
// foresight refuses nothing by itself:
//
//   - A replica is believed to be too slow only for a while after it took longer for a
//     request of the same route and class than its whole SLO, with no other prompt in
//     the way. Else it takes one while it is idle: it will show it, or teach better.
//   - An answer counts with the tokens that its kind usually has, never with those that
//     its bound allows.
//   - What a replica has computed of a prompt before needs no time there.

// tooSlow is how long a replica is believed to be too slow once it was seen to be.
const tooSlow = 10 * time.Second

// refuses tells whether a claim is refused where its SLO would be missed.
func (c *claim) refuses() bool { return c.queue != nil && c.queue.refuses }

// alone is the seconds that a claim surely needs on a replica with nothing in its way;
// 0 where that would be more than its SLO, and nothing seen lately bears it out.
func (r *Router) alone(rep *replica, c *claim) float64 {
	fresh, answer := rep.fresh(c), 1.0
	if c.class == Prefill && c.length.known() {
		answer = c.each()
	}
	took := rep.pace.idleE2E(fresh, answer)
	if took > c.queue.slo.limit(c.TokensIn).Seconds() && r.now.Sub(rep.slow[c.queue.policy]) >= tooSlow {
		return 0
	}
	return min(took, endless)
}

// missOn is from when on a replica that is idle would be too late for a claim.
func (r *Router) missOn(rep *replica, c *claim) time.Time {
	left := c.queue.slo.limit(c.TokensIn).Seconds() - r.alone(rep, c)
	return c.arrival.Add(time.Duration(left * float64(time.Second)))
}

// left is the seconds that a claim's SLO leaves.
func (c *claim) left(now time.Time) float64 {
	return (c.queue.slo.limit(c.TokensIn) - now.Sub(c.arrival)).Seconds()
}

// miss is the prospect of a claim that would surely need more than is left.
func (p *Prospect) miss(surely, left float64) {
	p.Verdict, p.First, p.FirstLimit, p.BestEffort = MissesSLO, surely, left, false
}

// misses tells whether a claim must not have a replica because it would miss its SLO.
func (r *Router) misses(rep *replica, c *claim) bool {
	return c.refuses() && !r.missOn(rep, c).After(r.now)
}

// missAt is from when on every replica that may serve a claim would be too late for it.
// If none is up, how fast one will be that comes back isn't known.
func (r *Router) missAt(c *claim) time.Time {
	var at time.Time
	for rep := range c.able() {
		at = later(at, r.missOn(rep, c))
	}
	if at.IsZero() {
		return c.arrival.Add(c.queue.slo.limit(c.TokensIn))
	}
	return at
}

// able lists the replicas that are up and can hold a claim.
func (c *claim) able() iter.Seq[*replica] {
	return func(yield func(*replica) bool) {
		for _, p := range c.order() {
			for _, rep := range p.replicas {
				if c.fits(p) && c.seqs <= p.capOf(c.class) && rep.capNow() > 0 && rep.address != c.tried && !yield(rep) {
					return
				}
			}
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// hopeless tells whether a claim is refused for its SLO's sake.
func (r *Router) hopeless(c *claim) bool { return c.refuses() && !r.missAt(c).After(r.now) }

// hopelessElsewhere is hopeless without the replica where a claim has failed.
func (r *Router) hopelessElsewhere(c *claim, failed *replica) bool {
	again := *c
	again.tried = failed.address
	return r.hopeless(&again)
}

// refuseMiss refuses a claim that is hopeless from the start; nil: it isn't.
func (r *Router) refuseMiss(c *claim) *Refusal {
	if !r.hopeless(c) {
		return nil
	}
	least, again := math.Inf(1), tooSlow
	for rep := range c.able() {
		least, again = min(least, r.alone(rep, c)), min(again, tooSlow-r.now.Sub(rep.slow[c.queue.policy]))
	}
	no := c.refuse(WaitExpired, "", fmt.Sprintf("even an idle replica would need about %s for %s, and the SLO is %s; ask for less%s",
		span(least), c.promisedPart(), c.promise(), c.missSetting()))
	no.RetryAfter = whole(again.Seconds() * jitter(c.ticket))
	return no
}

// refuseMissed refuses a waiter for which it is too late.
func (r *Router) refuseMissed(c *claim) *Refusal {
	r.lacks(c)
	no := c.refuse(WaitExpired, "", fmt.Sprintf("no replica had room within %s, and even an idle one would be too late now: the SLO is %s for %s%s",
		c.waited.Round(time.Millisecond), c.promise(), c.promisedPart(), c.missSetting()))
	no.RetryAfter = r.retryAfter(c)
	return no
}

// promise is what is promised for a claim, and by which setting.
func (c *claim) promise() string {
	return fmt.Sprintf("%s (%s.slo)", c.queue.slo.limit(c.TokensIn).Round(time.Millisecond), c.queue.policy)
}

// promisedPart is what an SLO's TTFT counts.
func (c *claim) promisedPart() string {
	if c.class == Prefill {
		return "the whole answer"
	}
	return "the first token"
}

func (c *claim) missSetting() string {
	return fmt.Sprintf(" (%s.on_slo_miss=%s)", c.queue.policy, config.MissRefuse)
}

// timed books how long a request took for what its SLO counts, or took so far. If
// that is more than all of it, and no other prompt was in the way, the replica is too
// slow for some requests.
func (l *lease) timed(now time.Time, took time.Duration) {
	limit := l.queue.slo.limit(l.TokensIn)
	if alone := l.flying == l.fresh; alone && limit > 0 && took > limit && l.life == l.replica.life {
		l.replica.slow[l.queue.policy] = now
	}
}
