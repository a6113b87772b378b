package lab

import (
	"testing"
	"time"
)

// value is the normalised value of what arrived within a time and was served in
// time.
func (w *world) value(of *Workload, from, to time.Duration) float64 {
	v := 0.0
	for _, r := range w.requests {
		if r.arrival >= from && r.arrival < to && r.good() {
			v += worth(r.class, w.machines[r.replica].pool) / of.Solo[r.kind.Class]
		}
	}
	return v
}

func named(t *testing.T, name string) *Workload {
	all, err := Workloads()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if w.Name == name {
			return w
		}
	}
	t.Fatalf("no workload %s", name)
	return nil
}

func runWith(t *testing.T, r Run, f fault) *world {
	w, err := r.play(func(w *world) policy {
		p := newOurs(w, r.Workload)
		if f != nil {
			f(w)
		}
		return p
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestExplore(t *testing.T) {
	of := named(t, "balanced")
	ref := map[string]fault{
		"slow 27B":  func(w *world) { w.slow(0, 0, never) },
		"slow 12B":  func(w *world) { w.slow(2, 0, never) },
		"crash 27B": func(w *world) { w.crash(0, 0, never, 0) },
		"crash 12B": func(w *world) { w.crash(2, 0, never, 0) },
		"cold 12B":  func(w *world) { w.crash(2, 0, never, 0) },
	}
	for _, f := range faults {
		for _, load := range []float64{0.8, 1, 1.5} {
			var clean, got, bound, mid, midref, midclean, post, postclean float64
			for _, run := range of.Runs(load) {
				from, to := run.Lasts/3, 2*run.Lasts/3
				if ref[f.name] != nil && f.name[:4] != "slow" {
					to = from + warmUp
				}
				a := runWith(t, run, nil)
				b := runWith(t, run, f.make)
				end := run.Lasts - edge
				clean += a.value(of, edge, end)
				got += b.value(of, edge, end)
				mid += b.value(of, from, to)
				midclean += a.value(of, from, to)
				post += b.value(of, to, end)
				postclean += a.value(of, to, end)
				if ref[f.name] != nil {
					c := runWith(t, run, ref[f.name])
					bound += a.value(of, edge, from) + c.value(of, from, to) + a.value(of, to, end)
					midref += c.value(of, from, to)
				} else {
					bound += a.value(of, edge, end)
				}
			}
			t.Logf("%-16s %.1f got/clean %.3f got/ref %.3f  within: %.3f of clean, ref %.3f of clean; after %.3f", f.name, load, got/clean, got/bound, mid/midclean, midref/midclean, post/postclean)
		}
	}
}
