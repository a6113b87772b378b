package vllmsim

import (
	"testing"
	"time"
)

// Prefill and decode in one step cost far more than apart, where the padding
// has no fine buckets: what keeping the two kinds of work apart is about.
func TestMixingPromptsWithDecodesIsDear(t *testing.T) {
	f := func(gap int, low, high float64) {
		t.Helper()
		h := newHardware(Options{Size: "gemma-3-12b", PaddingGap: gap}.withDefaults())
		alone := h.stepTime(stepLoad{tokens: 4000, sequences: 1, context: 4000})
		mixed := h.stepTime(stepLoad{tokens: 4000 + 128, sequences: 129, context: 4000 + 128*1000})
		if ratio := float64(mixed) / float64(alone); ratio < low || ratio > high {
			t.Errorf("gap %d: %v alone, %v with 128 decodes; want a ratio of %v to %v", gap, alone, mixed, low, high)
		}
	}
	f(0, 1.7, 2.2)
	f(128, 1.1, 1.4)
}

func TestStepTimesAreOfTheRightOrder(t *testing.T) {
	f := func(size string, l stepLoad, low, high time.Duration) {
		t.Helper()
		h := newHardware(Options{Size: size}.withDefaults())
		if got := h.stepTime(l); got < low || got > high {
			t.Errorf("%s, %+v: got %v, want %v to %v", size, l, got, low, high)
		}
	}
	f("gemma-3-12b", stepLoad{16, 16, 16 * 1000}, 22*time.Millisecond, 25*time.Millisecond)
	f("gemma-3-27b", stepLoad{16, 16, 16 * 1000}, 31*time.Millisecond, 34*time.Millisecond)
	f("gemma-3-27b", stepLoad{8192, 1, 8192}, 220*time.Millisecond, 250*time.Millisecond)
}
