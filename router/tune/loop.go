package tune

import (
	"time"

	"sluice/router"
	"sluice/router/tpu"
)

// loop is a closed loop: a replica that always holds so many sequences of the
// traffic seen, each followed by another when it ends. All modelled.
type loop struct {
	r       *replica
	engine  *tpu.Engine
	now     time.Duration
	prefill float64     // their share among those who come
	sizes   [2][2]table // by class, of prompts and of answers
	came    [2]int      // sequences drawn, by class
	debt    float64     // of sequences of class prefill, less than 1
	ended   []tpu.Event // in the step under way
	counted bool        // the warm-up is over
	result  Trial
	good    [2]int // within the SLO, by class
	all     [2]int // that ended, by class
}

// Trial is how a closed loop went. Modelled.
type Trial struct {
	Rate      float64         // sequences that ended, per second
	Good      [2]float64      // of prefill and decode, the share within the SLO; -1: none ended
	Preempted float64         // preemptions for each that ended
	Steps     map[int]float64 // how often a step had so many tokens
}

// Goodput is sequences per second within their SLO, the class that keeps it less
// often deciding: a replica that starves one class serves neither well.
func (t Trial) Goodput() float64 { return t.Rate * t.worst() }

// worst is the share within the SLO of the class that keeps it less often.
func (t Trial) worst() float64 {
	worst := 1.0
	for _, share := range t.Good {
		if share >= 0 {
			worst = min(worst, share)
		}
	}
	return worst
}

// How much of a loop counts, and how much comes before.
const (
	enough  = 400              // sequences that end
	longest = 20 * time.Minute // modelled
)

// hold runs a closed loop of n sequences, of one class or, for ClassNone, of both
// in the proportion seen.
func (r *replica) hold(n int, c router.Class) Trial {
	l := &loop{r: r, result: Trial{Steps: map[int]float64{}}}
	e, err := tpu.NewEngine(tpu.Options{Setup: r.setup, Observe: l.observe})
	if err != nil {
		panic("BUG: " + err.Error()) // replicaOf has tried
	}
	l.engine = e
	l.mix(c)
	for i := range n {
		l.add(spaced(i, golden)) // as if each had begun at another time
	}
	l.run(max(n, 50))
	before, from := e.Counters(), l.now
	l.counted = true
	l.run(enough)
	l.finish(from, e.Counters().Preemptions-before.Preemptions)
	return l.result
}

func (l *loop) mix(c router.Class) {
	t := l.r.traffic
	switch c {
	case router.Prefill:
		l.prefill = 1
	case router.ClassNone:
		l.prefill = t.Prefill.count() / t.requests()
	}
	for i, s := range []*Sizes{&t.Prefill, &t.Decode} {
		l.sizes[i] = [2]table{tableOf(s.Prompts), tableOf(s.Answers)}
	}
}

// run goes on until so many more have ended.
func (l *loop) run(more int) {
	for stop := l.now + longest; more > 0 && l.now < stop; {
		next, busy := l.engine.Step(l.now)
		more -= len(l.ended)
		for _, ev := range l.ended {
			l.judge(ev)
			l.add(1)
		}
		l.ended = l.ended[:0]
		if busy {
			l.now = next
		}
	}
}

// add sends the next sequence, with a part of its answer left to make.
func (l *loop) add(left float64) {
	i := 1
	if l.debt += l.prefill; l.debt >= 1 {
		i, l.debt = 0, l.debt-1
	}
	prompt, answer := l.r.draw(l.sizes[i][0], l.sizes[i][1], l.came[i])
	l.came[i]++
	s := &tpu.Sequence{Prompt: prompt, Answer: max(int(float64(answer)*left), 1), Blocks: l.shared(prompt), Owner: i}
	l.engine.Add(l.now, s)
}

// shared names the pages that the prefix cache is to have: the part of each
// prompt that it had in the traffic seen.
func (l *loop) shared(prompt int) []uint64 {
	n := int(l.r.traffic.Hits*float64(prompt)) / l.engine.Costs().Page()
	blocks := make([]uint64, 0, n)
	for i := range n {
		blocks = append(blocks, tpu.Chain(1, uint64(i)))
	}
	return blocks
}

func (l *loop) observe(ev tpu.Event) {
	switch ev.Kind {
	case tpu.Finished:
		l.ended = append(l.ended, ev)
	case tpu.Stepped:
		l.result.Steps[ev.Tokens]++
	}
}

// judge books whether one that ended has kept its SLO, counted from when the
// replica got it.
func (l *loop) judge(ev tpu.Event) {
	if !l.counted {
		return
	}
	s, i := ev.Sequence, ev.Sequence.Owner.(int)
	slo := l.r.slo[i]
	limit := slo.Limit(s.Prompt)
	kept := s.First()-s.Arrived() <= limit
	if i == side(router.Prefill) {
		kept = ev.At-s.Arrived() <= limit
	} else if s.Made() > 1 && slo.TPOT > 0 {
		kept = kept && (ev.At-s.First())/time.Duration(s.Made()-1) <= slo.TPOT
	}
	l.all[i]++
	if kept {
		l.good[i]++
	}
}

func (l *loop) finish(from time.Duration, preemptions int) {
	ended := l.all[0] + l.all[1]
	if seconds := (l.now - from).Seconds(); seconds > 0 {
		l.result.Rate = float64(ended) / seconds
	}
	l.result.Preempted = float64(preemptions) / float64(max(ended, 1))
	for i := range l.all {
		l.result.Good[i] = -1
		if l.all[i] > 0 {
			l.result.Good[i] = float64(l.good[i]) / float64(l.all[i])
		}
	}
}
