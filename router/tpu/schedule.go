package tpu

import (
	"slices"
	"sort"
	"time"
)

// begin plans a step and starts it; false when there is nothing to run by now.
// The step starts where the last one ended, or, if nothing ran, at the first
// arrival; it never sees what came after its start.
//
// The rules are vLLM V1's. A step has a budget of tokens.
//
//  1. Those whose client has left are dropped.
//  2. The running, oldest first, get the tokens they lack: one while decoding,
//     or what is left of the prompt. When pages run out, the newest is
//     preempted: it loses its pages and is first in line.
//  3. If nobody was preempted, waiting ones are admitted, first come first
//     served, while budget, max-num-seqs and pages last. The first that doesn't
//     fit holds up those behind it. Only the last prompt of a step is cut.
func (e *Engine) begin(now time.Duration) bool {
	start, ok := e.start()
	for ok && start <= now && e.leaving > 0 && e.dropLeft(start) {
		start, ok = e.start()
	}
	if !ok {
		e.observe(0)
	}
	if !ok || start > now {
		return false
	}
	e.step = Step{}
	e.burst = e.burstLength(start)
	if preempted := e.continueRunning(); !preempted {
		e.admit(start)
	}
	e.queued = e.arrived(start)
	e.stepping, e.due = true, start+e.duration()
	return true
}

// start is when the next step may begin; false when there is nothing to run.
func (e *Engine) start() (time.Duration, bool) {
	switch {
	case len(e.running) > 0:
		return e.due, true
	case e.waiting.len() > 0:
		return max(e.due, e.waiting.front().arrived), true
	}
	return 0, false
}

// dropLeft drops those whose client had left by then; false when none had.
func (e *Engine) dropLeft(start time.Duration) bool {
	before := e.leaving
	gone := func(s *Sequence) bool {
		if s.leaves > start {
			return false
		}
		e.end(start, s, Left)
		e.counters.Left++
		return true
	}
	e.running = slices.DeleteFunc(e.running, gone)
	e.waiting.drop(gone)
	return e.leaving < before
}

// continueRunning schedules the running sequences.
func (e *Engine) continueRunning() (preempted bool) {
	for i := 0; i < len(e.running) && e.budget() > 0; i++ {
		s := e.running[i]
		n := min(s.remaining(), e.budget())
		if e.burst > 1 {
			n = min(s.Answer-s.made, e.burst)
		}
		for !e.cache.grow(s, s.computed+n) {
			preempted = true
			if e.preemptNewest() == s {
				return true
			}
		}
		e.schedule(s, n)
	}
	return preempted
}

// preemptNewest takes the pages of the newest running sequence, which has not
// been scheduled in this step.
func (e *Engine) preemptNewest() *Sequence {
	newest := len(e.running) - 1
	s := e.running[newest]
	e.running = e.running[:newest]
	e.cache.end(s)
	s.computed, s.state = 0, waiting
	e.waiting.putBack(s)
	e.counters.Preemptions++
	e.tell(Preempted, e.due, s, 0)
	return s
}

// admit schedules those waiting ones that may run.
func (e *Engine) admit(start time.Duration) {
	for e.waiting.len() > 0 && len(e.running) < e.costs.setup.MaxNumSeqs && e.budget() > 0 {
		s := e.waiting.front()
		if s.arrived > start {
			return
		}
		hit := e.cache.begin(s)
		s.computed = hit
		n := min(s.remaining(), e.budget())
		if !e.cache.grow(s, hit+n) {
			e.cache.end(s)
			s.computed = 0
			return
		}
		e.waiting.pop()
		e.running = append(e.running, s)
		e.enter(start, s, hit)
		e.schedule(s, n)
	}
}

// enter books that a sequence runs from now on. What a preempted one finds in
// the prefix cache is its own, and not counted.
func (e *Engine) enter(start time.Duration, s *Sequence, hit int) {
	if s.state == fresh {
		s.started, s.cached = start, hit
		e.counters.PrefixQueries += s.Prompt
		e.counters.PrefixHits += hit
		e.tell(Started, start, s, 0)
	}
	s.state = running
}

func (e *Engine) schedule(s *Sequence, n int) {
	s.scheduled = n
	e.step.Tokens += n
	e.step.add(&e.costs.setup.Model, 1, s.computed+n)
}

// budget is how many tokens the step may still schedule.
func (e *Engine) budget() int { return e.costs.setup.MaxBatched - e.step.Tokens }

// burstLength is how many tokens each sequence makes in a step that only
// decodes; 1 when somebody waits or a prompt is being computed.
func (e *Engine) burstLength(start time.Duration) int {
	if e.options.Burst < 2 || e.arrived(start) > 0 || len(e.running)*e.options.Burst > e.costs.setup.MaxBatched {
		return 1
	}
	longest := 1
	for _, s := range e.running {
		if s.remaining() != 1 {
			return 1
		}
		longest = max(longest, s.Answer-s.made)
	}
	return min(longest, e.options.Burst)
}

// arrived is how many of the waiting had arrived by then.
func (e *Engine) arrived(start time.Duration) int {
	list := e.waiting.list()
	if n := len(list); n == 0 || list[n-1].arrived <= start {
		return n
	}
	return sort.Search(len(list), func(i int) bool { return list[i].arrived > start })
}
