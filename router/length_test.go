package router

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// draw is the length of one answer of the i-th request, and of its kind.
type draw func(r *rand.Rand, i int) (lengthKey, int)

func alike(length func(r *rand.Rand, i int) float64) draw {
	key := lengthKeyOf("a", "chat", -1, 500)
	return func(r *rand.Rand, i int) (lengthKey, int) {
		return key, max(1, int(math.Round(length(r, i))))
	}
}

func lognormal(middle, sigma float64) func(*rand.Rand, int) float64 {
	return func(r *rand.Rand, _ int) float64 { return middle * math.Exp(sigma*r.NormFloat64()) }
}

func shifted(f func(*rand.Rand, int) float64, at int, by float64) func(*rand.Rand, int) float64 {
	return func(r *rand.Rand, i int) float64 {
		if i < at {
			return f(r, i)
		}
		return by * f(r, i)
	}
}

func bimodal(r *rand.Rand, _ int) float64 {
	if r.Float64() < 0.6 {
		return 8
	}
	return 900
}

// kinds are requests of four prompt sizes with answers of their own, from two
// tenants of which one gets twice as much.
func kinds(r *rand.Rand, _ int) (lengthKey, int) {
	size, tenant := r.IntN(4), r.IntN(2)
	middle := []float64{30, 100, 400, 1200}[size] * float64(1+tenant)
	key := lengthKeyOf([]string{"a", "b"}[tenant], "chat", -1, 200<<(2*size))
	return key, max(1, int(math.Round(lognormal(middle, 0.5)(r, 0))))
}

// covered is which shares of the answers first..last were shorter than the
// predicted p90, and at most as long; each as its bound (-1: none) leaves it. Where many answers have exactly one length, the one
// may be far below 0.9 and the other far above, and the p90 right.
func covered(d draw, cut func(*rand.Rand, int) int, bound, first, last int) (below, upTo float64) {
	const seeds = 20
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 7))
		l := newLengths()
		for i := range last {
			now := time.Unix(0, 0).Add(time.Duration(i) * 100 * time.Millisecond)
			key, n := d(r, i)
			if i >= first {
				p90, seen := l.predict(now, key, bound).P90, n
				if bound >= 0 {
					seen = min(n, bound)
				}
				below += count(seen < p90)
				upTo += count(seen <= p90)
			}
			at := cut(r, i)
			l.learn(now, key, min(n, at), n <= at)
		}
	}
	all := float64(seeds * (last - first))
	return below / all, upTo / all
}

func count(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func uncut(*rand.Rand, int) int { return math.MaxInt }

func TestLengthCoverage(t *testing.T) {
	leaving := func(middle float64) func(*rand.Rand, int) int { // about 20 % of lognormal(300, 0.6)
		return func(r *rand.Rand, i int) int { return int(lognormal(middle, 0.6)(r, i)) }
	}
	const drifts = 1500
	for _, c := range []struct {
		name        string
		draw        draw
		cut         func(*rand.Rand, int) int
		bound       int
		first, last int
	}{
		{"always 10", alike(lognormal(10, 0)), uncut, -1, 100, 1000},
		{"always 1020", alike(lognormal(1020, 0)), uncut, -1, 100, 1000},
		{"sigma 0.3", alike(lognormal(300, 0.3)), uncut, -1, 100, 2000},
		{"sigma 0.6", alike(lognormal(300, 0.6)), uncut, -1, 100, 2000},
		{"sigma 1.2", alike(lognormal(300, 1.2)), uncut, -1, 100, 2000},
		{"short, sigma 0.6", alike(lognormal(4, 0.6)), uncut, -1, 100, 2000},
		{"bimodal", alike(bimodal), uncut, -1, 100, 1000},
		{"kinds", kinds, uncut, -1, 400, 3000},
		{"1 in 5 cut at random", alike(lognormal(300, 0.6)), leaving(615), -1, 100, 2000},
		{"1 in 5 cut at one bound", alike(lognormal(300, 0.6)), func(*rand.Rand, int) int { return 496 }, 496, 100, 2000},
		{"3 x, sigma 0.3", alike(shifted(lognormal(300, 0.3), drifts, 3)), uncut, -1, drifts + 300, drifts + 600},
		{"3 x, sigma 0.6", alike(shifted(lognormal(300, 0.6), drifts, 3)), uncut, -1, drifts + 300, drifts + 600},
		{"3 x, sigma 1.2", alike(shifted(lognormal(300, 1.2), drifts, 3)), uncut, -1, drifts + 300, drifts + 600},
		{"a third, sigma 0.3", alike(shifted(lognormal(300, 0.3), drifts, 1./3)), uncut, -1, drifts + 300, drifts + 600},
		{"a third, sigma 0.6", alike(shifted(lognormal(300, 0.6), drifts, 1./3)), uncut, -1, drifts + 300, drifts + 600},
		{"a third, sigma 1.2", alike(shifted(lognormal(300, 1.2), drifts, 1./3)), uncut, -1, drifts + 300, drifts + 600},
		{"bimodal, 3 x", alike(shifted(bimodal, drifts, 3)), uncut, -1, drifts + 300, drifts + 600},
	} {
		below, upTo := covered(c.draw, c.cut, c.bound, c.first, c.last)
		t.Logf("%-24s below %.3f up to %.3f", c.name, below, upTo)
		if below > 0.95 || upTo < 0.85 {
			t.Errorf("%s: the predicted p90 covers %.1f %% .. %.1f %% of the answers, want 85 .. 95 %%", c.name, 100*below, 100*upTo)
		}
	}
}

func TestLengthFewSamples(t *testing.T) {
	for name, d := range map[string]draw{
		"always 10": alike(lognormal(10, 0)), "always 2000": alike(lognormal(2000, 0)),
		"sigma 0.3": alike(lognormal(300, 0.3)), "sigma 0.6": alike(lognormal(40, 0.6)), "sigma 1.2": alike(lognormal(1000, 1.2)),
		"bimodal": alike(bimodal), "kinds": kinds,
	} {
		below, upTo := covered(d, uncut, -1, 30, 60)
		t.Logf("%-24s below %.3f up to %.3f", name, below, upTo)
		if below > 0.99 || upTo < 0.80 {
			t.Errorf("%s: after 30 samples the p90 covers %.1f %% .. %.1f %%, want 80 .. 99 %%", name, 100*below, 100*upTo)
		}
	}
}
