package vllmsim

import (
	"time"

	"sluice/router/tpu"
)

// observe books what the engine did and wakes handlers. It runs under the
// engine's lock.
func (e *engine) observe(ev tpu.Event) {
	if ev.Kind == tpu.Stepped {
		e.stats.iteration.add(float64(ev.Tokens))
		return
	}
	s := ev.Sequence.Owner.(*sequence)
	switch ev.Kind {
	case tpu.Started:
		e.stats.queue.add(e.seconds(ev.At - s.core.Arrived()))
		s.started = ev.At
	case tpu.Computed:
		e.stats.promptSize.add(float64(s.core.Prompt))
		e.stats.ttft.add(e.seconds(ev.At - s.core.Arrived()))
		e.stats.prefill.add(e.seconds(ev.At - s.started))
		s.computed = ev.At
	case tpu.Generated:
		e.generated(ev, s)
	case tpu.Finished:
		e.ended(ev.At, s, s.plan.reason)
	case tpu.Stopped:
		e.ended(ev.At, s, e.ending)
	}
}

// seconds is the real duration of a modelled one.
func (e *engine) seconds(modelled time.Duration) float64 { return modelled.Seconds() / e.speed }

// generated shows new tokens to the handler, but the last together with the end.
func (e *engine) generated(ev tpu.Event, s *sequence) {
	first := s.core.Made() == ev.Tokens
	if !first {
		e.stats.itl.add(e.seconds(ev.At - s.last))
	}
	s.last = ev.At
	if s.core.Made() < s.core.Answer {
		s.show(s.core.Made(), running)
		s.job.tell(e.real(ev.At), first)
	}
}

// ended shows a sequence's end to the handler.
func (e *engine) ended(at time.Duration, s *sequence, why ending) {
	e.stats.success[why]++
	e.stats.generatedSize.add(float64(s.core.Made()))
	e.stats.answered(s.core.Made(), e.seconds(at-s.computed))
	e.stats.e2e.add(e.seconds(at - s.core.Arrived()))
	s.show(s.core.Made(), why)
	s.job.tell(e.real(at), true)
}

// tellEvery spaces the wake-ups of one handler in real time. Steps last longer
// than this unless Speed is high; then a chunk carries several tokens, like
// those of a vLLM whose HTTP side is busy, and hundreds of streams stay cheap.
const tellEvery = 10 * time.Millisecond

// tell wakes the job's handler, at once or when it is due again.
func (j *job) tell(at time.Duration, atOnce bool) {
	if atOnce || at-j.told >= tellEvery {
		j.told = at
		j.ring()
	}
}
