package lab

import (
	"math"
	"testing"
)

// At twice the capacity each tenant gets goodput by its weight, however much the
// loud one sends.
func TestTenantsTokensFollowTheirWeights(t *testing.T) {
	w := named(t, "tenants")
	w.Weights = map[string]float64{"loud": 2}
	got, sum := mean(t, w, 2).Tenants, 0.0
	for _, tokens := range got {
		sum += tokens
	}
	for tenant, want := range map[string]float64{"loud": 0.5, "second": 0.25, "third": 0.25} {
		if part := got[tenant] / sum; math.Abs(part/want-1) > 0.1 {
			t.Errorf("%s got %.3f of the tokens, want %.2f", tenant, part, want)
		}
	}
}
