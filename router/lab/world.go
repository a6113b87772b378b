package lab

import (
	"time"

	"sluice/router/tpu"
)

// policy decides what becomes of requests. It is told what happens and acts
// through the world's send and refuse. Times never run backwards.
type policy interface {
	arrive(now time.Duration, r *request) // send it, refuse it, or keep it
	first(now time.Duration, r *request)  // its first token has come
	done(now time.Duration, r *request)   // it has ended: r.fate says how
	wake(now time.Duration)               // what next asked for
	next() time.Duration                  // when wake is needed; never: not before another event
	scrape(now time.Duration, loads []load)
}

// load is what a replica's metrics show.
type load struct {
	running, waiting int     // sequences
	kv               float64 // share of its KV cache in use
}

// scrapeEvery is how often the policy sees the replicas' metrics.
const scrapeEvery = time.Second

// world is one run: arrivals, replicas and a policy in virtual time.
type world struct {
	now      time.Duration
	lasts    time.Duration
	requests []*request // in order of arrival
	pools    []Pool
	machines []*machine
	policy   policy
	events   []happened // of the step under way
	loads    []load
	blind    bool // no metrics reach the policy
	held     int  // requests on machines

	incidents []incident // to come, in order
}

// happened is an event of an engine, kept until the engine has returned.
type happened struct {
	at   time.Duration
	kind tpu.EventKind
	r    *request
}

// newWorld makes a run; its policy is set before run.
func newWorld(pools []Pool, requests []*request, lasts time.Duration) (*world, error) {
	w := &world{lasts: lasts, requests: requests, pools: pools}
	var err error
	w.machines, err = machines(pools, w.observe)
	w.loads = make([]load, len(w.machines))
	return w, err
}

// observe keeps what an engine tells: its policy must not be called before the
// engine has returned.
func (w *world) observe(_ int, ev tpu.Event) {
	if ev.Kind == tpu.Computed || ev.Kind == tpu.Finished || ev.Kind == tpu.Stopped {
		w.events = append(w.events, happened{ev.At, ev.Kind, ev.Sequence.Owner.(*request)})
	}
}

// drainAtMost bounds what a run lasts after its last arrival.
const drainAtMost = 20 * time.Minute

// run plays all arrivals and drains the replicas.
func (w *world) run() {
	arrivals, scrape := w.requests, time.Duration(0)
	for {
		at := min(w.policy.next(), scrape)
		if len(arrivals) > 0 {
			at = min(at, arrivals[0].arrival)
		}
		if len(w.incidents) > 0 {
			at = min(at, w.incidents[0].at)
		}
		for _, m := range w.machines {
			at = min(at, m.due)
		}
		w.now = max(w.now, at)
		if len(arrivals) == 0 && w.held == 0 && w.policy.next() == never || w.now > w.lasts+drainAtMost {
			return
		}
		w.stepMachines()
		for len(w.incidents) > 0 && w.incidents[0].at <= w.now {
			act := w.incidents[0].act
			w.incidents = w.incidents[1:]
			act(w)
		}
		if scrape <= w.now {
			scrape = w.now + scrapeEvery
			w.scrape()
		}
		if w.policy.next() <= w.now {
			w.policy.wake(w.now)
		}
		for len(arrivals) > 0 && arrivals[0].arrival <= w.now {
			w.policy.arrive(w.now, arrivals[0])
			arrivals = arrivals[1:]
		}
		w.stepMachines()
	}
}

// stepMachines lets the machines do what is due, and tells the policy.
func (w *world) stepMachines() {
	for i := 0; i < len(w.machines); i++ {
		m := w.machines[i]
		if m.due > w.now {
			continue
		}
		next, busy := m.engine.Step(w.now)
		m.due = never
		if busy {
			m.due = next
		}
		if len(w.events) > 0 {
			w.tell()
			i = -1 // the policy may have sent something anywhere
		}
	}
}

// tell hands the events of a step to the policy.
func (w *world) tell() {
	events := w.events
	w.events = nil
	for _, e := range events {
		r := e.r
		switch e.kind {
		case tpu.Computed:
			r.first = e.at
			w.policy.first(w.now, r)
			continue
		case tpu.Finished:
			r.fate = served
		default:
			r.fate = lost
		}
		r.ended = e.at
		w.held--
		w.policy.done(w.now, r)
	}
	if w.events == nil {
		w.events = events[:0]
	}
}

// send gives a request to a replica. The policy calls it once for a request.
func (w *world) send(r *request, machine int) {
	m := w.machines[machine]
	r.replica, r.sent = machine, w.now
	if m.down {
		r.fate, r.ended = lost, w.now
		w.events = append(w.events, happened{w.now, tpu.Stopped, r})
		w.held++
		m.due = w.now
		return
	}
	r.seq.Prompt, r.seq.Answer, r.seq.Owner, r.seq.Blocks = r.prompt, r.answer, r, r.blocks(m.page)
	m.engine.Add(w.now, &r.seq)
	m.due = min(m.due, w.now)
	w.held++
}

// refuse ends a request without a replica.
func (w *world) refuse(r *request) { r.fate, r.ended = refused, w.now }

// scrape shows the policy the replicas' metrics.
func (w *world) scrape() {
	if w.blind {
		return
	}
	for i, m := range w.machines {
		g := m.engine.Gauges()
		w.loads[i] = load{g.Running, g.Waiting, g.KV}
	}
	w.policy.scrape(w.now, w.loads)
}
