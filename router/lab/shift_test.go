package lab

import (
	"testing"
	"time"

	"sluice/router"
)

const (
	shiftLasts = 10 * time.Minute
	shiftAt    = shiftLasts / 2
	shiftStep  = 10 * time.Second
)

// TestAfterAShiftGoodputIsBack: after the mix has shifted, or the length of answers,
// goodput reaches 95 % of its later level within twice the mean generation time, and
// keeps it: in windows of 10 s, three seeds together. Arrivals alone make a window
// differ from the next by some percent, so what counts as back is a window that
// reaches it, after the last that lacks a quarter.
func TestAfterAShiftGoodputIsBack(t *testing.T) {
	for _, name := range []string{"shift", "lengths"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := measured(named(t, name))
			for _, load := range loadsToTest() {
				testBack(t, of, load)
			}
		})
	}
}

func testBack(t *testing.T, of *Workload, load float64) {
	t.Helper()
	var worlds []*world
	for seed := range uint64(3) {
		worlds = append(worlds, under(t, Run{Workload: of, Rate: load * of.Capacity, Lasts: shiftLasts, Seed: seed + 1, Draw: seed}, nil))
	}
	per := func(from, to time.Duration) float64 {
		sum := 0.0
		for _, w := range worlds {
			sum += w.value(of, from, to)
		}
		return sum / (to - from).Seconds()
	}
	in := 2 * generation(worlds)
	later := per(shiftAt+in, shiftLasts-edge)
	back := shiftLasts - edge
	for at := back - shiftStep; at >= shiftAt && per(at, at+shiftStep) >= 0.75*later; at -= shiftStep {
		if per(at, at+shiftStep) >= 0.95*later {
			back = at
		}
	}
	keeps := per(back, shiftAt+in+edge) / later
	t.Logf("load %.1f: back after %s of %s, then at %.3f of its later level", load, back-shiftAt, in.Round(time.Second), keeps)
	if back-shiftAt > in || keeps < 0.95 {
		t.Errorf("load %.1f: back after %s, then at %.3f of its later level; want %s and 0.95", load, back-shiftAt, keeps, in)
	}
}

// generation is the mean time of an answer of class decode.
func generation(worlds []*world) time.Duration {
	sum, n := time.Duration(0), 0
	for _, w := range worlds {
		for _, r := range w.requests {
			if r.class == router.Decode && r.fate == served {
				sum += r.ended - r.sent
				n++
			}
		}
	}
	return sum / time.Duration(max(n, 1))
}

// measured is a workload whose load 1 is known; until its yardstick is committed,
// that of the balanced one will do.
func measured(w *Workload) *Workload {
	if w.Capacity == 0 {
		w.Capacity, w.Solo = 16, map[string]float64{"prefill": 52, "decode": 8.9}
	}
	return w
}
