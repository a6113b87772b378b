package tune

import (
	"fmt"
	"slices"

	"sluice/router"
	"sluice/router/tpu"
)

// rung is a number of sequences held, and how the loop went.
type rung struct {
	held    int
	goodput float64
	trial   Trial
}

// keeps is the share of each class that must be within its SLO for the SLO to
// hold.
const keeps = 0.95

// worth is what rungs are compared by: goodput where the SLO holds.
func (x rung) worth() float64 {
	if x.trial.worst() < keeps {
		return 0
	}
	return x.goodput
}

// knee is goodput by sequences held, for one class or for ClassNone the mix.
type knee struct {
	rungs []rung // rising
	at    rung   // the most sequences at which the SLO holds and goodput is within 1 % of its best
}

// ladder is what is tried first; the knee is looked for between two of them.
var ladder = []int{1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024}

// knee climbs until the KV cache is full or goodput has fallen by half. Where the
// SLO never holds, goodput alone decides.
func (r *replica) knee(c router.Class) knee { return r.kneeFrom(1, c) }

// kneeFrom is knee that begins with low sequences.
func (r *replica) kneeFrom(low int, c router.Class) knee {
	var k knee
	best := 0.0
	rungs := r.rungs(c)
	for i, n := range rungs {
		if n < low && i+1 < len(rungs) {
			continue
		}
		x := r.rung(n, c)
		k.rungs = append(k.rungs, x)
		best = max(best, x.goodput)
		if x.goodput < best/2 {
			break
		}
	}
	worth := rung.worth
	i, held := highest(k.rungs, worth)
	if !held {
		worth = func(x rung) float64 { return x.goodput }
		i, _ = highest(k.rungs, worth)
	}
	k.at = k.rungs[i]
	if i+1 < len(k.rungs) {
		r.refine(&k, worth, k.rungs[i+1].held, c)
	}
	return k
}

// highest is the last rung within 1 % of the best; false: all are worth nothing.
func highest(rungs []rung, worth func(rung) float64) (int, bool) {
	best := 0.0
	for _, x := range rungs {
		best = max(best, worth(x))
	}
	i := len(rungs) - 1
	for worth(rungs[i]) < 0.99*best {
		i--
	}
	return i, best > 0
}

// rungs are the numbers of sequences that fit, up to the last that does.
func (r *replica) rungs(c router.Class) []int {
	var all []int
	for _, n := range ladder {
		if holds := r.room(n).holds(c); n > holds {
			if last := all; len(last) > 0 && holds > last[len(last)-1] {
				all = append(all, holds)
			}
			return all
		}
		all = append(all, n)
	}
	return all
}

// refine looks between the knee and the next rung.
func (r *replica) refine(k *knee, worth func(rung) float64, above int, c router.Class) {
	best := worth(k.at)
	for low, high := k.at.held, above; high-low > max(low/16, 1); {
		middle := (low + high) / 2
		x := r.rung(middle, c)
		k.rungs = append(k.rungs, x)
		if worth(x) >= 0.99*best {
			k.at, low, best = x, middle, max(best, worth(x))
		} else {
			high = middle
		}
	}
	slices.SortFunc(k.rungs, func(a, b rung) int { return a.held - b.held })
}

func (r *replica) rung(n int, c router.Class) rung {
	t := r.room(n).hold(n, c)
	return rung{n, t.Goodput(), t}
}

// room is the replica started for so many sequences, if it isn't already.
func (r *replica) room(n int) *replica {
	if n <= r.setup.MaxNumSeqs {
		return r
	}
	return r.with(func(s *tpu.Setup) { s.MaxNumSeqs = whole(n) })
}

// whole is n as a --max-num-seqs: a multiple of 16.
func whole(n int) int { return (n + 15) / 16 * 16 }

// table is the upper part of the climb.
func (k knee) table() []string {
	var lines []string
	for _, x := range k.rungs {
		if x.held < k.at.held/4 {
			continue
		}
		line := fmt.Sprintf("%4d held: goodput %.2f/s of %.2f/s", x.held, x.goodput, x.trial.Rate)
		if x.trial.Preempted > 0 {
			line += fmt.Sprintf(", %.2f preemptions each", x.trial.Preempted)
		}
		lines = append(lines, line)
	}
	return lines
}
