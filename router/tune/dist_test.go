package tune

import (
	"math"
	"testing"
)

// One bucket's values lie where the sum of the histogram puts them.
func TestPointsKeepTheMean(t *testing.T) {
	f := func(d Dist) {
		t.Helper()
		p := d.Points()
		if n := p.Count(); math.Abs(n-1000) > 1e-6 || math.Abs(p.sum()-d.Sum) > 0.01*d.Sum {
			t.Errorf("%v: %v points with sum %v", d, n, p.sum())
		}
		before := 0.0
		for _, x := range p {
			if x.Value < before {
				t.Errorf("%v: %v comes after %v", d, x.Value, before)
			}
			before = x.Value
		}
	}
	f(Dist{[]float64{4096, 8192, math.Inf(1)}, []float64{0, 1000, 0}, 4128e3})
	f(Dist{[]float64{4096, 8192, math.Inf(1)}, []float64{0, 1000, 0}, 6144e3})
	f(Dist{[]float64{4096, 8192, math.Inf(1)}, []float64{0, 1000, 0}, 8000e3})
	f(Dist{[]float64{128, 8192}, []float64{900, 100}, 900*100 + 100*5000})
	f(Dist{[]float64{100, math.Inf(1)}, []float64{500, 500}, 500*50 + 500*150})
}

// Steps of 4,128 tokens are all near the lower end of their bucket.
func TestPointsNearABound(t *testing.T) {
	d := Dist{[]float64{4096, 8192}, []float64{0, 1000}, 4128e3}
	if q := d.Points().Quantile(0.9); q > 4224 {
		t.Errorf("90 %% are below %v, want at most 4224", q)
	}
}

// A sum that the buckets contradict is come as near to as they allow.
func TestPointsOfNonsense(t *testing.T) {
	for _, sum := range []float64{0, 1, 1e12} {
		for _, x := range (Dist{[]float64{10, 20}, []float64{0, 5}, sum}).Points() {
			if x.Value < 10 || x.Value > 20 {
				t.Errorf("sum %v: a point at %v, want 10 to 20", sum, x.Value)
			}
		}
	}
	if n := len((Dist{}).Points()); n != 0 {
		t.Errorf("%d points of nothing", n)
	}
}

// Replicas with other limits on their context have other buckets at the end.
func TestAddDists(t *testing.T) {
	inf := math.Inf(1)
	a := distOf(map[float64]float64{10: 1, 20: 3, inf: 4}, 60)
	a.add(distOf(map[float64]float64{10: 2, 20: 2, 50: 5, inf: 5}, 100))
	want := Dist{[]float64{10, 20, 50, inf}, []float64{3, 2, 3, 1}, 160}
	for i := range want.Bounds {
		if a.Bounds[i] != want.Bounds[i] || a.Counts[i] != want.Counts[i] || a.Sum != want.Sum {
			t.Fatalf("got %v, want %v", a, want)
		}
	}
}

func TestSplit(t *testing.T) {
	p := Points{{1, 10}, {2, 10}, {3, 10}}
	lower, upper := p.split(15)
	if lower.Count() != 15 || upper.Count() != 15 || lower.Mean() != 20.0/15 || upper.Mean() != 40.0/15 {
		t.Errorf("got %v and %v", lower, upper)
	}
	if lower, upper = p.split(0); len(lower) != 0 || upper.Count() != 30 {
		t.Errorf("of none: got %v and %v", lower, upper)
	}
}

func TestQuantiles(t *testing.T) {
	p := Points{{5, 1}, {7, 1}, {100, 2}}
	for q, want := range map[float64]float64{0: 5, 0.3: 7, 0.5: 100, 1: 100} {
		if got := p.Quantile(q); got != want {
			t.Errorf("quantile %v: got %v, want %v", q, got, want)
		}
		if got := tableOf(p).at(q); q < 1 && q > 0 && q != 0.5 && got != int(want) {
			t.Errorf("table at %v: got %v, want %v", q, got, want)
		}
	}
}
