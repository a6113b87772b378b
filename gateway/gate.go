package gateway

import (
	"context"
	"sync"
	"time"

	"sluice/config"
	"sluice/router"
)

// Gate is the lock round the router: it lets requests wait for their turn and
// wakes them, and it calls the router back when time alone changes something.
type Gate struct {
	mu      sync.Mutex // guards everything below
	router  *router.Router
	waiters map[router.Ticket]chan router.Decision
	timer   *time.Timer // fires at wake
	wake    time.Time   // zero: not armed
}

// NewGate puts a gate before a new router. Close stops its timer.
func NewGate(cfg *config.Config) *Gate {
	g := &Gate{
		router:  router.New(time.Now(), cfg),
		waiters: make(map[router.Ticket]chan router.Decision),
	}
	g.timer = time.AfterFunc(time.Hour, g.tick)
	return g
}

// Close stops the gate's timer. Requests that still wait are ended by their
// context.
func (g *Gate) Close() { g.timer.Stop() }

// Acquire takes slots for a request, waiting for them if it must. Whoever gets
// the grant gives its lease back with Release, Elsewhere or Continue. The error is a
// *router.Refusal, or the cause of ctx when that ended first.
func (g *Gate) Acquire(ctx context.Context, req router.Request) (router.Grant, error) {
	d, turn := g.decide(func(now time.Time) (router.Decision, []router.Decision) {
		return g.router.Offer(now, req), nil
	})
	return g.await(ctx, d, turn)
}

// AcquireExplained is Acquire, and tells in rec why it was decided so when the
// request came.
func (g *Gate) AcquireExplained(ctx context.Context, req router.Request, rec *router.Record) (router.Grant, error) {
	d, turn := g.decide(func(now time.Time) (router.Decision, []router.Decision) {
		*rec = g.router.Explain(now, req)
		return g.router.Offer(now, req), nil
	})
	return g.await(ctx, d, turn)
}

// Elsewhere gives a lease back with the outcome of a failed attempt and takes
// slots on another replica, if the outcome and the retry budget allow; else the
// error is a *router.Refusal with that outcome.
func (g *Gate) Elsewhere(ctx context.Context, l router.Lease, o router.Outcome) (router.Grant, error) {
	d, turn := g.decide(func(now time.Time) (router.Decision, []router.Decision) {
		return g.router.Elsewhere(now, l, o)
	})
	return g.await(ctx, d, turn)
}

// Continue gives the lease of a broken answer back and takes slots for the rest of
// it, where the client has so many tokens. The error is as of Elsewhere.
func (g *Gate) Continue(ctx context.Context, l router.Lease, o router.Outcome, delivered int) (router.Grant, error) {
	d, turn := g.decide(func(now time.Time) (router.Decision, []router.Decision) {
		return g.router.Continue(now, l, o, delivered)
	})
	return g.await(ctx, d, turn)
}

// decide asks the router about a request and, if that must wait, gives it a
// channel on which its turn will come. A bug that panics in the router leaves the
// lock free: one request ends, not all.
func (g *Gate) decide(ask func(now time.Time) (router.Decision, []router.Decision)) (d router.Decision, turn chan router.Decision) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d, freed := ask(time.Now())
	g.deliver(freed)
	if queued, waits := d.(router.Queued); waits {
		turn = make(chan router.Decision, 1)
		g.waiters[queued.Ticket] = turn
	}
	g.arm()
	return d, turn
}

// await is the end of the wait, if there is one.
func (g *Gate) await(ctx context.Context, d router.Decision, turn chan router.Decision) (router.Grant, error) {
	queued, waits := d.(router.Queued)
	if !waits {
		return settled(d)
	}
	select {
	case d = <-turn:
		return settled(d)
	case <-ctx.Done():
		g.leave(queued.Ticket, turn)
		return router.Grant{}, context.Cause(ctx)
	}
}

func settled(d router.Decision) (router.Grant, error) {
	switch d := d.(type) {
	case router.Grant:
		return d, nil
	case *router.Refusal:
		return router.Grant{}, d
	}
	panic("BUG: a waiter was woken without a decision")
}

// leave takes a request out of the queue whose client has left. Its turn may
// have come in the same moment: then the grant goes back unused.
func (g *Gate) leave(t router.Ticket, turn chan router.Decision) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, waits := g.waiters[t]; waits {
		delete(g.waiters, t)
		g.deliver(g.router.Cancel(time.Now(), t))
		g.arm()
		return
	}
	if grant, ok := (<-turn).(router.Grant); ok {
		g.deliver(g.router.Release(time.Now(), grant.Lease, router.ClientGoneQueued))
		g.arm()
	}
}

// Release gives a lease back.
func (g *Gate) Release(l router.Lease, o router.Outcome) {
	g.event(func(now time.Time) []router.Decision { return g.router.Release(now, l, o) })
}

// First tells the router that a request's first token has come.
func (g *Gate) First(l router.Lease) {
	g.event(func(now time.Time) []router.Decision { return g.router.First(now, l) })
}

// Learn tells the router what a finished request teaches.
func (g *Gate) Learn(a router.Answer) {
	g.event(func(now time.Time) []router.Decision { g.router.Learn(now, a); return nil })
}

// Observe tells the router what a replica's metrics said, and returns what that brought
// to light.
func (g *Gate) Observe(address string, l router.Load) (found router.Finding) {
	g.event(func(now time.Time) []router.Decision {
		out := g.router.Observe(now, address, l)
		found = g.router.Found(address)
		return out
	})
	return found
}

// SetFleet tells the router which replicas there are and what they may get.
func (g *Gate) SetFleet(fleet []router.Replica) {
	g.event(func(now time.Time) []router.Decision { return g.router.SetFleet(now, fleet) })
}

// Reload puts a new policy and its replicas in force; leases and waiters stay.
func (g *Gate) Reload(cfg *config.Config, fleet []router.Replica) {
	g.event(func(now time.Time) []router.Decision { return g.router.Reload(now, cfg, fleet) })
}

// State is a snapshot of the router.
func (g *Gate) State() router.State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.router.State()
}

func (g *Gate) tick() {
	g.event(func(now time.Time) []router.Decision {
		g.wake = time.Time{} // the timer has fired: arm it anew, even for the same moment
		return g.router.Tick(now)
	})
}

func (g *Gate) event(happen func(time.Time) []router.Decision) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deliver(happen(time.Now()))
	g.arm()
}

// deliver wakes the waiters whose turn has come. The channels have room for
// their one decision, so nothing blocks under the lock.
func (g *Gate) deliver(decisions []router.Decision) {
	for _, d := range decisions {
		t := ticketOf(d)
		turn, waits := g.waiters[t]
		if !waits {
			panic("BUG: the router decided for a request that does not wait")
		}
		delete(g.waiters, t)
		turn <- d
	}
}

func ticketOf(d router.Decision) router.Ticket {
	switch d := d.(type) {
	case router.Grant:
		return d.Ticket
	case *router.Refusal:
		return d.Ticket
	}
	panic("BUG: the router freed a request without a decision")
}

// arm sets the timer to the next moment at which time alone changes something.
func (g *Gate) arm() {
	next := g.router.Next()
	if next.Equal(g.wake) {
		return
	}
	g.wake = next
	if next.IsZero() {
		g.timer.Stop()
		return
	}
	g.timer.Reset(time.Until(next))
}
