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
		s.started = ev.At
	case tpu.Computed:
		e.stats.computed(s, e.seconds(ev.At-s.core.Arrived()))
		s.computed = ev.At
	case tpu.Preempted:
		s.preempted++
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
	e.stats.ended(s, s.core.Made(), why, e.times(s, at))
	s.show(s.core.Made(), why)
	s.job.tell(e.real(at), true)
}

// times is how long the phases of a sequence took that ends now; what it didn't come to has
// taken none.
func (e *engine) times(s *sequence, now time.Duration) times {
	arrived, started, computed := s.core.Arrived(), s.started, s.computed
	if started == 0 {
		started = now
	}
	if computed == 0 {
		computed = now
	}
	return times{
		queue: e.seconds(started - arrived), prefill: e.seconds(computed - started),
		decode: e.seconds(now - computed), whole: e.seconds(now - arrived),
	}
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
