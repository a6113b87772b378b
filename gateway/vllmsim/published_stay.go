package vllmsim

import (
	"time"

	"sluice/router/tpu"
)

// stay is a job from its arrival to its end. Times are real.
type stay struct {
	arrived time.Time
	first   time.Duration // from arrival to the first token
	token   time.Duration // between two tokens
	longest int           // tokens of the longest answer
	made    int           // tokens of it so far
	last    time.Duration // from arrival to when they were made
	next    time.Duration // from arrival to when more are shown
	timer   *time.Timer   // of that; nil: lost
}

// jitter spreads latencies evenly by this share to either side, so that users
// who began together don't stay together.
const jitter = 0.1

// stay is how long a job of this size takes: times what it would take on 12B
// beside 15 of its like. That is modelled; the table has no times.
func (p *published) stay(prompt, answer int, times float64) *stay {
	beside := tpu.Held{Sequences: int(publishedUsers[0]) - 1, Context: prompt + answer/2}
	real := func(modelled time.Duration) time.Duration {
		return time.Duration(float64(modelled) * times / p.speed)
	}
	first := real(p.base.Prefill(prompt, 0, beside).Time)
	return &stay{
		arrived: time.Now(), longest: answer, first: first, next: first,
		token: max(real(p.base.Decode(prompt+answer/2, beside).Time), 1),
	}
}

// due is when so many tokens have been made, from arrival.
func (s *stay) due(tokens int) time.Duration {
	return s.first + time.Duration(max(tokens-1, 0))*s.token
}

// tick shows the tokens that are due, and waits for the next ones.
func (p *published) tick(j *job, st *stay) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stays[j] != st || !p.hung.IsZero() {
		return // the timer fired while that happened
	}
	now := time.Since(st.arrived)
	made := min(1+int((now-st.first)/st.token), st.longest)
	p.book(j, st, made, now)
	if st.made, st.last = made, now; made == st.longest {
		delete(p.stays, j)
		return
	}
	st.next = max(st.due(made+1), min(now+tellEvery, st.due(st.longest)))
	st.timer.Reset(st.next - now)
}

// book shows and counts the tokens from those that were made to made.
func (p *published) book(j *job, st *stay, made int, now time.Duration) {
	tokens := 0
	for _, s := range j.sequences {
		before, after := min(st.made, s.core.Answer), min(made, s.core.Answer)
		tokens += after - before
		switch {
		case st.last == 0:
			p.begun(s, now)
		case after > before:
			p.stats.itl.add((now - st.last).Seconds())
		}
		if after < s.core.Answer {
			s.show(after, running)
		} else if after > before || st.last == 0 {
			p.finished(s, st, now)
		}
	}
	p.counters.GenerationTokens += tokens
	p.stats.iteration.add(float64(tokens))
	j.ring()
}

// begun counts a sequence's first token.
func (p *published) begun(s *sequence, now time.Duration) {
	p.counters.PromptTokens += s.core.Prompt
	p.stats.computed(s, now.Seconds())
}

// finished shows and counts a sequence's natural end.
func (p *published) finished(s *sequence, st *stay, now time.Duration) {
	p.holds--
	p.counters.Finished++
	s.show(s.core.Answer, s.plan.reason)
	p.stats.ended(s, s.core.Answer, s.plan.reason, times{
		prefill: st.first.Seconds(), decode: (now - st.first).Seconds(), whole: now.Seconds()})
}

func (s *stay) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

func (s *stay) goOn(now time.Time) {
	if s.timer != nil {
		s.timer.Reset(s.arrived.Add(s.next).Sub(now))
	}
}
