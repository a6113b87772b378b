package tpu

import (
	"slices"
	"time"
)

// duration is how long the step lasts that has been planned. A burst takes as
// long as its single steps would: what it saves between them isn't known.
func (e *Engine) duration() time.Duration {
	step := e.step
	if e.burst > 1 {
		step.Tokens = step.Sequences
	}
	last := float64(e.costs.time(step)) * float64(e.burst) * e.slow
	if e.options.Jitter > 0 {
		last *= max(1+e.options.Jitter*e.random.NormFloat64(), 0.5)
	}
	return time.Duration(last) + e.compile(step.Tokens)
}

// compile is how long the step waits for its program.
func (e *Engine) compile(tokens int) time.Duration {
	i, _ := slices.BinarySearch(e.costs.buckets, tokens)
	e.counters.PaddedTokens += e.costs.buckets[i] * e.burst
	if e.warm[i] {
		return 0
	}
	e.warm[i] = true
	e.counters.Stalls++
	return e.options.Stall
}

// commit ends the step under way: tokens are made, finished sequences go.
func (e *Engine) commit() {
	e.stepping = false
	e.counters.Steps++
	e.counters.StepTokens += e.step.Tokens
	kept := e.running[:0]
	for _, s := range e.running {
		if e.advance(s) {
			kept = append(kept, s)
		}
	}
	clear(e.running[len(kept):])
	e.running = kept
	e.observe(e.queued)
	e.tell(Stepped, e.due, nil, e.step.Tokens)
}

// advance books one sequence's part of the step; false when it has ended.
func (e *Engine) advance(s *Sequence) bool {
	n := s.scheduled
	s.scheduled = 0
	s.computed += n
	if n == 0 || s.remaining() > 0 || s.leaves <= e.due {
		return true
	}
	if s.first == 0 {
		s.first = e.due
		e.counters.PromptTokens += s.Prompt
		e.tell(Computed, e.due, s, 0)
	}
	e.generate(s, n)
	if s.made < s.Answer {
		return true
	}
	e.end(e.due, s, Finished)
	e.counters.Finished++
	return false
}

// generate makes the tokens that n computed ones give: one, or in a burst as
// many.
func (e *Engine) generate(s *Sequence, n int) {
	if s.Answer == 0 {
		return
	}
	if e.burst == 1 {
		n = 1
	}
	s.made += n
	e.counters.GenerationTokens += n
	e.tell(Generated, e.due, s, n)
}

// end takes everything from a sequence; the caller takes it out of its list.
func (e *Engine) end(at time.Duration, s *Sequence, kind EventKind) {
	if s.leaves != never {
		e.leaving--
	}
	e.cache.end(s)
	s.state, s.scheduled = ended, 0
	e.tell(kind, at, s, 0)
}
