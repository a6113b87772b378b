package lab

import (
	"math"
	"testing"
)

// At twice the capacity each tenant gets goodput by its weight, however much the
// loud one sends.
func TestTenantsTokensFollowTheirWeights(t *testing.T) {
	w := workload(t, "tenants")
	w.Capacity, w.Weights = 16.5, map[string]float64{"loud": 2}
	var all []Score
	for _, r := range w.Runs(2) {
		s, err := r.Under("sluice")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	got, sum := meanScore(all).Tenants, 0.0
	for _, tokens := range got {
		sum += tokens
	}
	for tenant, want := range map[string]float64{"loud": 0.5, "second": 0.25, "third": 0.25} {
		if part := got[tenant] / sum; math.Abs(part/want-1) > 0.1 {
			t.Errorf("%s got %.3f of the tokens, want %.2f", tenant, part, want)
		}
	}
}

func workload(t *testing.T, name string) *Workload {
	t.Helper()
	all, err := Workloads()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if w.Name == name {
			return w
		}
	}
	t.Fatalf("no workload is called %q", name)
	return nil
}
