package vllmsim

import (
	"slices"
	"time"
)

// batch is the engine's state and rules, without a goroutine or a clock of its
// own: begin plans a step and says how long it lasts, commit ends it.
type batch struct {
	hardware
	free    int         // pages
	total   int         // all pages
	budget  int         // tokens in a step
	waiting []*sequence // first come, first served
	running []*sequence // oldest first
	held    int         // waiting and running
	peak    int         // most ever held
	cancels int         // sequences whose client left before their end
	stats   stats
}

func newBatch(o Options) *batch {
	h := newHardware(o)
	return &batch{hardware: h, free: h.pages(), total: h.pages(), budget: o.MaxNumBatchedTokens, stats: newStats(o.MaxModelLen)}
}

// add takes a request's sequences into the waiting queue, which has no bound.
func (b *batch) add(now time.Time, j *job) {
	for _, s := range j.sequences {
		s.arrived = now
	}
	b.waiting = append(b.waiting, j.sequences...)
	b.held += len(j.sequences)
	b.peak = max(b.peak, b.held)
}

// begin plans the next step. busy is false when there is nothing to compute.
func (b *batch) begin(now time.Time) (last time.Duration, busy bool) {
	b.waiting, b.running = b.drop(b.waiting), b.drop(b.running)
	budget := b.budget
	preempted := b.continueRunning(&budget)
	if !preempted {
		b.admitWaiting(now, &budget)
	}
	b.stats.observe(len(b.running), len(b.waiting), 1-float64(b.free)/float64(b.total))
	if len(b.running) == 0 {
		return 0, false
	}
	return b.stepTime(b.load()), true
}

// drop takes out the cancelled sequences and frees their pages.
func (b *batch) drop(list []*sequence) []*sequence {
	return slices.DeleteFunc(list, func(s *sequence) bool {
		if s.cancelled {
			b.giveBack(s)
			b.held--
			b.cancels++
		}
		return s.cancelled
	})
}

// continueRunning gives each running sequence its token, or the next chunk of
// its prompt. When pages run out it preempts the newest.
func (b *batch) continueRunning(budget *int) (preempted bool) {
	for i := 0; i < len(b.running); i++ {
		s := b.running[i]
		s.scheduled = min(s.remaining(), *budget)
		for !b.fit(s) {
			preempted = true
			if b.preemptNewest() == s {
				return true
			}
		}
		*budget -= s.scheduled
	}
	return preempted
}

// preemptNewest throws the newest running sequence back to the front of the
// queue; all of it will have to be computed again.
func (b *batch) preemptNewest() *sequence {
	newest := len(b.running) - 1
	s := b.running[newest]
	b.running = b.running[:newest]
	b.giveBack(s)
	s.computed, s.scheduled = 0, 0
	b.waiting = slices.Insert(b.waiting, 0, s)
	b.stats.preemptions++
	return s
}

// admitWaiting starts waiting sequences in order; the first that doesn't fit
// holds up those behind it.
func (b *batch) admitWaiting(now time.Time, budget *int) {
	for len(b.waiting) > 0 && len(b.running) < b.maxSeqs && *budget > 0 {
		s := b.waiting[0]
		s.scheduled = min(s.remaining(), *budget)
		if !b.fit(s) {
			s.scheduled = 0
			return
		}
		if s.started.IsZero() {
			s.started = now
			b.stats.queued(now.Sub(s.arrived))
		}
		*budget -= s.scheduled
		b.waiting = b.waiting[1:]
		b.running = append(b.running, s)
	}
}

// fit takes the pages that a sequence needs for this step, if there are enough.
func (b *batch) fit(s *sequence) bool {
	more := b.replica.PagesNeeded(s.computed+s.scheduled) - s.pages
	if more > b.free {
		return false
	}
	s.pages += more
	b.free -= more
	return true
}

func (b *batch) giveBack(s *sequence) {
	b.free += s.pages
	s.pages = 0
}

// load sums up the step that has been planned.
func (b *batch) load() stepLoad {
	var l stepLoad
	for _, s := range b.running {
		if s.scheduled == 0 {
			continue
		}
		l.sequences++
		l.tokens += s.scheduled
		l.context += s.computed + s.scheduled
	}
	return l
}

// commit ends the step: tokens are made, finished sequences go, handlers wake.
func (b *batch) commit(now time.Time) {
	b.stats.step(b.load().tokens)
	b.running = slices.DeleteFunc(b.running, func(s *sequence) bool { return b.advance(now, s) })
	if len(b.running)+len(b.waiting) == 0 {
		b.stats.observe(0, 0, 0)
	}
}

// advance books one sequence's part of the step; true when the sequence is done.
func (b *batch) advance(now time.Time, s *sequence) (done bool) {
	s.computed += s.scheduled
	s.scheduled = 0
	if s.cancelled || s.remaining() > 0 {
		return false
	}
	first := !s.counted
	if first {
		s.counted = true
		b.stats.prefilled(s.prompt, now.Sub(s.arrived))
	}
	if s.plan.tokens > 0 {
		b.stats.token(now, s)
		s.emitted++
		s.last = now
		s.made.Store(int64(s.emitted))
	}
	if s.emitted < s.plan.tokens {
		s.job.tell(now, first)
		return false
	}
	b.finish(now, s, s.plan.reason)
	return true
}

// finish ends a sequence and wakes its handler. The sequence is no longer held
// when the handler learns of it.
func (b *batch) finish(now time.Time, s *sequence, why ending) {
	b.giveBack(s)
	b.held--
	b.stats.finished(now, s, why)
	s.ended.Store(uint32(why))
	s.job.tell(now, true)
}

// abort ends everything, as a vLLM that is shut down without patience does.
func (b *batch) abort(now time.Time) {
	for _, s := range slices.Concat(b.running, b.waiting) {
		b.finish(now, s, aborted)
	}
	b.running, b.waiting = nil, nil
	b.stats.observe(0, 0, 0)
}

// tellEvery spaces the wake-ups of one handler in real time. Steps last longer
// than this unless Speed is high; then a chunk carries several tokens, like
// those of a vLLM whose HTTP side is busy, and hundreds of streams stay cheap.
const tellEvery = 10 * time.Millisecond

// tell wakes the job's handler, at once or when it is due again.
func (j *job) tell(now time.Time, atOnce bool) {
	if atOnce || now.Sub(j.told) >= tellEvery {
		j.told = now
		j.ring()
	}
}
