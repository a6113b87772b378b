package tpu

import (
	"slices"
	"testing"
	"time"
)

// small is a setup with pages of 16 tokens, and as many pages as asked for.
func small(t testing.TB, pages int, change func(*Setup)) Setup {
	t.Helper()
	s := setup(t, "gemma-3-12b")
	s.MaxModelLen, s.MaxNumSeqs, s.MaxBatched, s.Model.Window = 256, 8, 64, 32
	if change != nil {
		change(&s)
	}
	s.Overhead = float64(s.Slice.Chips)*s.Slice.HBM*s.Utilisation - s.Model.WeightBytes() - s.Replica().pageBytes()*(float64(pages)+0.5)
	return s
}

func TestMaxNumSeqsBoundsTheRunning(t *testing.T) {
	w := newWorld(t, "", Options{Setup: small(t, 1000, func(s *Setup) { s.MaxNumSeqs = 4 })})
	for range 10 {
		w.add(10, 3)
	}
	for w.step() {
		if n := len(w.engine.running); n > 4 {
			t.Fatalf("%d sequences run, want at most 4", n)
		}
	}
	// Three waves of three tokens.
	if c := w.engine.Counters(); c.Steps != 9 || c.Finished != 10 || c.PromptTokens != 100 || c.GenerationTokens != 30 {
		t.Errorf("got %+v", c)
	}
	if w.engine.Holds() != 0 || w.engine.Gauges() != (Gauges{}) || w.engine.cache.free() != 1000 {
		t.Errorf("afterwards %d held, gauges %+v, %d pages free", w.engine.Holds(), w.engine.Gauges(), w.engine.cache.free())
	}
}

// Decodes come first; what they leave of the budget is a long prompt's.
func TestBudgetSplitsPrompts(t *testing.T) {
	w := newWorld(t, "", Options{Setup: small(t, 1000, nil)})
	for range 4 {
		w.add(5, 100)
	}
	w.step()
	long := w.add(150, 1)
	var chunks []int
	for long.Made() == 0 {
		before := long.computed
		w.step()
		chunks = append(chunks, max(long.computed, before)-before)
	}
	// The first was planned before it came.
	if want := []int{0, 60, 60, 30}; !slices.Equal(chunks, want) {
		t.Errorf("got chunks %v, want %v", chunks, want)
	}
}

// As many prompts are admitted in a step as the budget holds; the last is cut,
// and those behind it wait.
func TestSeveralPromptsShareAStep(t *testing.T) {
	w := newWorld(t, "", Options{Setup: small(t, 1000, nil)})
	a, b, c, d := w.add(30, 1), w.add(20, 1), w.add(30, 1), w.add(5, 1)
	w.step()
	if a.Made() != 1 || b.Made() != 1 || c.Made() != 0 || c.computed != 14 || d.computed != 0 {
		t.Errorf("after a step: made %d, %d, %d, computed %d and %d", a.Made(), b.Made(), c.Made(), c.computed, d.computed)
	}
}

// The first that doesn't fit holds up those behind it, which would.
func TestHeadOfLineBlocks(t *testing.T) {
	// A sequence of 256 tokens needs 16+5×3 pages.
	w := newWorld(t, "", Options{Setup: small(t, 31, func(s *Setup) { s.MaxBatched = 256 })})
	w.add(16, 100) // 6 pages, then more
	big, tiny := w.add(200, 1), w.add(10, 1)
	w.step()
	w.step()
	if w.engine.running[0].Made() != 2 || big.computed != 0 || tiny.Made() != 0 {
		t.Errorf("the big one has %d tokens computed, the tiny one %d made; want both to wait", big.computed, tiny.Made())
	}
	w.drain()
	if big.First() > tiny.First() {
		t.Errorf("the big one's first token came at %v, after the tiny one's at %v", big.First(), tiny.First())
	}
}

func TestNewestIsPreempted(t *testing.T) {
	w := newWorld(t, "", Options{Setup: small(t, 31, nil)})
	older, newer := w.add(16, 200), w.add(16, 200)
	last := w.add(16, 200)
	for w.engine.Counters().Preemptions == 0 {
		w.step()
	}
	if w.engine.waiting.front() != last || last.computed != 0 {
		t.Fatalf("want the newest at the front of the queue, with nothing computed")
	}
	made := last.Made()
	w.drain()
	for _, s := range []*Sequence{older, newer, last} {
		if s.Made() != 200 || s.state != ended {
			t.Errorf("made %d tokens of 200", s.Made())
		}
	}
	// A preemption loses pages, not tokens, and the prompt is counted once.
	if c := w.engine.Counters(); made == 0 || c.GenerationTokens != 600 || c.PromptTokens != 48 {
		t.Errorf("made %d before; got %+v", made, c)
	}
	if free := w.engine.cache.free(); free != 31 {
		t.Errorf("%d of 31 pages free at the end", free)
	}
}

func TestAbortTakesEffectAtTheNextStep(t *testing.T) {
	w := newWorld(t, "", Options{Setup: small(t, 1000, func(s *Setup) { s.MaxNumSeqs = 1 })})
	runs, waits := w.add(10, 100), w.add(10, 100)
	next, _ := w.engine.Step(0)
	w.engine.Abort(next/2, runs)
	w.engine.Abort(next/2, runs)
	if w.engine.Step(next / 2); w.engine.Holds() != 2 {
		t.Fatalf("%d held before the next step, want 2", w.engine.Holds())
	}
	w.engine.Step(next)
	if w.engine.Holds() != 1 || w.engine.running[0] != waits || runs.Made() != 0 {
		t.Errorf("%d held after it, want the other to run", w.engine.Holds())
	}
	w.now = next
	w.step()
	w.engine.Abort(w.now, waits)
	w.drain()
	if c := w.engine.Counters(); w.engine.Holds() != 0 || c.Left != 2 || w.engine.Gauges() != (Gauges{}) || w.engine.leaving != 0 {
		t.Errorf("at the end %d held, counters %+v, gauges %+v", w.engine.Holds(), c, w.engine.Gauges())
	}
	w.engine.Abort(w.now, waits)
	if w.engine.leaving != 0 {
		t.Error("an abort of what has ended was kept")
	}
}

