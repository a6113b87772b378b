package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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
	if queued, waiting := m.sum("sluice_requests_in_flight", `state="queued"`), waitingIn(s); int(queued) != waiting {
		w.fault("%v requests are queued by the ledger, %d by the router", queued, waiting)
	}
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

// checkWaiting: promise 4.
func (w *world) checkWaiting(s router.State) {
	w.noteUnwell(s)
	present, largest := 0, 0
	tried := map[string]bool{}
	first := time.Now()
	w.book(func() {
		for _, v := range w.visits {
			if !v.present() || v.status != 0 {
				continue
			}
			for _, j := range v.jobs {
				tried[j.at.address] = true
			}
			if present++; v.sent.Before(first) {
				first = v.sent
			}
			largest = max(largest, v.o.sequences)
		}
	})
	if n := waitingIn(s); n > present {
		w.fault("%d requests wait, %d clients do", n, present)
	}
	for _, q := range s.Queues {
		if q.Waiting == 0 || q.Priority == router.Batch {
			continue // what is idle, is the router's own tests' to say
		}
		if wait := q.Oldest + time.Since(s.At); wait > w.policy.wait+time.Millisecond {
			w.fault("one of %s%s %s waits for %v, limit %v", q.Route, q.Pool, q.Class, wait, w.policy.wait)
		}
		each(s, func(pool string, r *router.ReplicaReport) {
			excused := w.policy.promises || r.Stalled || tried[r.Address] || !w.unwell[r.Address].Before(first) // whom it failed doesn't come back
			if room := w.roomFor(s, q, pool, r, largest); room >= largest && !excused {
				w.fault("%d of %s%s %s wait while %s has room for %d:\n%+v\n%+v\nclients that wait:%s", q.Waiting, q.Route, q.Pool, q.Class, r.Address, room, *r, s.Queues, w.who())
			}
		})
	}
}

// roomFor is the sequences of a queue that a replica surely has room for. Some may be
// held for one of the other class that has been passed often: at most the largest.
func (w *world) roomFor(s router.State, q router.QueueReport, pool string, r *router.ReplicaReport, largest int) int {
	if !w.policy.allows(q.Route, q.Pool, pool) {
		return 0
	}
	total := r.Admits - r.Active.Total() - r.Closing.Total()
	for _, o := range s.Queues {
		if o.Waiting > 0 && o.Class != q.Class && w.policy.allows(o.Route, o.Pool, pool) {
			total -= largest
			break
		}
	}
	return min(total, w.policy.classCap(pool, q.Class.String())-heldOf(r, q.Class))
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
			if !v.present() || j.gone || v.o.reads > 0 || v.status >= 300 || j != v.jobs[len(v.jobs)-1] {
				continue
			}
			if len(v.body) < j.visible || !strings.HasPrefix(j.expect, string(v.body)) {
				late = append(late, j)
			}
		}
	})
	for _, j := range late {
		w.fault("%s: the replica (%+v) has sent\n%q\nof which the client should have %d, it has\n%q", j.v.o.id(), j.plan, j.expect, j.visible, j.v.body)
	}
}

// arrived is a request that has reached a replica: promises 2, 4 and 6.
func (w *world) arrived(j *job, body string) {
	v := j.v
	var gone time.Time
	begun := false
	w.book(func() {
		gone, begun = v.gone, v.status != 0
		v.jobs = append(v.jobs, j)
	})
	switch {
	case !gone.IsZero() && gone.Before(time.Now()):
		w.fault("%s was sent to %s %v after its client had left", v.o.id(), j.at.address, time.Since(gone))
	case begun:
		w.fault("%s was sent to %s when its client had an answer", v.o.id(), j.at.address)
	case j.attempt > 2:
		w.fault("%s was sent %d times", v.o.id(), j.attempt)
	case !v.o.valid:
		w.fault("%s reached %s although nobody serves %q", v.o.id(), j.at.address, v.o.model)
	case body != v.o.relayed(w.servedBy(j.at.address)):
		w.fault("%s reached %s altered:\n got %s\nwant %s", v.o.id(), j.at.address, body, v.o.relayed(w.servedBy(j.at.address)))
	}
}

// servedBy is the model that a replica serves.
func (w *world) servedBy(address string) string {
	if slices.Contains(bigReplicas, address) {
		return "served-big"
	}
	return "served-fast"
}

// relayed is the body that a replica is to get.
func (o *order) relayed(served string) string {
	body := strings.Replace(o.body, `"model":"`+o.model+`"`, `"model":"`+served+`"`, 1)
	if o.stream && o.at.usage && !o.asksUsage {
		body = body[:len(body)-1] + `,"stream_options":{"include_usage":true}}`
	}
	return body
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
