package router

import "time"

// First says that a request's first token has come: its prompt is computed. Of an
// answer that isn't streamed nobody sees it, and First isn't called. Of a lease that
// has been given back it tells nothing any more.
func (r *Router) First(now time.Time, id Lease) []Decision {
	r.now = now
	if l := r.leases[id]; l != nil && l.closedAt.IsZero() && l.seqs > 0 && l.first.at.IsZero() {
		r.sawFirst(l, now.Sub(l.since))
	}
	return r.settle(nil)
}

func (r *Router) sawFirst(l *lease, took time.Duration) {
	r.prove(l)
	if l.life != l.replica.life {
		r.bookFirst(l, 0) // it tells of a process that is gone
		return
	}
	l.replica.pace.alive = r.now
	l.timed(r.now, took)
	r.bookFirst(l, took)
	l.replica.memory.learn(&l.Prefixes)
}

// bookFirst books that a prompt is computed. Took is the time since the grant; 0: not
// known.
func (r *Router) bookFirst(l *lease, took time.Duration) {
	p := &l.replica.pace
	p.computed(r.now, l.fresh, l.seqs, l.ahead, took)
	if l.class == Decode {
		p.flying -= l.fresh
	}
	l.first = p.mark()
}

// learnPace takes in a whole answer, just before its lease ends.
func (r *Router) learnPace(l *lease, tokens int) {
	if l.life != l.replica.life {
		return
	}
	p := &l.replica.pace
	if l.class == Prefill && float64(tokens) <= 2*l.each()+shortBound { // one much longer than foreseen isn't a short answer
		p.answered(l.fresh, float64(tokens), l.flying-l.fresh, r.now.Sub(l.since).Seconds())
	}
	if l.first.at.IsZero() || l.first.presumed {
		r.learnPresumed(l, tokens)
		return
	}
	p.learn(r.now, l.first, tokens)
}

// endPace books the end of a lease.
func (r *Router) endPace(l *lease) {
	if l.seqs == 0 {
		return
	}
	p := &l.replica.pace
	if l.life == l.replica.life {
		p.alive = r.now
	}
	l.replica.kv.held -= l.needs()
	if l.class == Prefill || l.first.at.IsZero() {
		l.timed(r.now, r.now.Sub(l.since))
		p.flying -= l.fresh
	}
	if l.first.at.IsZero() {
		p.advance(r.now)
		p.pending -= l.fresh
		return
	}
	p.ended(r.now, l.seqs)
}
