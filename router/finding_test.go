package router

import "testing"

// reading is one second's reading of "f1".
type reading struct {
	running, waiting int
	kv, steps        float64
	silent           bool // its release tells no steps
}

func (m reading) load(second int) Load {
	return Load{At: at(float64(second)), Running: m.running, Waiting: m.waiting, KVUsage: m.kv, TellsSteps: !m.silent, Steps: m.steps}
}

func TestEnginesThatStand(t *testing.T) {
	work := reading{running: 2, kv: .5, steps: 100}
	for _, tc := range []struct {
		name   string
		second func(n int) reading
		stands int // the second in which it is found; 0: never
	}{
		{"stands", func(int) reading { return work }, 11},
		{"stands in its first step", func(int) reading { return reading{waiting: 1} }, 11},
		{"works", func(n int) reading { return reading{2, 0, .5, float64(n), false} }, 0},
		{"computes a long prompt", func(n int) reading { return reading{1, 0, .01 * float64(n), 100, false} }, 0},
		{"has no work", func(int) reading { return reading{steps: 100} }, 0},
		{"tells no steps", func(int) reading { return reading{running: 2, kv: .5, silent: true} }, 0},
		{"moves now and then", func(n int) reading { return reading{2, 0, .5, float64(n / 8), false} }, 0},
		{"stands after a while", func(n int) reading { return reading{2, 0, .5, float64(min(n, 5)), false} }, 15},
	} {
		r := testRouter(testConfig(total(4), total(8)))
		found := 0
		for n := 1; n <= 30; n++ {
			r.Observe(at(float64(n)), "f1", tc.second(n).load(n))
			if f := r.Found("f1"); f.Stands && found == 0 {
				found = n
			} else if f != (Finding{}) {
				t.Errorf("%s: in second %d: %+v", tc.name, n, f)
			}
			if stalled := replicaOf(t, r, "f1").Stalled; stalled != (found > 0) {
				t.Errorf("%s: in second %d stalled is %t", tc.name, n, stalled)
			}
		}
		if found != tc.stands {
			t.Errorf("%s: found in second %d, want %d", tc.name, found, tc.stands)
		}
	}
}

// An engine that hangs as it takes a request in tells of no work; what waits there for
// its first token is work all the same, and an answer that has begun is none.
func TestEnginesThatStandAndTellOfNoWork(t *testing.T) {
	for name, tc := range map[string]struct {
		begins bool
		stands int
	}{"awaited": {false, 11}, "begun": {true, 0}} {
		r := testRouter(testConfig(total(4), total(8)))
		l := granted(t, r.Offer(at(0.5), chat())).Lease
		if tc.begins {
			r.First(at(0.7), l)
		}
		found := 0
		for n := 1; n <= 30; n++ {
			r.Observe(at(float64(n)), "f1", reading{steps: 100}.load(n))
			if r.Found("f1").Stands {
				found = n
			}
		}
		if found != tc.stands {
			t.Errorf("%s: found in second %d, want %d", name, found, tc.stands)
		}
	}
}

// Few readings prove nothing, however far apart; old ones neither; and what moves
// again is told once, and gets work.
func TestWhenStandingEnds(t *testing.T) {
	r := testRouter(testConfig(total(4), total(8)))
	work := reading{running: 2, kv: .5, steps: 100}
	for n := range 5 {
		r.Observe(at(float64(5*n)), "f1", work.load(5*n))
	}
	if r.Found("f1").Stands {
		t.Error("four readings like the first were enough")
	}
	r.Observe(at(25), "f1", work.load(25))
	if !r.Found("f1").Stands || !replicaOf(t, r, "f1").Stalled {
		t.Error("it doesn't stand after 25 s")
	}
	r.Tick(at(40))
	if replicaOf(t, r, "f1").Stalled {
		t.Error("a reading of 15 s ago forbids work")
	}
	work.steps++
	r.Observe(at(41), "f1", work.load(41))
	if f := r.Found("f1"); !f.Moves || replicaOf(t, r, "f1").Stalled {
		t.Errorf("it moves: %+v", f)
	}
	r.Observe(at(42), "f1", work.load(42))
	if f := r.Found("f1"); f != (Finding{}) {
		t.Errorf("told again: %+v", f)
	}
}

func TestUnexplainedLoad(t *testing.T) {
	r := testRouter(testConfig(total(4), total(8)))
	see := func(second float64, running int) int {
		r.Observe(at(second), "f1", Load{At: at(second), Running: running})
		return replicaOf(t, r, "f1").Unexplained
	}
	a := granted(t, r.Offer(at(0.5), many(1)))
	b := granted(t, r.Offer(at(0.6), many(3)))
	for _, tc := range []struct {
		second  float64
		running int
		want    int
		then    func()
	}{
		{1, 4, 0, nil},
		{2, 6, 2, func() { r.Release(at(2.5), b.Lease, Completed) }},
		{3, 4, 0, nil}, // it may be a step behind
		{4, 4, 0, nil}, // what was held between the two readings before
		{5, 4, 3, nil},
		{6, 1, 0, func() { r.Release(at(6.5), a.Lease, Completed) }},
		{7, 0, 0, nil},
	} {
		if got := see(tc.second, tc.running); got != tc.want {
			t.Errorf("at %v, %d running: %d unexplained, want %d", tc.second, tc.running, got, tc.want)
		}
		if tc.then != nil {
			tc.then()
		}
	}
}

// Orphans are what runs on after a cancel, where nobody else's work was before.
func TestOrphans(t *testing.T) {
	for _, tc := range []struct {
		name    string
		running func(second int) int // of an engine from which one sequence is cancelled after second 5
		found   int                  // the second; 0: never
	}{
		{"goes on", func(n int) int { return 1 }, 19},
		{"ends at once", func(n int) int { return before(n, 6) }, 0},
		{"ends late", func(n int) int { return before(n, 12) }, 0},
		{"others' work, from the start", func(n int) int { return before(n, 6) + 3 }, 0},
		{"others' work, and one that goes on", func(n int) int { return 4 }, 0}, // can't be told
	} {
		r := testRouter(testConfig(total(4), total(8)))
		l := granted(t, r.Offer(at(0.5), many(1))).Lease
		found := 0
		for n := 1; n <= 40; n++ {
			r.Observe(at(float64(n)), "f1", Load{At: at(float64(n)), Running: tc.running(n)})
			if f := r.Found("f1"); f.Orphans == 1 && found == 0 {
				found = n
			} else if f != (Finding{}) {
				t.Errorf("%s: in second %d: %+v", tc.name, n, f)
			}
			if n == 5 {
				r.Release(at(5.1), l, ClientGoneStreaming)
			}
			r.Tick(at(float64(n) + 0.9))
		}
		if found != tc.found {
			t.Errorf("%s: found in second %d, want %d", tc.name, found, tc.found)
		}
	}
}

// before is 1 before a second, and 0 from then on.
func before(n, end int) int {
	if n < end {
		return 1
	}
	return 0
}
