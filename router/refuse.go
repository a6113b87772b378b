package router

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The bounds of Retry-After: shorter is a hammer, longer is a guess.
const (
	minRetryAfter = time.Second
	maxRetryAfter = 30 * time.Second
)

// refuse ends a claim. Detail says what happened, which limit, what to change.
func (c *claim) refuse(o Outcome, param, detail string) *Refusal {
	return &Refusal{Ticket: c.ticket, Outcome: o, Class: c.class, Waited: c.waited, Param: param, Detail: detail}
}

// refuseNever refuses a claim that no replica of its pools could ever take:
// longer than every context, larger than every cap, or without a replica.
func (r *Router) refuseNever(c *claim) *Refusal {
	long, large, listed := true, true, false
	for _, p := range c.order() {
		if !c.fits(p) {
			continue
		}
		long = false
		if c.seqs > p.capOf(c.class) {
			continue
		}
		large = false
		listed = listed || slices.ContainsFunc(p.replicas, func(rep *replica) bool { return rep.address != c.tried })
	}
	switch {
	case len(c.order()) == 0:
		return r.refuseNone(c, "no pool serves it")
	case long:
		return c.refuseLong()
	case large:
		return c.refuseLarge()
	case !listed && c.tried != "":
		return r.refuseFailed(c, c.failure, "the other replicas have left")
	case !listed:
		return r.refuseNone(c, "pools "+c.poolNames()+" have no replica")
	}
	return nil
}

// refuseDown refuses a claim for which no replica is up now, though one may
// come back. Who already waits is not refused so: it keeps its deadline.
func (r *Router) refuseDown(c *claim) *Refusal {
	for _, p := range c.order() {
		switch {
		case c.class == Other && p.leastReady(c) != nil:
			return nil
		case c.class != Other && c.fits(p) && c.seqs <= p.capOf(c.class) && p.up():
			return nil
		}
	}
	return r.refuseNone(c, "no replica of "+c.poolNames()+" is ready")
}

// refuseNone is a NoReplica. Nothing tells when a replica will be back: where
// one's breaker is open it is tried after health.open_for, else the longest
// Retry-After is named.
func (r *Router) refuseNone(c *claim, detail string) *Refusal {
	no := c.refuse(NoReplica, "", detail)
	after := maxRetryAfter
	for _, p := range c.order() {
		if slices.ContainsFunc(p.replicas, func(rep *replica) bool { return rep.state == Open }) {
			after = min(after, r.cfg.Health.OpenFor)
		}
	}
	no.RetryAfter = whole(after.Seconds() * jitter(c.ticket))
	return no
}

// refuseLong says what vLLM would say, in its terms.
func (c *claim) refuseLong() *Refusal {
	longest := 0
	for _, p := range c.order() {
		longest = max(longest, p.cfg.Engine.MaxModelLen)
	}
	if c.OutBound > longest {
		return c.refuse(TooLong, "max_tokens", fmt.Sprintf(
			"the longest context here is %d tokens, but up to %d tokens of answer are asked for; ask for fewer", longest, c.OutBound))
	}
	return c.refuse(TooLong, "input_tokens", fmt.Sprintf(
		"the longest context here is %d tokens, but the prompt has at least %d input tokens; shorten the prompt", longest, c.LongestIn))
}

// refuseLarge names the largest cap that the claim's sequences exceed.
func (c *claim) refuseLarge() *Refusal {
	best, path := -1, ""
	for _, p := range c.order() {
		if limit := p.capOf(c.class); c.fits(p) && limit > best {
			best, path = limit, "pools."+p.name+".cap."+p.capName(c.class)
		}
	}
	return c.refuse(Unsupported, "n", fmt.Sprintf(
		"the request needs %d sequences at once on one replica, limit %s=%d; send it as several requests", c.seqs, path, best))
}

// capName is the setting that limits a class.
func (p *pool) capName(c Class) string {
	if p.capOf(c) == p.cfg.Cap.Total {
		return "total"
	}
	return c.String()
}

// refuseWait refuses a claim that may not wait; nil: it may.
func (r *Router) refuseWait(c *claim) *Refusal {
	q := c.queue
	wait, allowed := c.expectedWait(r.now), q.maxWait(&c.Request)
	full := q.full(c, q.waiting, q.bytes)
	switch {
	case full != "" && q.crowding(c) == nil:
		return r.refuseFull(c, full)
	case wait > allowed:
		return r.refuseEarly(c, wait, allowed)
	}
	return nil
}

