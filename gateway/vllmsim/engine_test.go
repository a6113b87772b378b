package vllmsim

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/router/tpu"
)

// An idle replica takes exactly the modelled time for each token.
func TestEngineKeepsTheModelledTime(t *testing.T) {
	f := func(speed float64) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			o := Options{Size: "gemma-3-12b", Speed: speed}.withDefaults()
			e := newEngine(o)
			defer e.close()
			want := expectedTime(t, o, 500, 20)
			start := time.Now()
			j := sequences(1, 500, 20)
			e.add(j)
			for why := running; why == running; _, why = j.sequences[0].progress() {
				<-j.wake
			}
			if got := time.Since(start); got < want-time.Millisecond || got > want+time.Millisecond {
				t.Errorf("speed %v: took %v, want %v", speed, got, want)
			}
		})
	}
	f(1)
	f(20)
}

// expectedTime is what one request costs a replica of its own.
func expectedTime(t *testing.T, o Options, prompt, tokens int) time.Duration {
	t.Helper()
	costs, err := tpu.NewCosts(o.setup())
	if err != nil {
		t.Fatal(err)
	}
	total := costs.Prefill(prompt, 0, tpu.Held{}).Time
	for i := 1; i < tokens; i++ {
		total += costs.Decode(prompt+i, tpu.Held{}).Time
	}
	return time.Duration(float64(total) / o.Speed)
}

// sequences makes a job of count equal sequences.
func sequences(count, prompt, tokens int) *job {
	j := newJob()
	for range count {
		j.add(prompt, nil, plan{tokens: tokens, reason: reached})
	}
	return j
}

func TestCloseAbortsWhatIsLeft(t *testing.T) {
	e := newEngine(Options{}.withDefaults())
	j := sequences(3, 100, 1000)
	e.add(j)
	e.close()
	late := sequences(1, 1, 1)
	e.add(late)
	for _, s := range append(j.sequences, late.sequences...) {
		if _, why := s.progress(); why != aborted {
			t.Errorf("ended %v, want an abort", why)
		}
	}
}

// Handlers add, cancel and read while the engine steps.
func TestEngineUnderRace(t *testing.T) {
	e := newEngine(Options{Speed: 1000, MaxNumSeqs: 8}.withDefaults())
	defer e.close()
	var handlers sync.WaitGroup
	for i := range 50 {
		handlers.Go(func() {
			j := sequences(2, 100, 20)
			e.add(j)
			defer e.cancel(j)
			for why := running; why == running && i%3 != 0; _, why = j.sequences[1].progress() {
				<-j.wake
			}
		})
	}
	handlers.Wait()
	e.close()
	if now, _, _ := e.held(); now != 0 {
		t.Errorf("%d sequences held at the end", now)
	}
}
