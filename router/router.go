package router

import (
	"fmt"
	"time"

	"sluice/config"
)

// Router decides. It is not safe for concurrent use: callers hold one lock.
type Router struct {
	cfg      *config.Config
	now      time.Time // of the last event
	pools    map[string]*pool
	replicas map[string]*replica // by address; gone ones too, while leases are on them
	routes   map[string]*route   // by name
	pins     map[string]*route   // by pool: the implicit routes
	waiters  map[Ticket]*waiter
	leases   map[Lease]*lease // active and closing
	waiting  []*queue         // the queues that somebody waits in
	lengths  *lengths
	kinds    map[lengthKey]Class // as last decided by ratio
	talks    talks
	foreseen coverage
	timers   timers
	review   timer // to look at the waiters again
	budget   budget
	answered bool   // anything by anyone yet
	tickets  Ticket // last given
	leaseIDs uint64 // last given
	uses     uint64 // grants so far: the clock of least recently used
}

// New returns a Router with the policy of cfg and no replicas: SetFleet brings
// them. cfg is read, never changed, and has passed Validate.
func New(now time.Time, cfg *config.Config) *Router {
	r := &Router{
		pools:    map[string]*pool{},
		replicas: map[string]*replica{},
		routes:   map[string]*route{},
		pins:     map[string]*route{},
		waiters:  map[Ticket]*waiter{},
		leases:   map[Lease]*lease{},
		lengths:  newLengths(),
		kinds:    map[lengthKey]Class{},
	}
	r.ApplyConfig(now, cfg)
	return r
}

// Offer asks for a place. The answer is a Grant, Queued or a *Refusal; in each
// case the request has a ticket from now on. An offer never overtakes a waiter
// that fits, because after every event no waiter does.
func (r *Router) Offer(now time.Time, req Request) Decision {
	r.now = now
	r.tickets++
	c := claim{Request: req, ticket: r.tickets, arrival: now}
	no := r.judge(&c)
	r.remember(&c)
	if no != nil {
		return no
	}
	rep, choice, no := r.place(&c)
	c.count()
	switch {
	case rep != nil:
		return r.grant(&c, rep, choice)
	case no != nil:
		return no
	}
	return r.wait(&c)
}

// place finds the replica for a claim that has just come, and the position of its
// pool; or why it may not even wait. It changes nothing.
func (r *Router) place(c *claim) (*replica, int, *Refusal) {
	rep, choice := r.pick(c, nil)
	c.behind = rep != nil && r.overtakes(c)
	if rep != nil && !c.behind {
		return rep, choice, nil
	}
	no := r.refuseWait(c)
	if no != nil && rep != nil {
		return rep, choice, nil
	}
	return nil, 0, no
}

// judge fills in what the router decides about a claim, and refuses one that
// can't be served now or ever.
func (r *Router) judge(c *claim) *Refusal {
	rt := r.routeOf(c.Route, c.Pool)
	if rt == nil {
		return c.refuse(NoReplica, "", fmt.Sprintf("no route or pool is called %q any more", c.Route+c.Pool))
	}
	r.foresee(c, rt)
	c.earlier = r.earlier(c)
	c.class, c.why = r.classify(c)
	c.queue = rt.queueOf(c.class)
	if c.queue != nil && r.priorityOf(&c.Request) == Batch {
		c.queue = c.queue.lower
	}
	r.expect(c)
	r.join(c)
	if no := r.refuseNever(c); no != nil {
		return no
	}
	if no := r.refuseDown(c); no != nil {
		return no
	}
	return r.refuseMiss(c)
}

// wait puts a claim into its queue, if need be in the place of another.
func (r *Router) wait(c *claim) Queued {
	ahead := c.before()
	if q := c.queue; q.full(c, q.waiting, q.bytes) != "" {
		for _, w := range q.crowding(c) {
			r.crowdOut(w)
		}
	}
	if c.behind {
		r.reviewAt(r.now)
	}
	c.deadline = c.arrival.Add(c.queue.maxWait(&c.Request))
	w := r.enqueue(c)
	r.timers.start(&w.timer, c.deadline)
	r.lookAgain()
	return Queued{Ticket: c.ticket, Class: c.class, Why: c.why, Deadline: c.deadline, Ahead: ahead}
}

// Release gives a lease back with the outcome of its request, and returns what
// that set free. Slots of an outcome that leaves work behind stay closing until
// the replica's metrics show them gone (Observe) or
// timeouts.release_after_cancel has passed. It panics on a lease that isn't
// active: a slot released twice would let a replica hold more than its cap.
func (r *Router) Release(now time.Time, id Lease, o Outcome) []Decision {
	r.now = now
	r.giveBack(r.active(id), o)
	return r.settle(nil)
}

// Cancel takes a waiting request out of its queue: its client has left. For a
// ticket that doesn't wait it does nothing; it may just have been granted, and
// then whoever receives that Grant releases it.
func (r *Router) Cancel(now time.Time, t Ticket) []Decision {
	r.now = now
	if w := r.waiters[t]; w != nil {
		r.leave(w)
	}
	return r.settle(nil)
}

// Observe takes in what a replica's metrics said. Closing slots end when a
// reading taken after they were cancelled shows no more sequences than the
// others that we hold there. What else it brings to light Found tells. An unknown
// address is ignored: it has just gone.
func (r *Router) Observe(now time.Time, address string, load Load) []Decision {
	r.now = now
	if rep := r.replicas[address]; rep != nil {
		before := rep.load
		rep.load = load
		rep.kv.read(load)
		r.reads(rep, before, load)
		r.endClosings(rep, before, load)
	}
	return r.settle(nil)
}

// Tick does what is due: refuses waiters past their deadline, ends closing leases
// and the pause of busy replicas, and looks at the waiters again: time alone may have
// made room for them.
func (r *Router) Tick(now time.Time) []Decision {
	r.now = now
	return r.settle(nil)
}

// Next is when Tick is needed at the latest; zero: not before another event.
func (r *Router) Next() time.Time { return r.timers.next() }

// settle ends every event but Offer and Learn: first what time has brought, then grants
// until no waiter fits.
func (r *Router) settle(out []Decision) []Decision {
	for t := r.timers.due(r.now); t != nil; t = r.timers.due(r.now) {
		out = t.owner.expire(r, out)
	}
	for w, rep, choice := r.next(); w != nil; w, rep, choice = r.next() {
		out = append(out, r.serve(w, rep, choice))
	}
	r.lookAgain()
	return out
}

// serve grants a waiter its slots.
func (r *Router) serve(w *waiter, rep *replica, choice int) Grant {
	w.queue.drain.dispatched(r.now)
	r.leave(w)
	w.waited += r.now.Sub(w.since)
	return r.grant(&w.claim, rep, choice)
}
