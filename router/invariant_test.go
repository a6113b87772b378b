package router

import (
	"math"
	"slices"
)

// check verifies, from the router's own books and the world's, what must hold
// after every event.
func (w *world) check() {
	w.t.Helper()
	w.checkHeld()
	w.checkNobodyWaitsInVain()
	w.checkQueues()
	if len(w.waiting) != len(w.r.waiters) {
		w.t.Fatalf("%d requests wait, the router has %d", len(w.waiting), len(w.r.waiters))
	}
	if len(w.open) != len(w.waiting)+len(w.grants) {
		w.t.Fatalf("%d requests open, %d wait, %d run", len(w.open), len(w.waiting), len(w.grants))
	}
}

// checkHeld: what replicas hold is what was granted and
// not given back, and never above the cap.
func (w *world) checkHeld() {
	w.t.Helper()
	active := map[string]Counts{}
	for _, g := range w.grants {
		c := active[g.Replica]
		c.add(g.Class, g.Sequences)
		active[g.Replica] = c
	}
	for _, p := range w.r.State().Pools {
		for _, rep := range p.Replicas {
			if rep.Active != active[rep.Address] {
				w.t.Fatalf("%s: active %+v, granted %+v", rep.Address, rep.Active, active[rep.Address])
			}
			held := rep.Active.Total() + rep.Closing.Total()
			if min(rep.Active.Prefill, rep.Active.Decode, rep.Closing.Prefill, rep.Closing.Decode) < 0 || held > rep.Cap {
				w.t.Fatalf("%s: %+v", rep.Address, rep)
			}
			delete(active, rep.Address)
		}
	}
	for address, c := range active {
		if c.Total() > 0 {
			w.t.Fatalf("%s is forgotten with %+v on it", address, c)
		}
	}
	w.checkLeases()
}

// checkLeases compares each replica's sums with its leases, one by one.
func (w *world) checkLeases() {
	w.t.Helper()
	held, work, lower := map[*replica]int{}, map[*replica]int64{}, map[*replica]int{}
	for _, l := range w.r.leases {
		held[l.replica] += l.seqs
		work[l.replica] += l.work
		lower[l.replica] += l.lowerSeqs()
	}
	for _, rep := range w.r.replicas {
		if h := rep.hold; h != nil && (h.hold != rep || w.r.waiters[h.ticket] != h) {
			w.t.Fatalf("%s holds room for ticket %d, which is gone", rep.address, h.ticket)
		}
		if rep.held() != held[rep] || rep.work != work[rep] || rep.lower.Total() != lower[rep] {
			w.t.Fatalf("%s: held %d work %d, leases say %d and %d", rep.address, rep.held(), rep.work, held[rep], work[rep])
		}
	}
}

// checkGrant: at the moment of a grant the replica is within the caps of the
// configuration, whatever it held before.
func (w *world) checkGrant(g Grant) {
	w.t.Helper()
	rep, pool := w.r.replicas[g.Replica], w.cfg.Pools[g.Pool]
	if g.Class == Other {
		return
	}
	limit := pool.Cap.Total
	if rep.state == Trial {
		limit = max(1, g.Sequences) // alone, whatever its size
	}
	if rep.held() > limit || rep.pool.name != g.Pool || rep.state != Ready && rep.state != Trial {
		w.t.Fatalf("grant on %s (%s): %d held, cap %d", g.Replica, rep.state, rep.held(), limit)
	}
	if class := rep.pool.capOf(g.Class); rep.heldOf(g.Class) > class {
		w.t.Fatalf("grant on %s: %d of %s held, cap %d", g.Replica, rep.heldOf(g.Class), g.Class, class)
	}
}

// checkNobodyWaitsInVain: no waiter fits anywhere, by brute force.
func (w *world) checkNobodyWaitsInVain() {
	w.t.Helper()
	for _, wt := range w.r.waiters {
		if wt.crowded || wt.batch() && (w.offered.Equal(w.now) || !w.r.now.Equal(w.now)) {
			continue // its refusal is due, or the end of what keeps it waiting is, with the next event
		}
		if h := wt.hold; h != nil && w.r.replicas[h.address] != h {
			w.t.Fatalf("room is held for ticket %d on %s, which is gone", wt.ticket, h.address)
		}
		held := 0
		for _, p := range wt.queue.order {
			for _, rep := range p.replicas {
				if w.hasRoom(wt, rep) && !w.excused(wt, rep) {
					w.t.Fatalf("ticket %d waits for %d of %s while %s has room", wt.ticket, wt.seqs, wt.class, rep.address)
				}
				if wt.wanted(rep) && rep.hold == nil && !rep.busy {
					held++
				}
			}
		}
		if !wt.batch() && wt == wt.queue.head() && wt.passed >= maxPassed && wt.hold == nil && held > 0 {
			w.t.Fatalf("ticket %d was passed %d times and no room is held", wt.ticket, wt.passed)
		}
	}
}

// excused: a replica without a sign of life, or whose KV cache is full, takes nothing;
// one that holds nothing is neither. Where KV counts, a head that needs more than those
// behind it in its lane keeps them waiting, and that metrics have grown old is seen when
// the waiters are looked at again.
func (w *world) excused(wt *waiter, rep *replica) bool {
	due := !w.r.Next().IsZero() && !w.r.Next().After(w.now)
	behind := rep.kv.capacity.weight > 0 && (wt.prev != nil || due)
	return rep.held() > 0 && (rep.pace.stalled(w.r.now) || rep.kvFull(&wt.claim, w.r.now) || behind)
}

