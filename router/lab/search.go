package lab

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// The steps of a split's settings.
var (
	capSteps  = []int{0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128}
	waitSteps = func() []time.Duration {
		var all []time.Duration
		for _, ms := range []int{0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900, 2000, 3000, 5000} {
			all = append(all, time.Duration(ms)*time.Millisecond)
		}
		return all
	}()
)

// guaranteed is the share of its solo goodput that a class keeps at overload.
const guaranteed = 0.2

// Found is a split and how it did.
type Found struct {
	Split Split   `yaml:"split"`
	Value float64 `yaml:"value"` // normalised value goodput, mean of the runs
}

// search looks for the best split of some runs.
type search struct {
	runs  []Run
	tried map[Split]tally
	lead  tally      // of the best when the splits under way were begun
	spent int        // evaluations
	mu    sync.Mutex // guards tried and spent
}

// tally is what a split is worth: in each run, and on average. Where each is short of
// runs it was given up, and value is a guess.
type tally struct {
	value float64
	each  []float64
}

// behind is how much less than the best a split may make of the first runs before
// the others are saved: more than seeds and draws turn around.
const behind = 0.05

// BestSplit finds the best static split for runs of one workload and load: at
// least evaluations tries from several starts and at random, then coordinate
// descent from the best of them until no step gains 0.5 %. Splits that leave a
// class less than its guaranteed share don't count. Known splits are starts. With
// fewer evaluations than a thorough search needs it stops when they are spent.
func BestSplit(runs []Run, evaluations int, known ...Split) Found {
	s := newSearch(runs)
	first := starts()
	if evaluations < thorough {
		first = some(first, evaluations/2)
	}
	s.all(append(first, known...))
	r := rand.New(rand.NewPCG(7, 7))
	for s.spent < evaluations {
		s.all(s.mixed(r, 16))
	}
	if evaluations < thorough {
		return s.top(1)[0]
	}
	best := Found{}
	for _, f := range s.top(3) {
		if d := s.descend(f); d.Value > best.Value {
			best = d
		}
	}
	return best
}

func newSearch(runs []Run) *search { return &search{runs: runs, tried: map[Split]tally{}} }

// thorough is the evaluations from which on a search ends with descents.
const thorough = 100

// some are n of many, evenly spaced.
func some(all []Split, n int) []Split {
	few := make([]Split, n)
	for i := range few {
		few[i] = all[i*len(all)/n]
	}
	return few
}

// starts are splits that an expert would try first.
func starts() []Split {
	ms := time.Millisecond
	var all []Split
	for _, p := range [][2]int{{8, 4}, {16, 8}, {4, 2}, {6, 3}} {
		for _, d := range [][2]int{{64, 128}, {48, 96}, {32, 104}, {16, 112}, {0, 128}} {
			for _, wait := range []time.Duration{500 * ms, 1200 * ms} {
				for _, first := range [][2]int{{0, 1}, {0, 0}} {
					all = append(all, Split{Caps: [2][2]int{p, d}, Spill: [2]bool{true, true}, First: first, Wait: [2]time.Duration{wait, wait}})
				}
			}
		}
	}
	return append(all, strict)
}

