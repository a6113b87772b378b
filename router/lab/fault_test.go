package lab

import (
	"testing"
	"time"
)

// always are the faults that can last, as if the fleet had never been other: what
// it can do then is the capacity that is left.
var always = map[string]struct {
	machine int
	lasts   time.Duration // 0: a third of the run
	fault   fault
}{
	"slow 27B":  {0, 0, func(w *world) { w.slow(0, 0, never) }},
	"slow 12B":  {2, 0, func(w *world) { w.slow(2, 0, never) }},
	"crash 27B": {0, warmUp, func(w *world) { w.crash(0, 0, never, 0) }},
	"crash 12B": {2, warmUp, func(w *world) { w.crash(2, 0, never, 0) }},
	"cold 12B":  {2, warmUp + compile, func(w *world) { w.crash(2, 0, never, 0) }},
}

// TestFaultsCostLittleMoreThanTheirCapacity: under each fault the normalised value
// goodput is at least 90 % of what is left. That is the value of an undisturbed run,
// less what the replica at fault held when it began and could not keep within its SLO
// any more; and while it lasts the value of a run whose fleet was so from the start.
func TestFaultsCostLittleMoreThanTheirCapacity(t *testing.T) {
	of := named(t, "balanced")
	for _, load := range loadsToTest() {
		runs := of.Runs(load)
		var clean []*world
		for _, r := range runs {
			clean = append(clean, under(t, r, nil))
		}
		for _, f := range faults {
			got, left, whole := 0.0, 0.0, 0.0
			for i, r := range runs {
				w := under(t, r, f.make)
				got += w.value(of, edge, r.Lasts-edge)
				left += leftBy(t, f.name, r, clean[i], w)
				whole += clean[i].value(of, edge, r.Lasts-edge)
			}
			t.Logf("load %.1f, %s: %.3f of what is left, %.3f of all", load, f.name, got/left, got/whole)
			if got < 0.9*left {
				t.Errorf("load %.1f, %s: %.3f of what is left, want at least 0.9", load, f.name, got/left)
			}
		}
	}
}

// loadsToTest are, in units of capacity, those that are tested; all but one take
// their time.
func loadsToTest() []float64 {
	if testing.Short() {
		return []float64{1}
	}
	return []float64{0.8, 1, 1.5}
}

// leftBy is what a fault leaves of a run's value.
func leftBy(t *testing.T, fault string, r Run, clean, spoilt *world) float64 {
	a, found := always[fault]
	if !found {
		return clean.value(r.Workload, edge, r.Lasts-edge)
	}
	from := r.Lasts / 3
	to := from + a.lasts
	if a.lasts == 0 {
		to = 2 * r.Lasts / 3
	}
	left := clean.value(r.Workload, edge, from) + under(t, r, a.fault).value(r.Workload, from, to) + clean.value(r.Workload, to, r.Lasts-edge)
	for i, q := range clean.requests {
		if q.arrival >= edge && q.replica == a.machine && q.sent < from && q.ended > from && !spoilt.requests[i].good() {
			left -= clean.worth(r.Workload, q)
		}
	}
	return left
}

// value is the normalised value of what arrived within a time.
func (w *world) value(of *Workload, from, to time.Duration) float64 {
	sum := 0.0
	for _, r := range w.requests {
		if r.arrival >= from && r.arrival < to {
			sum += w.worth(of, r)
		}
	}
	return sum
}

// worth is the normalised value of a request: 0 unless it was served in time.
func (w *world) worth(of *Workload, r *request) float64 {
	if !r.good() {
		return 0
	}
	return worth(r.class, w.machines[r.replica].pool) / of.Solo[r.kind.Class]
}

// TestNobodySendsToAReplicaThatIsDown: a crash costs each policy what the replica held
// and its capacity, not what is sent into the void.
func TestNobodySendsToAReplicaThatIsDown(t *testing.T) {
	r := named(t, "balanced").Runs(0.5)[0]
	r.Fault = "crash 27B"
	from := r.Lasts / 3
	for _, name := range Policies() {
		w, err := r.play(func(w *world) policy { return r.policy(w, name) })
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		for _, q := range w.requests {
			if q.replica != 0 {
				continue
			}
			if q.sent > from && q.sent < from+warmUp {
				t.Fatalf("%s sent a request at %s, the replica was down from %s on", name, q.sent, from)
			}
			sent++
		}
		if sent == 0 {
			t.Errorf("%s never used the replica", name)
		}
	}
}
