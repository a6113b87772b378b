package router

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var lengthEpoch = time.Unix(1_700_000_000, 0)

// taught has learned n answers, a second apart, and when.
func taught(n int, length func(i int) (tokens int, whole bool)) (*lengths, time.Time) {
	l, now := newLengths(), lengthEpoch
	for i := range n {
		now = now.Add(time.Second)
		tokens, whole := length(i)
		l.learn(now, chatKey(), tokens, whole)
	}
	return l, now
}

func chatKey() lengthKey { return lengthKeyOf("a", "chat", -1, 500) }

func always(tokens int) func(int) (int, bool) {
	return func(int) (int, bool) { return tokens, true }
}

func TestLengthBins(t *testing.T) {
	for bin := range lengthBins {
		first, next := binStart(bin), binStart(bin+1)
		if binOf(first) != bin || binOf(next-1) != bin || next-first > max(1, first/4) {
			t.Errorf("bin %d: %d..%d, found as %d and %d", bin, first, next-1, binOf(first), binOf(next-1))
		}
	}
	if binStart(lengthBins) != longestLength+1 {
		t.Errorf("the last bin ends at %d, the longest length is %d", binStart(lengthBins), longestLength)
	}
	if binOf(131_071) != 62 || binOf(math.MaxInt) != 63 {
		t.Errorf("131,071 tokens are in bin %d, MaxInt in %d", binOf(131_071), binOf(math.MaxInt))
	}
}

func TestLengthBeforeAnySample(t *testing.T) {
	l := newLengths()
	f := l.predict(lengthEpoch, chatKey(), -1)
	if f.P50 < 140 || f.P50 > 180 || f.Mean < 280 || f.Mean > 320 || f.P90 < 600 || f.P90 > 740 || f.Samples != 0 || f.Depth != 0 {
		t.Errorf("got %+v", f)
	}
	if f := l.predict(lengthEpoch, chatKey(), 0); f.P50 != 0 || f.P90 != 0 || f.Mean != 0 {
		t.Errorf("bound 0: got %+v", f)
	}
}

// A constant is predicted to the token, and a bound is kept.
func TestLengthConstants(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 10, 100, 896, 900, 1020, 1023, 1024, 50_000, 131_000} {
		l, now := taught(200, always(n))
		if f := l.predict(now, chatKey(), -1); f.P50 != n || f.P90 != n {
			t.Errorf("always %d tokens: got %+v", n, f)
		}
		if f := l.predict(now, chatKey(), 100); f.P90 != min(n, 100) || f.Mean > 100 {
			t.Errorf("always %d tokens, bound 100: got %+v", n, f)
		}
	}
}

// The mean follows the distribution, not the bins.
func TestLengthMean(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	sum := 0.0
	l, now := taught(2000, func(i int) (int, bool) {
		n := int(lognormal(300, 0.6)(r, i))
		sum += float64(n)
		return n, true
	})
	if f := l.predict(now, chatKey(), -1); math.Abs(f.Mean/(sum/2000)-1) > 0.03 {
		t.Errorf("the mean of the samples is %.0f, got %.0f", sum/2000, f.Mean)
	}
}

// Half of the answers are cut at random, the longer the likelier. Counted as
// they are they would teach that answers are short.
func TestLengthOfCutAnswers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	naive := newLengths()
	var true90 []int
	l, now := taught(2000, func(i int) (int, bool) {
		n, cut := int(lognormal(300, 0.6)(r, i)), int(lognormal(300, 0.6)(r, i))
		true90 = append(true90, n)
		naive.learn(lengthEpoch.Add(time.Duration(i)*time.Second), chatKey(), min(n, cut), true)
		return min(n, cut), n <= cut
	})
	slices.Sort(true90)
	want := float64(true90[1800])
	got, wrong := float64(l.predict(now, chatKey(), -1).P90), float64(naive.predict(now, chatKey(), -1).P90)
	if math.Abs(got/want-1) > 0.1 || wrong > 0.8*want {
		t.Errorf("the true p90 is %.0f: got %.0f, and %.0f by counting cut answers as whole", want, got, wrong)
	}
}

