package router

import (
	"time"

	"sluice/config"
)

// pool is the replicas that serve one model on one TPU shape. A pool that the
// configuration doesn't have (any more) keeps its replicas with a cap of 0.
type pool struct {
	name     string
	cfg      config.Pool
	replicas []*replica    // listed by the fleet, sorted by address
	waited   time.Time     // when somebody of priority Interactive last waited for it, or was refused; zero: never
	ttft     time.Duration // the least time to a first token promised to requests that may be served here; 0: none
	tpot     time.Duration // the least time per token promised to answers that may be served here; 0: none
	usual    usual
}

// poolOf finds a pool, or starts one without a configuration.
func (r *Router) poolOf(name string) *pool {
	p := r.pools[name]
	if p == nil {
		p = &pool{name: name}
		r.pools[name] = p
	}
	return p
}

// capOf is the most sequences of a class that a replica of the pool may hold.
func (p *pool) capOf(c Class) int {
	limit := 0
	switch c {
	case Prefill:
		limit = p.cfg.Cap.Prefill
	case Decode:
		limit = p.cfg.Cap.Decode
	}
	if limit == 0 {
		return p.cfg.Cap.Total
	}
	return min(limit, p.cfg.Cap.Total)
}

// up tells whether any replica may get work.
func (p *pool) up() bool {
	for _, rep := range p.replicas {
		if rep.capNow() > 0 {
			return true
		}
	}
	return false
}

// least is the willing replica with the least work, the claim's included, that has room
// for a claim; among equals the least recently used, then the first by address.
// Nil: none. w is the claim's waiter, if it waits: room held for it is its own.
func (r *Router) least(p *pool, c *claim, w *waiter, home bool) *replica {
	var best *replica
	known := 0.0 // tokens of the prompt that the best has computed before
	for _, rep := range p.replicas {
		found := r.consider(rep, c, w, home)
		c.note(rep, found)
		if found.Verdict != Willing {
			continue
		}
		if best == nil || rep.before(best, found.Known-known) {
			best, known = rep, found.Known
		}
	}
	return best
}

// consider judges a replica for a claim: whether it may have it at all, has room,
// and can serve it in time.
func (r *Router) consider(rep *replica, c *claim, w *waiter, home bool) Prospect {
	switch {
	case rep.address == c.tried:
		return Prospect{Verdict: Tried}
	case rep.room(c.class, w) >= c.seqs:
		return r.outlook(rep, c, home)
	case rep.state != Ready && rep.state != Trial:
		return Prospect{Verdict: NotUp}
	case rep.busy:
		return Prospect{Verdict: Paused}
	case rep.starting(c, w):
		return Prospect{Verdict: Starting}
	}
	return Prospect{Verdict: Full}
}

// leastReady is least for class Other, which takes no slot: any ready replica
// will do, busy or full.
func (p *pool) leastReady(c *claim) *replica {
	var best *replica
	for _, rep := range p.replicas {
		found := rep.considerOther(c)
		c.note(rep, Prospect{Verdict: found})
		if found != Willing {
			continue
		}
		if best == nil || rep.before(best, 0) {
			best = rep
		}
	}
	return best
}

// considerOther is consider for class Other.
func (rep *replica) considerOther(c *claim) Verdict {
	switch {
	case rep.address == c.tried:
		return Tried
	case rep.state != Ready:
		return NotUp
	}
	return Willing
}
