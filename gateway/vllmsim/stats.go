package vllmsim

import (
	"slices"
	"time"

	"sluice/router/tpu"
)

// stats is what /metrics shows beside the engine's own counters and gauges.
// Times are real seconds.
type stats struct {
	created time.Time
	success [endings]int // by ending
	cached  int          // prompt tokens that the prefix cache had, of prompts computed
	busy    int          // requests refused because too many were held

	iteration, ttft, itl, tpot, e2e, queue, inference, prefill, decode histogram
	promptSize, computedSize, generatedSize, longestSize, boundSize    histogram
	answers, preemptions                                               histogram
}

// snapshot is all of a scrape.
type snapshot struct {
	*stats
	tpu.Counters
	tpu.Gauges
	page, pages int // tokens of a KV page, and how many there are
}

func newStats(maxModelLen int) stats {
	s := stats{created: time.Now()}
	for _, f := range families {
		if f.of != nil {
			*f.of(&s) = newHistogram(f.bounds(maxModelLen))
		}
	}
	return s
}

// clone is a copy that later steps don't change.
func (s *stats) clone() *stats {
	c := *s
	for _, f := range families {
		if f.of != nil {
			h := f.of(&c)
			h.counts = slices.Clone(h.counts)
		}
	}
	return &c
}

// computed books that a sequence has its first token, so many seconds after it
// came.
func (s *stats) computed(q *sequence, after float64) {
	s.ttft.add(after)
	s.cached += q.core.Cached()
}

// times is how long the phases of an answer took, in seconds.
type times struct {
	queue, prefill, decode, whole float64
}

// ended books a sequence's end. What its client left behind is not booked.
func (s *stats) ended(q *sequence, made int, why ending, took times) {
	s.success[why]++
	s.queue.add(took.queue)
	s.prefill.add(took.prefill)
	s.decode.add(took.decode)
	s.inference.add(took.prefill + took.decode)
	s.e2e.add(took.whole)
	s.tpot.add(took.decode / float64(max(made-1, 1)))
	s.promptSize.add(float64(q.core.Prompt))
	s.computedSize.add(float64(q.core.Prompt - q.core.Cached()))
	s.generatedSize.add(float64(made))
	s.preemptions.add(float64(q.preempted))
	s.boundSize.add(float64(q.siblings.most))
	if q.siblings.ended(made) {
		s.longestSize.add(float64(q.siblings.longest))
		s.answers.add(float64(q.siblings.of))
	}
}

// siblings are the answers to one prompt.
type siblings struct {
	of      int // how many there are
	most    int // tokens that each may have
	over    int // how many have ended
	longest int // tokens of the longest of those
}

// ended counts one that has ended; true with the last.
func (s *siblings) ended(made int) bool {
	s.over++
	s.longest = max(s.longest, made)
	return s.over == s.of
}

// histogram counts observations by upper bound.
type histogram struct {
	bounds []float64
	counts []int // one more than bounds: the rest
	sum    float64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]int, len(bounds)+1)}
}

func (h *histogram) add(v float64) {
	i, _ := slices.BinarySearch(h.bounds, v)
	h.counts[i]++
	h.sum += v
}
