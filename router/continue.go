package router

import "time"

// Continue is Elsewhere for an answer of which the client has a part already, so
// many tokens: it gives the lease back and takes a slot on another replica of the
// same model, for the rest. What is asked of that replica is a new request, with a
// longer prompt and less to say: it has the time of one that arrives now, but its
// old place in the queue, before all that came later.
func (r *Router) Continue(now time.Time, id Lease, o Outcome, delivered int) (Decision, []Decision) {
	r.now = now
	l := r.active(id)
	c := l.claim
	r.giveBack(l, o)
	c.resume(now, l.speaker, delivered)
	if why := r.whyNotOn(&c, l.replica, o); why != "" {
		return r.refuseFailed(&c, o, why), r.settle(nil)
	}
	r.budget.retry(now)
	c.tried, c.failure = l.replica.address, o
	r.expect(&c)
	return r.again(&c)
}

// resume makes of a claim the one for the rest of its answer.
func (c *claim) resume(now time.Time, model string, delivered int) {
	c.model, c.arrival, c.deadline = model, now, time.Time{}
	c.TokensIn += delivered
	c.LongestIn += delivered
	c.LongestAtMost = max(c.LongestAtMost, c.LongestIn-delivered) + delivered
	if c.OutBound >= 0 {
		c.OutBound = max(c.OutBound-delivered, 1)
	}
	c.length = c.length.after(delivered)
}

// after is what is left to come of a sequence of which so many tokens are there: at
// least one.
func (f forecast) after(tokens int) forecast {
	f.Mean = max(f.Mean-float64(tokens), 1)
	f.P50, f.P90 = max(f.P50-tokens, 1), max(f.P90-tokens, 1)
	return f
}

// whyNotOn says why nobody may go on with a broken answer; "": somebody may.
func (r *Router) whyNotOn(c *claim, failed *replica, o Outcome) string {
	switch {
	case c.tried != "":
		return "it was the second attempt"
	case !o.MayContinue() || c.queue == nil:
		return "nobody can go on from there"
	}
	return r.whyNowhere(c, failed)
}
