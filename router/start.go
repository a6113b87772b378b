package router

import "time"

// slowStart is the sequences that a replica may hold before its process has
// answered anything. Each answer that begins doubles it: a replica that works is
// filled within a few first tokens; one that compiles its programs first, or
// never answers, has only so many waiting on it.
const slowStart = 8

// proven is the answers after which a process counts as one that works.
const proven = 8

// enter takes in a replica's pool and state. Where it gets work again after it
// got none, it is taken to be a new process: nothing that was learned of the
// one before holds for it. It starts slowly, unless nothing has been answered yet
// anywhere: then it is the router that is new.
func (r *Router) enter(rep *replica, p *pool, s ReplicaState) {
	worked := rep.works()
	rep.pool, rep.state, rep.listed = p, s, true
	if rep.works() && !worked {
		rep.life++
		rep.own, rep.begun = 0, 0
		if !r.answered {
			rep.begun = proven
		}
		rep.pace.forget(r.now)
		rep.memory, rep.kv.capacity, rep.slow = memory{}, mean{}, map[string]time.Time{}
		rep.readings = readings{most: rep.held()}
	}
}

// forget what was learned, but not what is held: those sums go on.
func (p *pace) forget(now time.Time) {
	fresh := newPace()
	fresh.at, fresh.decoding, fresh.seconds, fresh.prefilled = p.at, p.decoding, p.seconds, p.prefilled
	fresh.pending, fresh.flying, fresh.inflow = p.pending, p.flying, p.inflow
	fresh.alive = now
	*p = fresh
}

// works tells whether its state lets it have work.
func (rep *replica) works() bool { return rep.listed && (rep.state == Ready || rep.state == Trial) }

// slowed is the sequences up to which a young process gets new work; below its cap
// until enough of its answers have begun. An idle one takes a request of any size:
// what needs more than slowStart could never begin else.
func (rep *replica) slowed() int {
	limit := rep.capNow()
	if rep.own > 0 && rep.begun < proven {
		limit = min(limit, rep.held()-rep.own+slowStart<<rep.begun)
	}
	return limit
}

// starting tells whether nothing but its youth keeps a claim from it.
func (rep *replica) starting(c *claim, w *waiter) bool {
	if rep.begun >= proven {
		return false
	}
	grown := *rep
	grown.begun = proven
	return grown.room(c.class, w) >= c.seqs
}

// prove books that an answer of this process has begun.
func (r *Router) prove(l *lease) {
	r.answered = true
	if rep := l.replica; l.life == rep.life && rep.begun < proven {
		rep.begun++
	}
}
