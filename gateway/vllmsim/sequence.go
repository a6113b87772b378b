package vllmsim

import (
	"sync/atomic"
	"time"
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
// plan, prompt and what progress gives; the rest belongs to the engine.
type sequence struct {
	prompt int // tokens
	plan   plan
	job    *job

	made  atomic.Int64  // tokens the handler may show
	ended atomic.Uint32 // an ending; set after made

	computed  int // tokens whose KV is in the pages
	emitted   int // tokens made
	scheduled int // tokens of the step under way
	pages     int
	cancelled bool
	counted   bool // its prompt is in the metrics
	arrived   time.Time
	started   time.Time // first scheduled
	last      time.Time // last token
}

// job is the sequences of one request and the bell that wakes its handler.
type job struct {
	sequences []*sequence
	wake      chan struct{} // holds one
	told      time.Time     // last woken
}

func newJob() *job { return &job{wake: make(chan struct{}, 1)} }

// add makes one more sequence.
func (j *job) add(prompt int, p plan) {
	j.sequences = append(j.sequences, &sequence{prompt: prompt, plan: p, job: j})
}

// progress is how many tokens there are to show, and why there won't be more.
func (s *sequence) progress() (made int, why ending) {
	why = ending(s.ended.Load()) // before made: then made is final
	return int(s.made.Load()), why
}

// remaining is how many tokens must be computed before the next one is made.
// It is 1 while decoding, and everything again after a preemption.
func (s *sequence) remaining() int { return s.prompt + s.emitted - s.computed }

func (j *job) ring() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}
