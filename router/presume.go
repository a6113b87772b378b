package router

import "time"

// presumption stands in for the first token of an answer that isn't streamed,
// which nobody sees: it has probably come by then.
type presumption struct {
	timer
	lease *lease
}

// presumedLate is how many times as long as foreseen a first token is given to come:
// presumed too early, answers would decode that don't.
const presumedLate = 1.5

// presume sets the timer for it.
func (r *Router) presume(l *lease) {
	if !l.Whole || l.seqs == 0 {
		return
	}
	after := l.replica.pace.first.of(causes{1, l.ahead}) * presumedLate
	l.presumed.lease, l.presumed.owner = l, &l.presumed
	r.timers.start(&l.presumed.timer, r.now.Add(time.Duration(after*float64(time.Second))))
}

// expire books the first token, and learns nothing from it.
func (p *presumption) expire(r *Router, out []Decision) []Decision {
	if l := p.lease; l.closedAt.IsZero() && l.first.at.IsZero() {
		r.bookFirst(l, 0)
		l.first.presumed = true
	}
	return out
}

// learnPresumed is for an answer whose first token nobody saw: the prompt took what
// the tokens of the answer leave of its time.
func (r *Router) learnPresumed(l *lease, tokens int) {
	p := &l.replica.pace
	answer := min(float64(tokens)*p.tpot(l.replica.heldOf(Decode), p.inflow.now(r.now)), endless)
	took := max(r.now.Sub(l.since)-time.Duration(answer*float64(time.Second)), time.Millisecond)
	if l.first.presumed {
		l.timed(r.now, took)
		p.first.learn(causes{1, l.ahead}, took.Seconds())
		l.replica.memory.learn(&l.Prefixes)
		return
	}
	r.sawFirst(l, took)
}
