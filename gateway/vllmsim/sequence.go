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
	failed         // the engine is dead
)

// String is vLLM's finish reason.
func (e ending) String() string {
	return [...]string{running: "", stopped: "stop", reached: "length", aborted: "abort", failed: "error"}[e]
}

// sequence is one prompt being decoded. The handler that made it may read only
// plan and what progress gives; the rest belongs to the engine.
type sequence struct {
	plan plan
	job  *job

	siblings  *siblings // the answers to its prompt, itself among them
	preempted int       // times

	shown atomic.Uint64 // what the handler may show: tokens × endings + the ending

	core tpu.Sequence
	// Modelled: when it was first run, had its prompt computed, and made its last token.
	started, computed, last time.Duration
}

// job is the sequences of one request and the bell that wakes its handler.
type job struct {
	sequences []*sequence
	wake      chan struct{} // holds one
	told      time.Duration // last woken, real time since the engine's start
	bound     int           // tokens that the longest answer may have
	patience  time.Duration // it is never answered, and cut after so long; 0: it is answered
}

func newJob() *job { return &job{wake: make(chan struct{}, 1)} }

// add makes one more sequence. The blocks may be shared with others.
func (j *job) add(prompt int, blocks []uint64, p plan) {
	j.addOf(&siblings{of: 1, most: p.tokens}, prompt, blocks, p)
}

// addOf is add for a prompt that may have several answers.
func (j *job) addOf(family *siblings, prompt int, blocks []uint64, p plan) {
	s := &sequence{plan: p, job: j, siblings: family, core: tpu.Sequence{Prompt: prompt, Answer: p.tokens, Blocks: blocks}}
	s.core.Owner = s
	j.sequences = append(j.sequences, s)
}

// endings is how many there are.
const endings = failed + 1

// show lets the handler show so many tokens and, in the same moment, the end.
func (s *sequence) show(made int, why ending) {
	s.shown.Store(uint64(made)*uint64(endings) + uint64(why))
}

// progress is how many tokens there are to show, and why there won't be more.
func (s *sequence) progress() (made int, why ending) {
	shown := s.shown.Load()
	return int(shown / uint64(endings)), ending(shown % uint64(endings))
}

func (j *job) ring() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}
