package router

import (
	"fmt"
	"slices"
	"time"
)

// lease is the slots that a claim holds on a replica. Active: its request runs.
// Closing: the request was cancelled or broke off, and the replica isn't yet
// known to have let go of it; the slots still count.
type lease struct {
	claim
	id       Lease
	replica  *replica
	since    time.Time // granted
	closedAt time.Time // zero while active
	ends     timer     // of closing, at the latest
	ahead    float64   // prompt tokens that were to be computed before its first token, its own included
	first    mark      // its first token; zero before it
	flying   float64   // prompt tokens in flight when it was granted, its own included
	life     int       // of the replica
	presumed presumption
	fresh    float64 // its prompt tokens that the replica has to compute
	speaker  string  // the model that the replica served when it was granted
}

// take starts a lease.
func (r *Router) take(c *claim, rep *replica) *lease {
	r.leaseIDs++
	r.uses++
	l := &lease{claim: *c, id: Lease{r.leaseIDs}, replica: rep, since: r.now, life: rep.life, speaker: rep.pool.cfg.Model}
	r.leases[l.id] = l
	rep.active.add(c.class, c.seqs)
	rep.readings.holds(rep.held())
	rep.own += c.seqs
	rep.took(c, r.now)
	if l.fresh = rep.fresh(c); c.seqs > 0 {
		l.work -= int64(float64(c.TokensIn) - l.fresh)
	}
	rep.work += l.work
	rep.leases++
	rep.granted++
	rep.used = r.uses
	if c.seqs > 0 {
		rep.pace.began(r.now, l.fresh)
		l.ahead, l.flying = rep.pace.pending, rep.pace.flying
		rep.kv.held += c.needs()
		if c.class == Prefill {
			rep.pool.usual.add(c)
		}
		r.presume(l)
	}
	if c.seqs > 0 && !c.batch() {
		c.queue.missed(0)
		c.route.work[c.class].add(r.now, float64(l.work))
	}
	return l
}

// active finds a lease that may be given back.
func (r *Router) active(id Lease) *lease {
	l := r.leases[id]
	if l == nil || !l.closedAt.IsZero() {
		panic(fmt.Sprintf("BUG: lease %d given back twice, or never granted", id.id))
	}
	return l
}

// giveBack ends a lease's active state: its slots are free, or closing.
func (r *Router) giveBack(l *lease, o Outcome) {
	rep := l.replica
	rep.active.add(l.class, -l.seqs)
	r.timers.stop(&l.presumed.timer)
	if o == Completed && l.seqs > 0 && (l.first.at.IsZero() || l.first.presumed) {
		r.prove(l)
	}
	r.endPace(l)
	l.refund(o)
	if o == Busy {
		r.pause(rep)
	}
	patience := r.cfg.Timeouts.ReleaseAfterCancel
	switch {
	case !o.LeavesWork() || l.seqs == 0:
		r.free(l)
		return
	case patience <= 0:
		rep.readings.giveUp(r.now)
		r.free(l)
		return
	}
	l.closedAt = r.now
	rep.closing.add(l.class, l.seqs)
	rep.closings = append(rep.closings, l)
	l.ends.owner = l
	r.timers.start(&l.ends, r.now.Add(patience))
}

// free forgets a lease that holds nothing any more.
func (r *Router) free(l *lease) {
	delete(r.leases, l.id)
	rep := l.replica
	rep.work -= l.work
	rep.lower.add(l.class, -l.lowerSeqs())
	rep.leases--
	if l.life == rep.life {
		rep.own -= l.seqs
	}
	r.forgetIfGone(rep)
}

// expire ends a closing lease: the replica had time enough.
func (l *lease) expire(r *Router, out []Decision) []Decision {
	l.replica.readings.giveUp(r.now)
	r.endClosing(l)
	return out
}

func (r *Router) endClosing(l *lease) {
	rep := l.replica
	rep.closings = slices.DeleteFunc(rep.closings, func(other *lease) bool { return other == l })
	rep.closing.add(l.class, -l.seqs)
	r.timers.stop(&l.ends)
	r.free(l)
}

// endClosings ends the closing leases that readings show to be gone. A replica that
// holds nothing has let go of all that were cancelled before. One that is at work has
// if it held no more than what was surely others' of ours: that the reading before
// this one tells, because of those who were there then we know by now whether their
// answers had ended. Work of others on the replica makes it wait longer, never less
// long.
func (r *Router) endClosings(rep *replica, before, load Load) {
	switch {
	case len(rep.closings) == 0:
	case load.Running+load.Waiting == 0:
		r.endClosedBefore(rep, load.At)
	case before.Running+before.Waiting <= r.surelyHeld(rep, before.At):
		r.endClosedBefore(rep, before.At)
	}
}

func (r *Router) endClosedBefore(rep *replica, at time.Time) {
	for _, l := range slices.Clone(rep.closings) {
		if l.closedAt.Before(at) {
			r.endClosing(l)
		}
	}
}

// surelyHeld is how many sequences of ours a replica surely held at a time in the
// past: one of each request whose first token had come by then, and whose answer goes
// on even now. A request may have been on its way there before its first token, or its
// answer on the way here after its last, so no others are sure.
func (r *Router) surelyHeld(rep *replica, at time.Time) int {
	n := 0
	for _, l := range r.leases {
		if l.replica == rep && l.seqs > 0 && l.closedAt.IsZero() && !l.first.presumed && !l.first.at.IsZero() && l.first.at.Before(at) {
			n++
		}
	}
	return n
}
