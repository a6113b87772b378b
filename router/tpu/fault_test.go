package tpu

import (
	"testing"
	"time"
)

func TestHang(t *testing.T) {
	w := newWorld(t, "", Options{Setup: small(t, 100, nil)})
	s := w.add(10, 5)
	w.step()
	w.step()
	w.engine.Hang()
	w.add(10, 5)
	gauges, counters := w.engine.Gauges(), w.engine.Counters()
	if _, busy := w.engine.Step(w.now + time.Hour); busy {
		t.Error("a step of a hung engine ends")
	}
	if w.engine.Gauges() != gauges || w.engine.Counters() != counters || gauges.Running != 1 || s.Made() != 2 {
		t.Errorf("gauges %+v and counters %+v moved in a hang", w.engine.Gauges(), w.engine.Counters())
	}
	w.now += time.Hour
	w.engine.Resume(w.now)
	w.drain()
	if s.Made() != 5 || w.engine.Counters().Finished != 2 || w.now < time.Hour || w.now > time.Hour+time.Minute {
		t.Errorf("after the hang: made %d of 5, at %v", s.Made(), w.now)
	}
}

func TestSlow(t *testing.T) {
	f := func(k float64) time.Duration {
		w := newWorld(t, "gemma-3-27b", Options{})
		w.engine.Slow(k)
		w.add(500, 20)
		w.drain()
		return w.now
	}
	if once, thrice := f(1), f(3); (thrice - 3*once).Abs() > time.Microsecond {
		t.Errorf("took %v, three times as slow %v", once, thrice)
	}
}

// The first step in a bucket that isn't warm waits for its program.
func TestColdBucketStalls(t *testing.T) {
	const stall = time.Minute
	w := newWorld(t, "gemma-3-12b", Options{Stall: stall, Warm: []int{16, 512}})
	f := func(prompt, answer int, stalls time.Duration) {
		t.Helper()
		start := w.now
		w.add(prompt, answer)
		w.drain()
		if took := w.now - start; took < stalls*stall || took > stalls*stall+10*time.Second {
			t.Errorf("%d tokens took %v, want %d stalls", prompt, took, stalls)
		}
	}
	f(500, 3, 0)
	f(1000, 3, 1)
	f(600, 3, 0) // the same bucket
	f(10000, 3, 2)
	if c := w.engine.Counters(); c.Stalls != 3 {
		t.Errorf("%d stalls, want 3", c.Stalls)
	}
}

func TestStop(t *testing.T) {
	w := newWorld(t, "", Options{Setup: small(t, 100, func(s *Setup) { s.MaxNumSeqs = 2 })})
	for range 4 {
		w.add(10, 100)
	}
	w.step()
	w.engine.Abort(w.now, w.engine.running[1])
	w.events = nil
	w.engine.Stop(w.now)
	if len(w.events) != 4 || w.engine.Holds() != 0 || w.engine.cache.free() != 100 || w.engine.leaving != 0 {
		t.Errorf("%d sequences were told, %d held, %d pages free", len(w.events), w.engine.Holds(), w.engine.cache.free())
	}
	for _, e := range w.events {
		if e.Kind != Stopped {
			t.Errorf("told %+v", e)
		}
	}
	w.add(10, 1)
	if w.drain(); w.engine.Counters().Finished != 1 {
		t.Error("an engine that was stopped takes no more work")
	}
}
