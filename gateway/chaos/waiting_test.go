package chaos

import (
	"time"

	"sluice/router"
)

// calm is how long after the last sign of others priority batch is served again, and
// a little more.
const calm = 5*time.Second + 100*time.Millisecond

// checkWaiting: promise 4, while requests wait.
func (w *world) checkWaiting(s router.State) {
	w.noteUnwell(s)
	if n, present := waitingIn(s), w.mayWait(func(*visit) bool { return true }); n > present {
		w.fault("%d requests wait, %d clients do", n, present)
	}
	for _, q := range s.Queues {
		if q.Waiting == 0 {
			continue
		}
		if wait := q.Oldest + time.Since(s.At); q.Priority == router.Interactive && wait > w.policy.wait+time.Millisecond {
			w.fault("one of %s%s %s waits for %v, limit %v", q.Route, q.Pool, q.Class, wait, w.policy.wait)
		}
		each(s, func(pool string, r *router.ReplicaReport) { w.checkBeside(s, &q, pool, r) })
	}
}

// mayWait is how many clients wait who are such.
func (w *world) mayWait(such func(*visit) bool) (n int) {
	w.book(func() {
		for _, v := range w.visits {
			if v.present() && (v.status == 0 || v.mends()) && such(v) {
				n++
			}
		}
	})
	return n
}

// in tells whether a request may be one of a queue: its class isn't known here.
func (v *visit) in(q *router.QueueReport) bool {
	route, pin := v.o.model, ""
	switch v.o.model {
	case "served-big":
		route, pin = "", "big"
	case "served-fast":
		route, pin = "", "fast"
	}
	return route == q.Route && pin == q.Pool && v.o.batch == (q.Priority == router.Batch) && v.o.at.slots
}

// checkBeside: nobody waits beside a replica that would surely have them. Some are
// excused: whom a replica has failed, or may have, doesn't come back to it, and who
// goes on with an answer needs its model.
func (w *world) checkBeside(s router.State, q *router.QueueReport, pool string, r *router.ReplicaReport) {
	if r.Stalled || !w.policy.allows(q.Route, q.Pool, pool) {
		return
	}
	most := 0
	excused := w.mayWait(func(v *visit) bool {
		if !v.in(q) {
			return false
		}
		most = max(most, v.o.sequences)
		for _, j := range v.jobs {
			if j.at.address == r.Address {
				return true
			}
		}
		return v.mends() || !w.unwell[r.Address].Before(v.sent)
	})
	if q.Waiting <= excused || !w.surelyTakes(s, q, pool, r, most) {
		return
	}
	w.fault("%d of %s%s %s %s wait, %d excused, while %s has room for %d:\n%+v\n%+v\nclients that wait:%s",
		q.Waiting, q.Route, q.Pool, q.Class, q.Priority, excused, r.Address, most, *r, s.Queues, w.who())
}

// surelyTakes tells what can be said from outside. Where caps alone decide, a replica
// with room takes who comes. Where an SLO does, and for priority batch, one that holds
// nothing does: of that priority when nobody else has waited for a while, and under an
// SLO unless it will be faster in a moment, when prompts that came lately are
// forgotten. Under both together room is kept for as many as decoded there lately, so
// that all are served in the end is all that can be said (checkRest). The rest the
// router's own seeds say, which know what it knows.
func (w *world) surelyTakes(s router.State, q *router.QueueReport, pool string, r *router.ReplicaReport, seqs int) bool {
	class := w.policy.classCap(pool, q.Class.String())
	empty := r.Active.Total()+r.Closing.Total() == 0 && min(r.Admits, class) >= seqs
	soon := w.policy.promises && r.Target.Decode < min(r.Admits, w.policy.classCap(pool, "decode"))
	switch {
	case q.Priority == router.Batch:
		return empty && !w.policy.promises && time.Since(w.urgent()) > calm
	case w.policy.promises:
		return empty && !soon
	}
	return w.roomFor(s, q, pool, r) >= w.largest() // for whom some may be held, if he was passed often
}

// urgent is when somebody last waited who is not of priority batch.
func (w *world) urgent() (last time.Time) {
	w.book(func() {
		for _, v := range w.visits {
			if v.o.batch || v.sent.IsZero() {
				continue
			}
			until := v.answered
			if v.o.plain && !until.IsZero() {
				until = v.ended // it may have waited again, for the rest
			}
			switch {
			case !v.gone.IsZero():
				until = v.gone
			case until.IsZero():
				until = time.Now()
			}
			if until.After(last) {
				last = until
			}
		}
	})
	return last
}

// roomFor is the sequences of a queue that a replica surely has room for. Some may be
// held for one of the other class that has been passed often: at most the largest.
func (w *world) roomFor(s router.State, q *router.QueueReport, pool string, r *router.ReplicaReport) int {
	total := r.Admits - r.Active.Total() - r.Closing.Total()
	for _, o := range s.Queues {
		if o.Waiting > 0 && o.Class != q.Class && w.policy.allows(o.Route, o.Pool, pool) {
			total -= w.largest()
			break
		}
	}
	return min(total, w.policy.classCap(pool, q.Class.String())-heldOf(r, q.Class))
}

// largest is the most sequences that anybody waits for.
func (w *world) largest() (most int) {
	w.mayWait(func(v *visit) bool {
		most = max(most, v.o.sequences)
		return true
	})
	return most
}

// noteUnwell remembers which replicas may have failed requests until now.
func (w *world) noteUnwell(s router.State) {
	for _, m := range w.machines {
		if m.condition() != up {
			w.unwell[m.address] = time.Now()
		}
	}
	each(s, func(_ string, r *router.ReplicaReport) {
		if r.State != router.Ready {
			w.unwell[r.Address] = time.Now()
		}
	})
}

func heldOf(r *router.ReplicaReport, c router.Class) int {
	if c == router.Prefill {
		return r.Active.Prefill + r.Closing.Prefill
	}
	return r.Active.Decode + r.Closing.Decode
}
