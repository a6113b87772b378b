package tpu

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Options are what an engine adds to a setup. The zero value is an engine whose
// programs are all compiled and whose steps last exactly as modelled.
type Options struct {
	Setup Setup
	// Burst is the most tokens that a step makes for each sequence while all
	// decode and nobody waits: tpu-inference's continue_decode, which does up to
	// 10 before it returns to the host. Below 2: one.
	Burst int
	// Stall is how long the first step in a bucket that isn't in Warm takes
	// longer: its program is compiled then. 0: all are compiled.
	Stall time.Duration
	Warm  []int
	// Jitter spreads the duration of steps: the standard deviation as a share.
	// Prior; the draws follow from Seed.
	Jitter float64
	Seed   uint64
	// Observe, if any, is told what happens, in order, within the calls of the
	// engine. It must not call the engine.
	Observe func(Event)
}

// Engine is a replica's scheduler and its chip: a state machine whose only
// clock is what its callers say. Times are modelled, from an origin of the
// caller's choice, and never go back. Not safe for concurrent use.
//
// Call Step when it said; Add and Abort in between, at any time. A late Step
// makes up for it: the steps that should have ended by then end at their own
// times, so what happens doesn't depend on when Step is called.
type Engine struct {
	costs    *Costs
	options  Options
	cache    *cache
	waiting  queue
	running  []*Sequence // oldest first
	counters Counters
	gauges   Gauges

	stepping bool
	due      time.Duration // the end of the step under way, or of the last one
	step     Step          // under way
	burst    int           // of the step under way
	queued   int           // waiting, when the step under way was planned
	leaving  int           // sequences whose client has left
	hung     bool
	slow     float64
	warm     []bool // by bucket
	random   *rand.Rand
}

// NewEngine makes an idle engine; the error is NewCosts'.
func NewEngine(o Options) (*Engine, error) {
	costs, err := NewCosts(o.Setup)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		costs: costs, options: o, cache: newCache(costs.replica, costs.pages), slow: 1,
		warm: make([]bool, len(costs.buckets)), random: rand.New(rand.NewPCG(o.Seed, 0)),
	}
	for i, bucket := range costs.buckets {
		e.warm[i] = o.Stall == 0
		for _, w := range o.Warm {
			e.warm[i] = e.warm[i] || w == bucket
		}
	}
	return e, nil
}

// Costs is what the engine's steps cost.
func (e *Engine) Costs() *Costs { return e.costs }

// Add puts a sequence at the end of the waiting ones, which have no bound.
// Before it runs, Step must be called. It panics on a sequence that could never
// run: the caller refuses those, as vLLM's frontend does.
func (e *Engine) Add(now time.Duration, s *Sequence) {
	limit := e.costs.setup.MaxModelLen
	if s.Prompt < 1 || s.Answer < 0 || s.Prompt+s.Answer > limit || s.state != outside {
		panic(fmt.Sprintf("BUG: a sequence of %d and %d tokens in state %d, max-model-len is %d", s.Prompt, s.Answer, s.state, limit))
	}
	s.state, s.arrived, s.leaves = fresh, now, never
	e.waiting.push(s)
}

// Abort says that a sequence's client has left: the next step begins without
// it. On one that has ended it does nothing.
func (e *Engine) Abort(now time.Duration, s *Sequence) {
	if s.state == outside || s.state == ended || s.leaves != never {
		return
	}
	s.leaves = now
	e.leaving++
}

// Step ends the steps that should have ended by now, begins the next one, and
// says when that will end. busy is false when there is nothing to do until
// something is added; or, on a hung engine, until Resume.
func (e *Engine) Step(now time.Duration) (next time.Duration, busy bool) {
	for !e.hung {
		if !e.stepping && !e.begin(now) {
			return 0, false
		}
		if e.due > now {
			return e.due, true
		}
		e.commit()
	}
	return 0, false
}

// Stop drops all sequences, as a vLLM that is shut down without patience does.
// The step under way is lost.
func (e *Engine) Stop(now time.Duration) {
	for _, s := range e.running {
		e.end(now, s, Stopped)
	}
	for s := e.waiting.pop(); s != nil; s = e.waiting.pop() {
		e.end(now, s, Stopped)
	}
	clear(e.running)
	e.running = e.running[:0]
	e.stepping, e.due = false, now
	e.observe(0)
}

// Hang makes the step under way, or the next one, last until Resume; the gauges
// keep what they show, as on a chip that has stopped to answer.
func (e *Engine) Hang() { e.hung = true }

// Resume ends a hang; the step under way ends now. Call Step then.
func (e *Engine) Resume(now time.Duration) {
	e.hung = false
	e.due = max(e.due, now)
}

// Slow makes the steps that begin from now on last k times as long as modelled.
func (e *Engine) Slow(k float64) { e.slow = k }

// Holds is how many sequences there are now, waiting and running.
func (e *Engine) Holds() int { return e.waiting.len() + len(e.running) }

func (e *Engine) tell(kind EventKind, at time.Duration, s *Sequence, tokens int) {
	if e.options.Observe != nil {
		e.options.Observe(Event{kind, at, s, tokens})
	}
}
