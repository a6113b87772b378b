package tpu

import (
	"slices"
	"testing"
	"time"
)

// loop is a closed loop of users without think time after it has settled.
type loop struct {
	throughput  float64 // answers per second
	latency     float64 // seconds, mean
	preemptions int
}

func closedLoop(t *testing.T, model string, users, prompt, answer int) loop {
	t.Helper()
	const settle, end = 4 * time.Minute, 20 * time.Minute
	w := newWorld(t, model, Options{})
	w.users(users, prompt, answer)
	var l loop
	var finished int
	next := w.loop
	w.loop = func(s *Sequence) {
		if s.Arrived() > settle {
			finished++
			l.latency += (w.now - s.Arrived()).Seconds()
		}
		next(s)
	}
	w.run(settle)
	before := w.engine.Counters()
	w.run(end)
	after := w.engine.Counters()
	l.throughput = float64(after.Finished-before.Finished) / (end - settle).Seconds()
	l.latency /= float64(finished)
	l.preemptions = after.Preemptions - before.Preemptions
	return l
}

// The published generation workload, 500 tokens in and 1,000 out: 27B stops to
// scale between 64 and 128 users, because its KV cache is full and sequences
// are preempted; 12B doesn't.
func TestGenerationBends(t *testing.T) {
	generation := func(model string, users int) loop { return closedLoop(t, model, users, 500, 1000) }
	at64, at128 := generation("gemma-3-27b", 64), generation("gemma-3-27b", 128)
	t.Logf("27B: %+v at 64 users, %+v at 128", at64, at128)
	if at64.preemptions != 0 || at128.preemptions < 100 || at128.throughput > 1.1*at64.throughput || at128.latency < 1.7*at64.latency {
		t.Errorf("27B doesn't bend: %+v at 64 users, %+v at 128", at64, at128)
	}
	at64, at128 = generation("gemma-3-12b", 64), generation("gemma-3-12b", 128)
	t.Logf("12B: %+v at 64 users, %+v at 128", at64, at128)
	if at128.preemptions != 0 || at128.throughput < 1.35*at64.throughput || at128.latency > 1.5*at64.latency {
		t.Errorf("12B bends: %+v at 64 users, %+v at 128", at64, at128)
	}
}

// A step that computes a prompt of 4,000 tokens beside 128 decodes is padded to
// twice the prompt's bucket without a gap, and hardly with one of 128.
func TestMixingPromptsWithDecodesIsDear(t *testing.T) {
	f := func(model string, gap int, low, high float64) {
		t.Helper()
		s := setup(t, model)
		s.Gap = gap
		alone, mixed := prefillStep(t, s, 0), prefillStep(t, s, 128)
		if ratio := float64(mixed) / float64(alone); ratio < low || ratio > high {
			t.Errorf("%s, gap %d: %v alone, %v beside 128 decodes: %.2f times, want %v to %v", model, gap, alone, mixed, ratio, low, high)
		}
	}
	f("gemma-3-12b", 0, 1.75, 2.1)
	f("gemma-3-12b", 128, 1, 1.25)
	f("gemma-3-27b", 0, 1.75, 2.1)
	f("gemma-3-27b", 128, 1, 1.25)
}

// prefillStep is how long an engine's step takes that computes a prompt of 4,000
// tokens beside sequences that decode.
func prefillStep(t *testing.T, s Setup, decodes int) time.Duration {
	t.Helper()
	w := newWorld(t, "", Options{Setup: s})
	for range decodes {
		w.add(60, 1000)
	}
	for range 3 {
		w.step()
	}
	prompt := w.add(4000, 10)
	for prompt.Started() == 0 && decodes > 0 {
		w.step()
	}
	w.step()
	return prompt.First() - prompt.Started()
}

// An idle replica's first token and pace are what the model says.
func TestIdleReplicaKeepsTheModelledTime(t *testing.T) {
	f := func(model string, prompt int) {
		t.Helper()
		w := newWorld(t, model, Options{Jitter: 0.05, Seed: 3})
		w.now = time.Hour
		s := w.add(prompt, 200)
		w.drain()
		costs := w.engine.Costs()
		ttft, tpot := s.First()-s.Arrived(), (w.now-s.First())/199
		near(t, "first token", ttft, costs.Prefill(prompt, 0, Held{}).Time)
		near(t, "token", tpot, costs.Decode(prompt+100, Held{}).Time)
	}
	f("gemma-3-12b", 500)
	f("gemma-3-27b", 4000)
	f("gemma-3-4b", 30000)
}

func near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if (got - want).Abs() > want/10 {
		t.Errorf("%s took %v, want %v within a tenth", what, got, want)
	}
}

// The same seed gives the same events, another seed others.
func TestDeterminism(t *testing.T) {
	f := func(seed uint64) []Event {
		w := newWorld(t, "gemma-3-27b", Options{Jitter: 0.1, Seed: seed})
		for i := range 100 {
			w.add(500+i, 300)
			w.step()
		}
		w.drain()
		return nameless(w.events)
	}
	first, again, other := f(1), f(1), f(2)
	if !slices.Equal(first, again) {
		t.Error("the same seed gave other events")
	}
	if slices.Equal(first, other) {
		t.Error("another seed gave the same events")
	}
}

func TestCostOfARequestBesideOthers(t *testing.T) {
	costs, err := NewCosts(setup(t, "gemma-3-27b"))
	if err != nil {
		t.Fatal(err)
	}
	idle, busy := Held{}, Held{Sequences: 64, Context: 1000}
	f := func(what string, smaller, larger time.Duration) {
		t.Helper()
		if smaller >= larger {
			t.Errorf("%s: %v, want less than %v", what, smaller, larger)
		}
	}
	f("a prompt on an idle replica", costs.Prefill(4000, 0, idle).Time, costs.Prefill(4000, 0, busy).Time)
	f("a cached prompt", costs.Prefill(4000, 3584, idle).Time, costs.Prefill(4000, 0, idle).Time)
	f("what a prompt costs others", costs.Prefill(4000, 0, busy).Extra, costs.Prefill(4000, 0, busy).Time)
	f("one more decode beside others", costs.Decode(1000, busy).Extra, costs.Decode(1000, idle).Extra/10)
	f("a longer context", costs.Decode(1000, busy).Time, costs.Decode(100000, busy).Time)
	f("a prompt of two chunks", 2*costs.Prefill(8192, 0, idle).Time, costs.Prefill(16385, 0, idle).Time)
	if c := costs.Prefill(4000, 0, idle); c.Time != c.Extra {
		t.Errorf("on an idle replica all time is the request's: %+v", c)
	}
}