func TestPromptOnlySequenceEndsAfterPrefill(t *testing.T) {
	w := newWorld(t, "", Options{Setup: small(t, 100, nil)})
	s := w.add(100, 0)
	w.drain()
	if c := w.engine.Counters(); s.Made() != 0 || s.state != ended || c.Steps != 2 || c.GenerationTokens != 0 {
		t.Errorf("made %d, %+v", s.Made(), c)
	}
}

func TestEvents(t *testing.T) {
	w := newWorld(t, "", Options{Setup: small(t, 100, nil)})
	s := w.add(10, 2)
	w.drain()
	first, second := s.First(), w.now
	want := []Event{
		{Started, 0, s, 0}, {Computed, first, s, 0}, {Generated, first, s, 1}, {Stepped, first, nil, 10},
		{Generated, second, s, 1}, {Finished, second, s, 0}, {Stepped, second, nil, 1},
	}
	if !slices.Equal(w.events, want) {
		t.Errorf("got %+v, want %+v", w.events, want)
	}
}

func TestBurst(t *testing.T) {
	w := newWorld(t, "", Options{Setup: small(t, 1000, nil), Burst: 10})
	plain := newWorld(t, "", Options{Setup: small(t, 1000, nil)})
	for _, w := range []*world{w, plain} {
		w.add(10, 26)
		w.add(10, 16)
		w.drain()
	}
	// Prefill, then 10, 10 (of which one needs 5), 5.
	c, p := w.engine.Counters(), plain.engine.Counters()
	if c.Steps != 4 || c.GenerationTokens != 42 || p.Steps != 26 {
		t.Errorf("got %d steps, %d tokens; %d steps without bursts", c.Steps, c.GenerationTokens, p.Steps)
	}
	// The same pace, but for the sequence that ends within a burst.
	if ratio := float64(w.now) / float64(plain.now); ratio < 0.99 || ratio > 1.02 {
		t.Errorf("took %v, want about %v", w.now, plain.now)
	}
}

// Nothing bursts while somebody waits or reads.
func TestNoBurstBesidePrompts(t *testing.T) {
	w := newWorld(t, "", Options{Setup: small(t, 1000, func(s *Setup) { s.MaxNumSeqs = 1 }), Burst: 10})
	w.add(10, 30)
	w.add(10, 1)
	w.step()
	w.step()
	if s := w.engine.running[0]; s.Made() != 2 {
		t.Errorf("made %d tokens while another waited, want 2", s.Made())
	}
}

func TestRefusals(t *testing.T) {
	s := setup(t, "gemma-3-27b")
	s.Overhead = 60 * gib
	if _, err := NewEngine(Options{Setup: s}); err == nil {
		t.Error("a KV cache that can't hold one sequence was accepted")
	}
	if _, err := NewEngine(Options{}); err == nil {
		t.Error("a setup without limits was accepted")
	}
	if _, err := SetupOf("other", "v6e-2x2"); err == nil {
		t.Error("an unknown model was accepted")
	}
	if _, err := SetupOf("gemma-3-4b", "other"); err == nil {
		t.Error("an unknown slice was accepted")
	}
	f := func(prompt, answer int) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%d and %d tokens were added", prompt, answer)
			}
		}()
		newWorld(t, "", Options{Setup: small(t, 100, nil)}).add(prompt, answer)
	}
	f(0, 1)
	f(1, -1)
	f(200, 57)
}

// A call to Step that comes late makes up for it.
func TestLateStepChangesNothing(t *testing.T) {
	f := func(pace time.Duration) []Event {
		w := newWorld(t, "gemma-3-27b", Options{Jitter: 0.1, Seed: 7, Burst: 10})
		arrivals := []struct {
			at             time.Duration
			prompt, answer int
		}{{0, 500, 40}, {time.Second, 4000, 10}, {time.Second, 9000, 30}, {3 * time.Second, 100, 50}, {20 * time.Second, 50, 50}}
		var last *Sequence
		for _, a := range arrivals {
			for ; w.now < a.at; w.now += pace {
				w.engine.Step(w.now)
			}
			w.now = a.at
			last = w.add(a.prompt, a.answer)
		}
		w.engine.Abort(w.now+100*time.Millisecond, last)
		for ; w.now < time.Minute; w.now += pace {
			w.engine.Step(w.now)
		}
		w.engine.Step(time.Minute)
		return nameless(w.events)
	}
	often, late := f(time.Millisecond), f(time.Hour)
	if len(often) < 40 || often[len(often)-1].Kind != Left || !slices.Equal(often, late) {
		t.Errorf("%d events when Step is called often, %d when it is late", len(often), len(late))
	}
}

// nameless is events whose sequences are known by their prompt.
func nameless(events []Event) []Event {
	list := slices.Clone(events)
	for i := range list {
		if s := list[i].Sequence; s != nil {
			list[i].Tokens += s.Prompt << 32
			list[i].Sequence = nil
		}
	}
	return list
}
