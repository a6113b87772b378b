package tpu

import "time"

// Sequence is one prompt and the answer it will get. The caller sets the
// exported fields before Engine.Add and leaves them alone afterwards.
type Sequence struct {
	Prompt int // tokens, at least 1
	Answer int // tokens that it will make; 0: its prompt is only read
	// Blocks names the content of its first pages: a number for each full page
	// of the prompt, or of prompt and answer where the answer is known, that
	// stands for all tokens from the start to the end of that page (Chain).
	// Sequences share pages with equal numbers. Nil: it shares none, and a
	// preemption computes all of it again.
	Blocks []uint64
	Owner  any // the caller's

	cached    int // tokens that the prefix cache had when it was first scheduled
	computed  int // tokens whose KV is in the pages
	made      int // tokens of the answer
	scheduled int // tokens of the step under way
	pages     pages
	state     state
	leaves    time.Duration // when its client left, or never
	arrived   time.Duration
	started   time.Duration // first scheduled
	first     time.Duration // its prompt was computed
}

// state is where a sequence is.
type state uint8

const (
	outside state = iota // not added yet
	fresh                // waiting, never scheduled
	waiting              // preempted
	running
	ended
)

// never is after all times.
const never = time.Duration(1<<63 - 1)

// Made is how many tokens of the answer there are.
func (s *Sequence) Made() int { return s.made }

// Cached is how many tokens of the prompt the prefix cache had when it was first
// scheduled; 0 before.
func (s *Sequence) Cached() int { return s.cached }

// Arrived is when it was added.
func (s *Sequence) Arrived() time.Duration { return s.arrived }

// Started is when it was first scheduled; 0 before.
func (s *Sequence) Started() time.Duration { return s.started }

// First is when its prompt had been computed and its first token was made; 0
// before.
func (s *Sequence) First() time.Duration { return s.first }

// remaining is how many tokens must be computed before the next one is made: 1
// while decoding, everything again after a preemption.
func (s *Sequence) remaining() int { return s.Prompt + s.made - s.computed }

// EventKind is what happened to a sequence.
type EventKind uint8

const (
	_         EventKind = iota
	Started             // scheduled for the first time
	Computed            // its prompt has been computed for the first time
	Generated           // Tokens more of its answer were made; the first follows Computed
	Preempted           // its pages were taken; it waits, first in line
	Finished            // its answer is whole
	Left                // it was dropped because its client had left
	Stopped             // it was dropped because the engine was stopped
	Stepped             // a step of Tokens tokens ended; no sequence
)

// Event is what Options.Observe is told.
type Event struct {
	Kind     EventKind
	At       time.Duration
	Sequence *Sequence
	Tokens   int
}

// Chain is the number of a page's content: that of all before it (0: none) and
// the page's own, mixed. Use it to make Sequence.Blocks.
func Chain(before, own uint64) uint64 {
	x := before*0x9e3779b97f4a7c15 + own + 0x632be59bd9b4e019
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