// expectedWait is how long a claim would wait that came now: those before it
// leave as fast as the last ones did. 0 where nobody waits: what it takes then
// isn't known; nor is it for priority Batch, which waits until others leave room.
func (c *claim) expectedWait(now time.Time) time.Duration {
	q := c.queue
	if q.batch() || q.waiting == 0 || q.drain.interval.weight == 0 {
		return 0
	}
	return time.Duration(float64(c.before()+1) * q.each(now) * float64(time.Second))
}

// refuseEarly says now what would be said at the deadline.
func (r *Router) refuseEarly(c *claim, wait, allowed time.Duration) *Refusal {
	r.lacks(c)
	no := c.refuse(WaitExpired, "", fmt.Sprintf("%d requests of class %s wait, and one more would wait about %s, limit %s",
		c.queue.waiting, c.class, wait.Round(10*time.Millisecond), c.waitLimit(allowed)))
	no.RetryAfter = r.retryAfter(c)
	return no
}

// waitLimit names what allows a wait, and the setting.
func (c *claim) waitLimit(allowed time.Duration) string {
	switch {
	case c.MaxWait > 0 && allowed == c.MaxWait:
		return fmt.Sprintf("the request's own %s", c.MaxWait)
	case c.queue.limits.MaxWait == 0:
		return fmt.Sprintf("%s, what the SLO leaves after the expected service (%s.max_wait=0)", allowed.Round(time.Millisecond), c.queue.path)
	}
	return fmt.Sprintf("%s.max_wait=%s", c.queue.path, allowed)
}

func (r *Router) refuseFull(c *claim, detail string) *Refusal {
	r.lacks(c)
	no := c.refuse(QueueFull, "", detail)
	no.RetryAfter = r.retryAfter(c)
	return no
}

// refuseCrowded refuses a waiter whose place went to another tenant.
func (r *Router) refuseCrowded(c *claim) *Refusal {
	return r.refuseFull(c, fmt.Sprintf("the queue is full, limit %s.max_waiting=%d, and this tenant has more than its share of the places",
		c.queue.path, c.queue.limits.MaxWaiting))
}

// refuseExpired refuses a waiter whose deadline has come.
func (r *Router) refuseExpired(c *claim) *Refusal {
	r.lacks(c)
	allowed := c.deadline.Sub(c.arrival)
	no := c.refuse(WaitExpired, "", fmt.Sprintf("no replica had room within %s, limit %s", c.waited.Round(time.Millisecond), c.waitLimit(allowed)))
	no.RetryAfter = r.retryAfter(c)
	return no
}

// refuseFailed ends a claim with the outcome of its failed attempt. Where the
// replica may have run it, the client is not asked to try again.
func (r *Router) refuseFailed(c *claim, o Outcome, why string) *Refusal {
	no := c.refuse(o, "", fmt.Sprintf("the attempt ended as %s and was not tried on another replica: %s", o, why))
	if !o.MayHaveRun() && c.queue != nil && o.Status() >= 500 {
		no.RetryAfter = r.retryAfter(c)
	}
	return no
}

// refuseHopeless refuses the waiters that no replica could take any more, in
// order of arrival.
func (r *Router) refuseHopeless(out []Decision) []Decision {
	var hopeless []*waiter
	for _, q := range r.waiting {
		for _, l := range q.lanes {
			if r.refuseNever(&l.head.claim) == nil {
				continue
			}
			for w := l.head; w != nil; w = w.next {
				hopeless = append(hopeless, w)
			}
		}
	}
	slices.SortFunc(hopeless, func(a, b *waiter) int { return cmp.Compare(a.ticket, b.ticket) })
	for _, w := range hopeless {
		r.leave(w)
		w.waited += r.now.Sub(w.since)
		out = append(out, r.refuseNever(&w.claim))
	}
	return out
}

// retryAfter is when a request of a claim's queue, sent again, would probably
// be served: the time that those who wait and it itself take to leave.
func (r *Router) retryAfter(c *claim) time.Duration {
	return whole(float64(c.before()+1) * c.queue.each(r.now) * jitter(c.ticket))
}

// jitter spreads the return of clients refused together over ±20 %. It comes
// from the ticket, so that the same events give the same answer.
func jitter(t Ticket) float64 {
	mixed := uint64(t) * 0x9e3779b97f4a7c15 >> 54 // Fibonacci hashing: neighbours land far apart
	return 0.8 + 0.4*float64(mixed)/1023
}

// whole is seconds as a Retry-After: rounded up, within its bounds.
func whole(seconds float64) time.Duration {
	d := time.Duration(math.Ceil(min(seconds, maxRetryAfter.Seconds()))) * time.Second
	return max(d, minRetryAfter)
}

func (c *claim) poolNames() string {
	names := make([]string, 0, len(c.order()))
	for _, p := range c.order() {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}