// hasRoom repeats the rule of room from the configuration and the leases alone.
func (w *world) hasRoom(wt *waiter, rep *replica) bool {
	f, listed := w.fleet[rep.address]
	caps := w.cfg.Pools[f.Pool].Cap
	limit := caps.Total
	if f.State == Trial && rep.held() > 0 {
		limit = min(limit, 1)
	}
	class := caps.Total
	if n := *(&Counts{caps.Prefill, caps.Decode}).at(wt.class); n > 0 {
		class = min(class, n)
	}
	own := 0
	for _, l := range w.r.leases {
		if l.replica == rep && l.life == rep.life {
			own += l.seqs
		}
	}
	if own > 0 && rep.begun < proven {
		limit = min(limit, rep.held()-own+slowStart<<rep.begun)
	}
	for _, l := range w.r.leases {
		if l.replica == rep {
			limit -= l.seqs
		}
		if l.replica == rep && l.class == wt.class {
			class -= l.seqs
		}
	}
	if h := rep.hold; h != nil && h != wt {
		limit -= h.seqs
		if h.class == wt.class {
			class -= h.seqs
		}
	}
	willing := listed && (f.State == Ready || f.State == Trial) && !rep.busy && rep.address != wt.tried && wt.fits(rep.pool)
	return willing && wt.seqs <= limit && wt.seqs <= class && (!wt.batch() || w.spares(wt, rep, limit, class))
}

// spares repeats the rule of what priority Batch leaves free, of what is left.
func (w *world) spares(wt *waiter, rep *replica, limit, class int) bool {
	for _, other := range w.r.waiters {
		if !other.batch() && !other.crowded && slices.Contains(other.queue.order, rep.pool) {
			return false
		}
	}
	h := wt.queue.head()
	first := h == wt || h.passed < maxPassed || !h.wanted(rep)
	keep, keepClass := rep.capNow()/keptCap, min(rep.pool.capOf(wt.class), rep.capNow())/keptCap
	quiet := rep.pool.waited.IsZero() || w.now.Sub(rep.pool.waited) >= calm
	spare := first && limit-wt.seqs >= keep && class-wt.seqs >= keepClass
	return quiet && (spare || rep.held() == 0)
}

// checkQueues compares each queue's sums with its waiters.
func (w *world) checkQueues() {
	w.t.Helper()
	total := 0
	for _, q := range w.r.waiting {
		bytes := int64(0)
		for _, wt := range q.all() {
			bytes += int64(wt.Bytes)
			if wt.queue != q || w.r.waiters[wt.ticket] != wt || wt.timer.place == 0 || wt.prev != nil && wt.prev.ticket > wt.ticket {
				w.t.Fatalf("ticket %d is out of place", wt.ticket)
			}
			if wt.hold != nil && wt.hold.hold != wt {
				w.t.Fatalf("ticket %d holds room that is not its own", wt.ticket)
			}
		}
		if q.waiting == 0 || len(q.all()) != q.waiting || q.bytes != bytes {
			w.t.Fatalf("queue %s: %d waiting, %d bytes, in lanes %d and %d", q.path, q.waiting, q.bytes, len(q.all()), bytes)
		}
		w.checkShares(q)
		total += q.waiting
	}
	for _, wt := range w.r.waiters {
		if wt.crowded {
			total++
		}
	}
	if total != len(w.r.waiters) {
		w.t.Fatalf("%d in queues, %d waiters", total, len(w.r.waiters))
	}
}

// checkShares compares what is booked for tenants with their waiters.
func (w *world) checkShares(q *queue) {
	w.t.Helper()
	waiting, work := map[*share]int{}, map[*share]float64{}
	for _, wt := range q.all() {
		waiting[wt.share]++
		work[wt.share] += float64(wt.work)
	}
	for _, s := range q.shares.active {
		if s.waiting != waiting[s] || math.Abs(s.work-work[s]) > 1 || q.shares.all[s.tenant] != s {
			w.t.Fatalf("%s, tenant %q: %d waiting with work %.0f booked, got %d with %.0f", q.path, s.tenant, s.waiting, s.work, waiting[s], work[s])
		}
		delete(waiting, s)
	}
	head, lacking := q.head(), q.shares.leastLacking(w.r.now)
	q.shares.lacking.drop()
	if head != q.findHead() || lacking != q.shares.leastLacking(w.r.now) {
		w.t.Fatalf("%s remembers a head, or %v as used least, that is so no more", q.path, lacking)
	}
	if len(waiting) > 0 {
		w.t.Fatalf("%s: %d tenants wait and are not active", q.path, len(waiting))
	}
}

// checkDeadlines holds after a tick.
func (w *world) checkDeadlines() {
	w.t.Helper()
	for _, wt := range w.r.waiters {
		if !wt.deadline.After(w.now) {
			w.t.Fatalf("ticket %d waits past its deadline", wt.ticket)
		}
	}
	if next := w.r.Next(); !next.IsZero() && !next.After(w.now) {
		w.t.Fatalf("next tick %s is not after %s", next, w.now)
	}
}
