package router

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sluice/config"
)

// SetFleet tells which replicas there are: the whole list. One that is missing
// gets nothing new and is forgotten when its last lease ends; one that comes
// back, or moves to another pool, keeps what it holds. Of two entries with one
// address the later counts. One that gets work again after it got none is taken
// to be a new process. Waiters stay while any replica of their pools is
// listed, in whatever state: it may come back before their deadline.
func (r *Router) SetFleet(now time.Time, fleet []Replica) []Decision {
	r.now = now
	r.takeFleet(fleet)
	return r.settle(r.refuseHopeless(nil))
}

func (r *Router) takeFleet(fleet []Replica) {
	named := map[string]Replica{}
	for _, f := range fleet {
		named[f.Address] = f
	}
	for address, rep := range r.replicas {
		if _, ok := named[address]; !ok {
			rep.listed = false
		}
	}
	for _, f := range named {
		r.list(f)
	}
	r.letAllGo() // before any is forgotten: a waiter that held room there could hold none elsewhere
	for _, rep := range r.replicas {
		r.forgetIfGone(rep)
	}
	r.fillPools()
}

// list takes in one entry of the fleet.
func (r *Router) list(f Replica) {
	rep := r.replicas[f.Address]
	if rep == nil {
		rep = &replica{address: f.Address, pace: newPace()}
		rep.busyEnds.owner = rep
		r.replicas[f.Address] = rep
	}
	r.enter(rep, r.poolOf(f.Pool), f.State)
}

// forgetIfGone drops a replica that has left the fleet and holds nothing.
func (r *Router) forgetIfGone(rep *replica) {
	if rep.listed || rep.leases > 0 {
		return
	}
	r.timers.stop(&rep.busyEnds)
	delete(r.replicas, rep.address)
}

// fillPools sorts the listed replicas into their pools.
func (r *Router) fillPools() {
	for _, p := range r.pools {
		p.replicas = p.replicas[:0]
	}
	for _, rep := range r.replicas {
		if rep.listed {
			rep.pool.replicas = append(rep.pool.replicas, rep)
		}
	}
	for _, p := range r.pools {
		slices.SortFunc(p.replicas, func(a, b *replica) int { return cmp.Compare(a.address, b.address) })
	}
}

// ApplyConfig takes in a new policy, all at once. Caps hold from now on: what
// runs above a lowered cap runs on, nothing new is added until it is below.
// Waiters keep their places and deadlines. A waiter whose route, or whose last
// pool, is gone is refused with NoReplica, and one that no longer fits any cap
// or context as a new request would be. What was learned stays with its name.
func (r *Router) ApplyConfig(now time.Time, cfg *config.Config) []Decision {
	r.now = now
	out := r.takeConfig(cfg)
	return r.settle(r.refuseHopeless(out))
}

// Reload is ApplyConfig and SetFleet in one event. One after the other would
// refuse waiters in between: those of a pool whose replicas come with the same
// configuration, or have just moved to another.
func (r *Router) Reload(now time.Time, cfg *config.Config, fleet []Replica) []Decision {
	r.now = now
	r.takeFleet(fleet)
	out := r.takeConfig(cfg) // after it: pools that nobody is in any more are dropped
	return r.settle(r.refuseHopeless(out))
}

func (r *Router) takeConfig(cfg *config.Config) []Decision {
	r.cfg = cfg
	for name := range cfg.Pools {
		r.poolOf(name)
	}
	for name, p := range r.pools {
		p.cfg = cfg.Pools[name]
	}
	out := r.dropRoutes(nil)
	r.configureRoutes()
	r.dropPools()
	r.findPromises()
	r.letAllGo()
	for _, q := range r.waiting {
		for _, w := range q.all() {
			r.watchLateness(w)
		}
		q.relane()
	}
	for _, rt := range r.sortedRoutes() {
		for _, q := range rt.queues() {
			q.shares.forget(cfg)
		}
	}
	return out
}

// dropRoutes forgets the routes that the configuration no longer has.
func (r *Router) dropRoutes(out []Decision) []Decision {
	gone := func(rt *route) bool {
		_, named := r.cfg.Routes[rt.name]
		_, pinned := r.cfg.Pools[rt.pin]
		return !named && !pinned
	}
	for _, rt := range r.sortedRoutes() {
		if gone(rt) {
			out = r.refuseAll(rt, out)
			delete(r.routes, rt.name)
			delete(r.pins, rt.pin)
		}
	}
	return out
}

// refuseAll empties the queues of a route that is gone.
func (r *Router) refuseAll(rt *route, out []Decision) []Decision {
	for _, q := range rt.queues() {
		for _, w := range q.all() {
			r.leave(w)
			w.waited += r.now.Sub(w.since)
			out = append(out, w.refuse(NoReplica, "", "the configuration no longer has "+q.path))
		}
	}
	return out
}

// configureRoutes gives every route and pin its policy.
func (r *Router) configureRoutes() {
	for name, cfg := range r.cfg.Routes {
		if r.routes[name] == nil {
			r.routes[name] = newRoute(name, "")
		}
		r.configure(r.routes[name], cfg)
	}
	for name := range r.cfg.Pools {
		if r.pins[name] == nil {
			r.pins[name] = newRoute("", name)
		}
		r.configurePin(r.pins[name])
	}
}

// dropPools forgets pools that are neither configured nor have replicas.
func (r *Router) dropPools() {
	used := map[*pool]bool{}
	for _, rep := range r.replicas {
		used[rep.pool] = true
	}
	for _, rt := range r.sortedRoutes() {
		for _, p := range rt.all {
			used[p] = true
		}
	}
	maps.DeleteFunc(r.pools, func(name string, p *pool) bool {
		_, configured := r.cfg.Pools[name]
		return !configured && !used[p]
	})
}

// findPromises tells each pool what is promised to the requests that it serves.
func (r *Router) findPromises() {
	for _, p := range r.pools {
		p.ttft, p.tpot = 0, 0
	}
	for _, rt := range r.sortedRoutes() {
		if rt.pin != "" {
			continue
		}
		for _, q := range rt.queues() {
			for _, p := range q.order {
				p.ttft, p.tpot = least(p.ttft, q.slo.TTFT), least(p.tpot, q.slo.TPOT)
			}
		}
	}
}

// least is the lesser of two promises, of which 0 is none.
func least(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
