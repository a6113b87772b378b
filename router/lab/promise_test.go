package lab

import (
	"flag"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// all is what `make test-lab` adds: every workload, load and policy, which takes
// minutes.
var all = flag.Bool("all", false, "judge all workloads at all loads, not a sample")

// judged is what is judged without -all.
func judged(t *testing.T) (workloads []*Workload, loads []float64) {
	t.Helper()
	workloads, err := Workloads()
	if err != nil {
		t.Fatal(err)
	}
	// Those with priority batch have tests of their own: the split is not for it.
	workloads = slices.DeleteFunc(workloads, func(w *Workload) bool {
		return slices.ContainsFunc(w.Kinds, func(k Kind) bool { return k.Priority != "" })
	})
	if *all {
		return workloads, Loads()
	}
	return []*Workload{named(t, "balanced")}, []float64{1, 2}
}

// What docs/benchmarks.md shows: the router comes close to the best static split
// at every load, is behind no other policy, and doesn't break down when there is
// too much.
func TestPromises(t *testing.T) {
	workloads, loads := judged(t)
	plan := Plan{Workloads: workloads, Policies: Compared(), Loads: loads}
	report, err := plan.Report(t.Context(), func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range report.Tables {
		if table.Missing != "" {
			t.Errorf("%s: %s", table.Workload, table.Missing)
		}
		ours := table.Curves[len(table.Curves)-1]
		peak := 0.0
		for i, p := range ours.Points {
			peak = max(peak, p.Value)
			if p.OfBest < 0.95 || p.Worst < 0.90 {
				t.Errorf("%s, load %v: %.3f of the best static split, %.3f in the worst run", table.Workload, p.Load, p.OfBest, p.Worst)
			}
			if p.Load >= 2 && p.Value < 0.9*peak {
				t.Errorf("%s, load %v: %.3f, its peak was %.3f", table.Workload, p.Load, p.Value, peak)
			}
			for _, other := range table.Curves[:len(table.Curves)-1] {
				if other.Policy != BestStatic && p.Value < 0.99*other.Points[i].Value {
					t.Errorf("%s, load %v: %.3f, %s %.3f", table.Workload, p.Load, p.Value, other.Policy, other.Points[i].Value)
				}
			}
		}
	}
}

// A class keeps its share of what the fleet could serve of it alone, however much
// of the other one there is.
func TestClassesKeepTheirShare(t *testing.T) {
	workloads, loads := judged(t)
	for _, w := range workloads {
		if w.Capacity == 0 {
			t.Errorf("%s has no yardstick", w.Name)
		}
		for _, load := range loads {
			if load < 2 || w.Capacity == 0 {
				continue
			}
			for _, r := range w.Runs(load) {
				s, err := r.Under(Ours)
				if err != nil {
					t.Fatal(err)
				}
				for name, c := range s.Classes {
					if least := min(guaranteed*w.Solo[name], 0.9*c.Offered); c.Good < least {
						t.Errorf("%s, load %v, seed %d: %s gets %.2f requests a second, want %.2f", w.Name, load, r.Seed, name, c.Good, least)
					}
				}
			}
		}
	}
}

// The committed splits are what they are called: none that is committed for
// another load of the workload is better by more than 1 %.
func TestCommittedSplitsAreTheBest(t *testing.T) {
	workloads, loads := judged(t)
	for _, w := range workloads {
		for _, m := range w.Best {
			if !*all && m.Load != loads[0] {
				continue
			}
			s := newSearch(w.Runs(m.Load))
			own := s.value(m.Split)
			for _, other := range w.Best {
				if v := s.value(other.Split); v > own*1.01 {
					t.Errorf("%s, load %v: %.4f; the split of load %v has %.4f", w.Name, m.Load, own, other.Load, v)
				}
			}
		}
	}
}

// The engine model hasn't changed since the splits were found: their values are
// what was committed.
func TestCommittedValuesHold(t *testing.T) {
	workloads, loads := judged(t)
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, w := range workloads {
		for _, m := range w.Best {
			if !*all && m.Load != loads[0] {
				continue
			}
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				if got := w.value(m.Load, m.Split); math.Abs(got.Value-m.Value) > 0.002 {
					t.Errorf("%s, load %v: %.4f, committed is %.4f: run sluice lab --find", w.Name, m.Load, got.Value, m.Value)
				}
			})
		}
	}
	wg.Wait()
}
