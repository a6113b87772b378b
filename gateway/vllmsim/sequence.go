package vllmsim

import (
	"sync/atomic"
	"time"

	"sluice/router/tpu"
)

// ending is why a sequence ended; zero while it goes on.
type ending uint32

const (
	running ending = iota
	stopped        // a natural end
	reached        // the bound was reached
	aborted        // the engine gave up: it is shutting down
)

// String is vLLM's finish reason.
func (e ending) String() string {
	return [...]string{running: "", stopped: "stop", reached: "length", aborted: "abort"}[e]
}

// sequence is one prompt being decoded. The handler that made it may read only
// plan and what progress gives; the rest belongs to the engine.
type sequence struct {
	plan plan
	job  *job

	made  atomic.Int64  // tokens the handler may show
	ended atomic.Uint32 // an ending; set after made

	core tpu.Sequence
	last time.Duration // modelled, of its last token
}

// job is the sequences of one request and the bell that wakes its handler.
type job struct {
	sequences []*sequence
	wake      chan struct{} // holds one
	told      time.Duration // last woken, real time since the engine's start
}

func newJob() *job { return &job{wake: make(chan struct{}, 1)} }

// add makes one more sequence.
func (j *job) add(prompt int, p plan) {
	s := &sequence{plan: p, job: j, core: tpu.Sequence{Prompt: prompt, Answer: p.tokens}}
	s.core.Owner = s
	j.sequences = append(j.sequences, s)
}

// progress is how many tokens there are to show, and why there won't be more.
func (s *sequence) progress() (made int, why ending) {
	why = ending(s.ended.Load()) // before made: then made is final
	return int(s.made.Load()), why
}

func (j *job) ring() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}