// A route whose answers are all cut at one bound teaches only what is longer.
func TestLengthAllCut(t *testing.T) {
	l, now := taught(500, func(int) (int, bool) { return 1000, false })
	if f := l.predict(now, chatKey(), 1000); f.P50 != 1000 || f.P90 != 1000 || math.Abs(f.Mean-1000) > 10 {
		t.Errorf("with the bound: got %+v", f)
	}
	if f := l.predict(now, chatKey(), -1); f.P50 <= 1000 || f.P90 <= f.P50 {
		t.Errorf("without: got %+v", f)
	}
}

// What was learned long ago is worth less than what the others have learned since.
func TestLengthFades(t *testing.T) {
	l, now := taught(500, always(2000))
	other := lengthKeyOf("b", "chat", -1, 500)
	later := now.Add(12 * time.Hour)
	for i := range 100 {
		l.learn(later.Add(time.Duration(i)*time.Second), other, 20, true)
	}
	before, after := l.predict(now, chatKey(), -1), l.predict(later.Add(100*time.Second), chatKey(), -1)
	if before.P50 != 2000 || after.P50 != 20 || after.Samples > 1 {
		t.Errorf("before %+v, after 12 hours %+v", before, after)
	}
	half := l.predict(now.Add(lengthHalfLife), chatKey(), -1)
	if math.Abs(half.Samples/before.Samples-0.5) > 1e-9 {
		t.Errorf("after a half-life %.1f of %.1f samples are left", half.Samples, before.Samples)
	}
	if f := l.predict(now.Add(1e6*time.Hour), chatKey(), -1); !sane(f, math.MaxInt) {
		t.Errorf("after a century: %+v", f)
	}
}

// A steady stream is remembered as far as memory goes: chance alone is not
// taken for a change.
func TestLengthSteadyIsNoDrift(t *testing.T) {
	for _, sigma := range []float64{0.1, 0.6, 1.2} {
		r := rand.New(rand.NewPCG(5, 5))
		l, now := taught(0, nil)
		for i := range 20_000 {
			now = now.Add(time.Millisecond)
			l.learn(now, chatKey(), int(lognormal(300, sigma)(r, i)), true)
			if f := l.predict(now, chatKey(), -1); f.Samples < 0.9*float64(min(i, lengthMemory)) {
				t.Fatalf("sigma %v: after %d samples it stands on %.0f", sigma, i, f.Samples)
			}
		}
	}
}

// Another spread about the same middle is a change too.
func TestLengthWiderIsDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	l, now := taught(2000, func(i int) (int, bool) { return int(lognormal(300, 0.2)(r, i)), true })
	for i := range 100 {
		now = now.Add(time.Second)
		l.learn(now, chatKey(), int(lognormal(300, 1.2)(r, i)), true)
	}
	if f := l.predict(now, chatKey(), -1); f.Samples > 200 || f.P90 < 800 {
		t.Errorf("100 answers after the change: %+v", f)
	}
}

// The longer an answer has run, the longer it will: short ones are out.
func TestLengthRemaining(t *testing.T) {
	l, now := taught(1000, func(i int) (int, bool) { return []int{8, 900}[i%2], true })
	for _, c := range []struct{ bound, emitted, want int }{
		{-1, 0, 900}, {-1, 7, 893}, {-1, 8, 892}, {-1, 800, 100}, {500, 100, 400}, {500, 500, 0}, {500, 600, 0},
	} {
		f := l.remaining(now, chatKey(), c.bound, c.emitted)
		if f.P90 != c.want || c.emitted >= 8 && c.emitted < c.bound && f.P50 != c.want {
			t.Errorf("bound %d, emitted %d: got %+v, want a p90 of %d", c.bound, c.emitted, f, c.want)
		}
	}
	if f := l.remaining(now, chatKey(), -1, 5000); f.P50 < 1 || f.P90 < 1000 || f.Mean < 1000 {
		t.Errorf("beyond everything seen: %+v", f)
	}
}

