package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/router"
)

// check is what must hold whenever everything is at rest.
func (w *world) check() {
	s, ok := w.state()
	if !ok {
		return
	}
	w.checkHeld(s)
	w.checkWaiting(s)
	w.checkRelay()
	if w.looks++; w.looks%6 > 0 {
		return // a scrape takes as long as all the rest
	}
	m, ok := w.scrape()
	if !ok {
		return
	}
	w.checkLedger(m)
	w.checkQueued(m, s)
}

// checkQueued compares the ledger's queue with the router's. To ask for the metrics
// turns a breaker half open, which lets a trial in: so the router is asked before
// and after. An answer that waits to be gone on with isn't queued by the ledger.
func (w *world) checkQueued(m metrics, before router.State) {
	w.rest()
	after, _ := w.state()
	queued, least, most := int(m.sum("sluice_requests_in_flight", `state="queued"`)), waitingIn(before), waitingIn(after)
	least, most = min(least, most)-w.mending(), max(least, most)
	if queued < least || queued > most {
		w.fault("%v requests are queued by the ledger, %d to %d by the router", queued, least, most)
	}
}

// mending is how many answers may wait for another replica to go on with them.
func (w *world) mending() (n int) {
	w.book(func() {
		for _, v := range w.visits {
			if v.present() && v.mends() {
				n++
			}
		}
	})
	return n
}

// mends tells whether the answer has broken, and nobody goes on with it yet. The
// caller holds the mutex.
func (v *visit) mends() bool {
	j := v.last()
	return v.o.plain && j != nil && j.attempt == 1 && (j.gone || j.broke)
}

// state is what the router holds, as the operator's listener tells it.
func (w *world) state() (s router.State, ok bool) {
	text, err := scrape(w.control, "/api/state")
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	if err != nil {
		w.fault("the state can't be read: %v", err)
	}
	return s, err == nil
}

func each(s router.State, see func(pool string, r *router.ReplicaReport)) {
	for _, p := range s.Pools {
		for i := range p.Replicas {
			see(p.Name, &p.Replicas[i])
		}
	}
}

func waitingIn(s router.State) (n int) {
	for _, q := range s.Queues {
		n += q.Waiting
	}
	return n
}

// checkHeld: promises 1 and 2, from the gateway's own numbers and the replicas'.
// What a lowered cap finds above it only goes down.
func (w *world) checkHeld(s router.State) {
	active := 0
	each(s, func(_ string, r *router.ReplicaReport) {
		if min(r.Active.Prefill, r.Active.Decode, r.Closing.Prefill, r.Closing.Decode) < 0 {
			w.fault("%s holds less than nothing: %+v %+v", r.Address, r.Active, r.Closing)
		}
		held, own := r.Active.Total()+r.Closing.Total(), w.machines[r.Address].count()
		if held > max(w.policy.capOf(r.Address), w.held[r.Address]) {
			w.fault("%s: %d held, cap %d", r.Address, held, w.policy.capOf(r.Address))
		}
		if own > held {
			w.fault("%s works on %d sequences, of which the gateway holds %d:%s", r.Address, own, held, w.machines[r.Address].report())
		}
		w.held[r.Address] = held
		active += r.Active.Total()
	})
	if most := w.wanted(); active > most {
		w.fault("%d sequences are active for clients that want %d", active, most)
	}
}

// look notes what is held.
func (w *world) look() {
	s, _ := w.state()
	each(s, func(_ string, r *router.ReplicaReport) { w.held[r.Address] = r.Active.Total() + r.Closing.Total() })
}

// wanted is the sequences that clients wait for who are still there.
func (w *world) wanted() (n int) {
	w.book(func() {
		for _, v := range w.visits {
			if v.present() && v.o.at.slots {
				n += v.o.sequences
			}
		}
	})
	return n
}

// present: sent, and neither answered nor left. The caller holds the mutex.
func (v *visit) present() bool { return !v.sent.IsZero() && v.gone.IsZero() && !v.over }

// checkRelay: promise 6 of answers that are under way.
func (w *world) checkRelay() {
	var running []*job
	for _, m := range w.machines {
		m.mu.Lock()
		running = append(running, slices.Collect(maps.Keys(m.jobs))...)
		m.mu.Unlock()
	}
	var late []*job
	w.book(func() {
		for _, j := range running {
			v := j.v
			if !v.present() || j.gone || v.o.reads > 0 || v.o.holds > 0 || v.status >= 300 || j != v.jobs[len(v.jobs)-1] {
				continue
			}
			if body := v.heard(); len(body) < j.visible || !strings.HasPrefix(j.expect, body) {
				late = append(late, j)
			}
		}
	})
	for _, j := range late {
		w.fault("%s: the replica (%+v) has sent\n%q\nof which the client should have %d, it has\n%q", j.v.o.id(), j.plan, j.expect, j.visible, j.v.body)
	}
}

// checkRest is what must hold when all has ended.
func (w *world) checkRest() {
	if n := w.open(); n > 0 {
		s, _ := w.state()
		w.fault("clients still wait although all is well:%s\n%+v", w.who(), s)
	}
	w.check()
	s, ok := w.state()
	if !ok {
		return
	}
	each(s, func(_ string, r *router.ReplicaReport) {
		if held := r.Active.Total() + r.Closing.Total(); held != 0 || r.Work != 0 {
			w.fault("%s is left with %d sequences and %d tokens of work", r.Address, held, r.Work)
		}
		if r.State != router.Ready && r.State != router.Open && r.State != router.Trial {
			w.fault("%s is well and yet %s", r.Address, r.State)
		}
	})
	for address, m := range w.machines {
		if n := m.count(); n != 0 {
			w.fault("%s still works on %d sequences", address, n)
		}
	}
	m, ok := w.scrape()
	if n := m.sum("sluice_requests_in_flight"); ok && n != 0 {
		w.fault("%v requests are in flight and nobody waits", n)
	}
	w.checkLabels(m)
}

// who is the requests that wait for something.
func (w *world) who() (list string) {
	w.book(func() {
		for _, v := range w.visits {
			if !v.over {
				list += fmt.Sprintf("\n%s: sent %v, left %v, status %d, %d bytes", v.o.id(), v.sent, v.gone, v.status, len(v.body))
			}
			if j := v.last(); !v.over && j != nil {
				list += fmt.Sprintf("; at %s, %+v, gone %t, said %t", j.at.address, j.plan, j.gone, j.said)
			}
		}
	})
	return list
}
