package router

import (
	"fmt"
	"time"

	"sluice/config"
)

// Elsewhere gives a lease back after a failed attempt of which nothing has been
// sent to the client, and tries another replica, once. The decision is a Grant
// on a replica that hasn't been tried, or Queued: at its place by its arrival,
// with its old deadline, even where the queue is full (it was let in once). Or
// a *Refusal with the failure's outcome, if the outcome may not be tried again,
// the retry budget is used up, no other replica is up, or nobody may wait. The
// list is what the lease's slots set free for others.
func (r *Router) Elsewhere(now time.Time, id Lease, o Outcome) (Decision, []Decision) {
	r.now = now
	l := r.active(id)
	c := l.claim
	r.giveBack(l, o)
	why := r.whyNot(&c, l.replica, o)
	if why != "" {
		return r.refuseFailed(&c, o, why), r.settle(nil)
	}
	r.budget.retry(now)
	c.tried, c.failure = l.replica.address, o
	r.expect(&c) // what that replica had computed before, another may not have
	if c.class == Other {
		rep, choice := r.pick(&c, nil)
		return r.grant(&c, rep, choice), r.settle(nil)
	}
	return r.again(&c)
}

// whyNot says why a failed claim can't be tried elsewhere; "": it can.
func (r *Router) whyNot(c *claim, failed *replica, o Outcome) string {
	cfg := &r.cfg.Retry
	switch {
	case c.tried != "":
		return "it was the second attempt"
	case !o.MayRetry(cfg.AfterDispatch) && o.MayRetry(true):
		return "the replica may have run it (retry.after_dispatch=false)"
	case !o.MayRetry(cfg.AfterDispatch):
		return "another replica would not do better"
	}
	return r.whyNowhere(c, failed)
}

// whyNowhere says why a claim can't move to another replica at all; "": it can.
func (r *Router) whyNowhere(c *claim, failed *replica) string {
	cfg := &r.cfg.Retry
	switch {
	case r.routeOf(c.Route, c.Pool) != c.route:
		return "its route is no longer configured"
	case !r.otherUp(c, failed):
		return "no other replica is up"
	case r.hopelessElsewhere(c, failed):
		return "no other replica could serve it within its SLO any more" + c.missSetting()
	case r.budget.left(r.now, cfg) < 1:
		return fmt.Sprintf("too many retries lately (retry.budget=%g, retry.budget_min=%d)", cfg.Budget, cfg.BudgetMin)
	}
	return ""
}

// otherUp tells whether a replica other than the failed one could serve a claim.
func (r *Router) otherUp(c *claim, failed *replica) bool {
	again := *c
	again.tried = failed.address
	if c.class == Other {
		rep, _ := r.pick(&again, nil)
		return rep != nil
	}
	for _, p := range c.order() {
		for _, rep := range p.replicas {
			if c.fits(p) && rep.couldHold(&again) {
				return true
			}
		}
	}
	return false
}

// again lets a claim compete for the freed room by its arrival, and wait if
// that gives it nothing and waiting is still allowed.
func (r *Router) again(c *claim) (Decision, []Decision) {
	w := r.enqueue(c)
	freed := r.settle(nil)
	for i, d := range freed {
		if g, ok := d.(Grant); ok && g.Ticket == c.ticket {
			return g, append(freed[:i], freed[i+1:]...)
		}
	}
	if w.deadline.IsZero() {
		w.deadline = w.arrival.Add(w.queue.maxWait(&w.Request))
	}
	if w.queue.limits.MaxWaiting == 0 || !w.deadline.After(r.now) {
		r.leave(w)
		freed = r.settle(freed) // others may have given way to it
		return r.refuseFailed(c, c.failure, "no other replica has room, and it may not wait"), freed
	}
	r.timers.start(&w.timer, w.deadline)
	return Queued{Ticket: w.ticket, Class: w.class, Why: w.why, Deadline: w.deadline, Ahead: w.queue.ahead(w)}, freed
}

// budgetWindow is what "recent" means for the retry budget: between one and two
// windows.
const budgetWindow = 10 * time.Second

// budget bounds retries to a share of the recent requests, so that a sick fleet
// isn't made sicker by the traffic of trying again. Two windows of counts do:
// no clock, no decay to compute, and the same events give the same answer.
type budget struct {
	start            time.Time // of the present window
	now, before      int       // requests granted, in it and in the one before
	retries, earlier int       // retries, likewise
}

// request counts a request's first grant.
func (b *budget) request(now time.Time) {
	b.roll(now)
	b.now++
}

// retry counts a retry.
func (b *budget) retry(now time.Time) {
	b.roll(now)
	b.retries++
}

// left is how many retries the budget still allows.
func (b *budget) left(now time.Time, cfg *config.Retry) int {
	b.roll(now)
	allowed := int(cfg.Budget*float64(b.now+b.before)) + cfg.BudgetMin
	return max(allowed-b.retries-b.earlier, 0)
}

func (b *budget) roll(now time.Time) {
	switch passed := now.Sub(b.start); {
	case passed < budgetWindow:
	case passed < 2*budgetWindow:
		*b = budget{start: b.start.Add(budgetWindow), before: b.now, earlier: b.retries}
	default:
		*b = budget{start: now}
	}
}