// all evaluates splits, on all processors.
func (s *search) all(splits []Split) {
	if len(s.tried) > 0 {
		s.lead = s.tried[s.top(1)[0].Split]
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, split := range splits {
		slots <- struct{}{}
		wg.Go(func() {
			s.value(split)
			<-slots
		})
	}
	wg.Wait()
}

// value is a split's normalised value goodput.
func (s *search) value(split Split) float64 {
	s.mu.Lock()
	t, known := s.tried[split]
	s.mu.Unlock()
	if known {
		return t.value
	}
	t = s.tally(split)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried[split] = t
	s.spent++
	return t.value
}

// tally plays a split, until it is far behind.
func (s *search) tally(split Split) tally {
	var t tally
	sum, best := 0.0, 0.0
	for i := range s.runs {
		score, err := s.runs[i].Split(split)
		if err != nil {
			panic("BUG: " + err.Error()) // the same fleet has run before
		}
		t.each = append(t.each, fair(score, s.runs[i].Workload))
		sum += t.each[i]
		if i < len(s.lead.each) {
			best += s.lead.each[i]
		}
		if best > 0 && sum < best*(1-behind) {
			t.value = s.lead.value * sum / best
			return t
		}
	}
	t.value = sum / float64(len(s.runs))
	return t
}

// fair is a score's value, less what it denies a class of its guaranteed share,
// tenfold.
func fair(s Score, of *Workload) float64 {
	v := s.Normalised
	for name, c := range s.Classes {
		if solo := of.Solo[name]; solo > 0 {
			v -= 10 * max(0, min(guaranteed*solo, 0.9*c.Offered)-c.Good) / solo
		}
	}
	return v
}

// top is the best splits so far.
func (s *search) top(n int) []Found {
	var all []Found
	for split, t := range s.tried {
		all = append(all, Found{split, t.value})
	}
	slices.SortFunc(all, func(a, b Found) int { return cmp.Or(cmp.Compare(b.Value, a.Value), compareSplits(a.Split, b.Split)) })
	return all[:min(n, len(all))]
}

// compareSplits is an order of all splits: what a search finds must not hang on the
// order of a map.
func compareSplits(a, b Split) int {
	return cmp.Or(slices.Compare(a.Caps[0][:], b.Caps[0][:]), slices.Compare(a.Caps[1][:], b.Caps[1][:]), slices.Compare(a.Wait[:], b.Wait[:]),
		slices.Compare(a.First[:], b.First[:]), compareSpill(a.Spill, b.Spill))
}

func compareSpill(a, b [2]bool) int {
	for c := range a {
		switch {
		case a[c] == b[c]:
			continue
		case b[c]:
			return -1
		}
		return 1
	}
	return 0
}

// mixed draws splits: each takes its settings from two of the best, and changes
// some.
func (s *search) mixed(r *rand.Rand, n int) []Split {
	parents := s.top(12)
	all := make([]Split, n)
	for i := range all {
		a, b := parents[r.IntN(len(parents))].Split, parents[r.IntN(len(parents))].Split
		if r.IntN(2) == 0 {
			a.Caps[0], a.Wait[0], a.First[0], a.Spill[0] = b.Caps[0], b.Wait[0], b.First[0], b.Spill[0]
		}
		for range 1 + r.IntN(3) {
			near := neighbours(a)
			a = near[r.IntN(len(near))]
		}
		all[i] = a
	}
	return all
}

// descend takes the best single step until none gains half a percent.
func (s *search) descend(f Found) Found {
	for {
		near := neighbours(f.Split)
		s.all(near)
		best := f
		for _, split := range near {
			if v := s.value(split); v > best.Value {
				best = Found{split, v}
			}
		}
		if best.Value <= f.Value*1.005 {
			return best
		}
		f = best
	}
}

// neighbours are the splits that differ in one setting by one step or three.
func neighbours(s Split) []Split {
	var all []Split
	for c := range 2 {
		for p := range 2 {
			for _, v := range around(capSteps, s.Caps[c][p]) {
				n := s
				n.Caps[c][p] = v
				all = append(all, n)
			}
		}
		for _, v := range around(waitSteps, s.Wait[c]) {
			n := s
			n.Wait[c] = v
			all = append(all, n)
		}
		n := s
		n.Spill[c] = !n.Spill[c]
		all = append(all, n)
		n = s
		n.First[c] = 1 - n.First[c]
		all = append(all, n)
	}
	return all
}

// around is the values one step and three from a value, in both directions.
func around[T cmp.Ordered](steps []T, v T) []T {
	i, _ := slices.BinarySearch(steps, v)
	var all []T
	for _, d := range []int{-3, -1, 1, 3} {
		if j := i + d; j >= 0 && j < len(steps) {
			all = append(all, steps[j])
		}
	}
	return all
}
