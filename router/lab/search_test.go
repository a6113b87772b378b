package lab

import (
	"testing"
	"time"
)

// A split that serves nobody is given up after one run, and is worth less than the
// best; one that is near it is played to the end.
func TestHopelessSplitsAreGivenUp(t *testing.T) {
	of := named(t, "balanced")
	runs := of.Runs(0.5)
	for i := range runs {
		runs[i].Lasts = 2*edge + 10*time.Second
	}
	s := newSearch(runs)
	good := starts()[0]
	s.all([]Split{good})
	near := good
	near.Wait[0] += 100 * time.Millisecond
	s.all([]Split{{}, near})
	for _, test := range []struct {
		split Split
		runs  int
	}{{good, 3}, {Split{}, 1}, {near, 3}} {
		if got := s.tried[test.split]; len(got.each) != test.runs {
			t.Errorf("%+v was played in %d runs, want %d", test.split, len(got.each), test.runs)
		}
	}
	if s.value(Split{}) >= s.value(good) {
		t.Errorf("to serve nobody is worth %v, the best %v", s.value(Split{}), s.value(good))
	}
}