// A new tenant is predicted by the others' requests of its kind, a new size of
// prompt by the route's, a new route by all.
func TestLengthOfNewKinds(t *testing.T) {
	l, now := taught(300, always(50))
	for _, c := range []struct {
		key   lengthKey
		depth uint8
	}{
		{chatKey(), 3}, {lengthKeyOf("new", "chat", -1, 500), 2}, {lengthKeyOf("a", "chat", 512, 9000), 1}, {lengthKeyOf("a", "new", -1, 1), 0},
	} {
		if f := l.predict(now, c.key, -1); f.P50 != 50 || f.P90 != 50 || f.Depth != c.depth {
			t.Errorf("%+v: got %+v, want 50 tokens known at depth %d", c.key, f, c.depth)
		}
	}
}

func TestLengthKeys(t *testing.T) {
	for _, c := range []struct {
		bound, prompt int
		want          lengthKey
	}{
		{-1, 0, lengthKey{}}, {0, 1, lengthKey{bound: 1, prompt: 1}}, {256, 255, lengthKey{bound: 9, prompt: 8}}, {257, 256, lengthKey{bound: 10, prompt: 9}},
	} {
		if got := lengthKeyOf("", "", c.bound, c.prompt); got != c.want {
			t.Errorf("bound %d, prompt %d: got %+v, want %+v", c.bound, c.prompt, got, c.want)
		}
	}
}

// However many kinds there are, so many levels are kept: those learned last,
// each with those above it.
func TestLengthLimit(t *testing.T) {
	l := newLengths()
	l.limit = 20
	r := rand.New(rand.NewPCG(8, 8))
	for i := range 5000 {
		now := lengthEpoch.Add(time.Duration(i) * time.Second)
		key := lengthKeyOf(fmt.Sprint("tenant", r.IntN(5)), fmt.Sprint("route", r.IntN(9)), -1, 1<<r.IntN(12))
		l.learn(now, key, 1+r.IntN(100), true)
		if f := l.predict(now, key, -1); f.Depth != 3 || len(l.known) > l.limit {
			t.Fatalf("%d levels, the limit is %d; just learned: %+v", len(l.known), l.limit, f)
		}
		inRing := 0
		for n := l.ring.after; n != &l.ring; n = n.after {
			inRing++
			if l.known[n.key] != n || n.parent != l.root && l.known[n.parent.key] != n.parent {
				t.Fatalf("%+v or its parent was dropped", n.key)
			}
		}
		if inRing != len(l.known) {
			t.Fatalf("%d levels in the ring, %d known", inRing, len(l.known))
		}
	}
}

// At one instant the order of samples doesn't matter, even where they are a change.
func TestLengthOrderAtOneInstant(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 9))
		type sample struct {
			key    lengthKey
			tokens int
			whole  bool
		}
		instants := make([][]sample, 40)
		for i := range instants {
			for range r.IntN(20) {
				key, n := kinds(r, 0)
				instants[i] = append(instants[i], sample{key, n * (1 + i/20*3), r.IntN(4) > 0})
			}
		}
		var got [2][]forecast
		for run := range 2 {
			l := newLengths()
			for i, samples := range instants {
				now := lengthEpoch.Add(time.Duration(i) * time.Second)
				for _, s := range samples {
					l.learn(now, s.key, s.tokens, s.whole)
				}
				r.Shuffle(len(samples), func(a, b int) { samples[a], samples[b] = samples[b], samples[a] })
				probe, _ := kinds(rand.New(rand.NewPCG(seed, uint64(i))), 0)
				got[run] = append(got[run], l.predict(now, probe, -1), l.remaining(now, probe, 2000, 50))
			}
		}
		for i := range got[0] {
			a, b := got[0][i], got[1][i]
			if a.P50 != b.P50 || a.P90 != b.P90 || math.Abs(a.Mean-b.Mean) > 1e-9*a.Mean || math.Abs(a.Samples-b.Samples) > 1e-6 {
				t.Fatalf("seed %d, prediction %d: %+v and %+v", seed, i, a, b)
			}
		}
	}
}
