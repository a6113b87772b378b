package router

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// engine is the truth that a pace is to find out, in seconds.
type engine struct{ token, sequence, prompt, first float64 }

func (e engine) times(x float64) engine {
	return engine{e.token * x, e.sequence * x, e.prompt * x, e.first * x}
}

// round lets n answers decode side by side for so many steps, while some prompts of
// 4,000 tokens are computed, and returns when it has ended. One of them is learned
// from: others would tell the same.
func (e engine) round(p *pace, now time.Time, n, steps, prompts int) time.Time {
	after := func(seconds float64) time.Time { return now.Add(time.Duration(seconds * float64(time.Second))) }
	for range n {
		p.began(now, 100)
	}
	now = after(e.first + e.prompt*100*float64(n))
	for i := range n {
		ahead := 100 * float64(i+1)
		p.computed(now, 100, 1, ahead, time.Duration((e.first+e.prompt*ahead)*float64(time.Second)))
	}
	first := p.mark()
	for range prompts {
		p.began(now, 4000)
		p.computed(now, 4000, 0, 4000, time.Duration((e.first+e.prompt*4000)*float64(time.Second)))
	}
	now = after(float64(steps)*(e.token+e.sequence*float64(n)) + e.prompt*4000*float64(prompts))
	p.learn(now, first, steps+1)
	p.ended(now, n)
	return now.Add(time.Second)
}

// rounds are many, of all sizes.
func (e engine) rounds(p *pace, now time.Time, n int) time.Time {
	rng := rand.New(rand.NewPCG(uint64(n), 7))
	for range n {
		now = e.round(p, now, 1+rng.IntN(64), 50+rng.IntN(100), rng.IntN(10))
	}
	return now
}

// matches compares what is foreseen with the truth. The priors always count a little.
func (e engine) matches(t *testing.T, p *pace) {
	t.Helper()
	f := func(what string, got, want, prior float64) {
		t.Helper()
		if math.Abs(got-want) > 0.1*want+0.1*prior {
			t.Errorf("%s: foreseen %.4f s, it is %.4f s", what, got, want)
		}
	}
	for _, n := range []int{1, 8, 32, 64} {
		f("a token", p.tpot(n, 0), e.token+e.sequence*float64(n), priorToken)
	}
	inflow := 0.5 / e.prompt
	f("a token, half the time computing prompts", p.tpot(32, inflow), 2*(e.token+32*e.sequence), priorToken)
	f("a first token", p.idleTTFT(4000), e.first+e.prompt*4000, 3*priorFirst)
	f("a first token", p.idleTTFT(400), e.first+e.prompt*400, 3*priorFirst)
}

func TestAPaceIsLearned(t *testing.T) {
	for _, e := range []engine{
		{token: 0.025, sequence: 0.0001, prompt: 15e-6, first: 0.05},
		{token: 0.010, sequence: 0.0004, prompt: 40e-6, first: 0.02},
		{token: 0.040, sequence: 0.00005, prompt: 100e-6, first: 0.2},
		{token: 0.012, sequence: 0.00005, prompt: 8e-6, first: 0.02},
	} {
		p := newPace()
		e.rounds(&p, at(0), 400)
		e.matches(t, &p)
	}
}

// A replica that becomes twice as slow is soon known to be, and one that recovers too.
func TestAPaceFollows(t *testing.T) {
	e, p := engine{token: 0.02, sequence: 0.0002, prompt: 20e-6, first: 0.05}, newPace()
	now := e.rounds(&p, at(0), 400)
	e.matches(t, &p)
	now = e.times(2).rounds(&p, now, 400)
	e.times(2).matches(t, &p)
	e.rounds(&p, now, 400)
	e.matches(t, &p)
}

// Nothing that is taken in makes a coefficient negative, infinite or no number.
func TestAPaceStaysSane(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	p := newPace()
	wild := func() float64 { return math.Exp(rng.Float64()*60 - 20) } // up to e^40
	for range 20000 {
		p.step.add(causes{1, wild(), wild()}, wild(), min(wild(), 10))
		p.first.learn(causes{1, wild()}, wild())
		p.crowd.add(wild(), wild()*float64(rng.IntN(2)))
		for _, k := range []float64{p.step.k[0], p.step.k[1], p.step.k[2], p.first.k[0], p.first.k[1], p.crowd.value()} {
			if !(k >= 0) || math.IsInf(k, 0) {
				t.Fatalf("step %v, first %v, crowd %v", p.step.k, p.first.k, p.crowd.value())
			}
		}
	}
}

// Prompts that were always alone tell nothing of what many at once would take.
func TestAQuietTimeLeavesRoomForMany(t *testing.T) {
	r := New(at(0), promisedConfig(total(64), total(64)))
	r.SetFleet(at(0), ready("fast/f1"))
	now := 0.0
	for ; now < 3000; now++ {
		g := granted(t, r.Offer(at(now), label()))
		r.First(at(now+0.2), g.Lease)
		r.Learn(at(now+0.6), Answer{Lease: g.Lease, TokensOut: 10})
		r.Release(at(now+0.6), g.Lease, Completed)
	}
	for range 8 {
		granted(t, r.Offer(at(now), label()))
	}
}

// The first token of a whole answer is presumed, so that its prompt isn't thought to
// lie there until the end; what it taught is found at the end.
func TestAFirstTokenIsPresumed(t *testing.T) {
	r := New(at(0), promisedConfig(total(64), total(64)))
	r.SetFleet(at(0), ready("fast/f1"))
	req, p := chat(), &r.replicas["f1"].pace
	req.Whole = true
	g := granted(t, r.Offer(at(0), req))
	due := at(presumedLate * p.idleTTFT(500))
	if next := r.Next(); next.Sub(due).Abs() > time.Microsecond {
		t.Fatalf("next tick at %s, want the presumed first token at %s", next, due)
	}
	if p.pending != 500 || p.decoding != 0 {
		t.Fatalf("before it %v tokens are pending and %d decode", p.pending, p.decoding)
	}
	r.Tick(due.Add(time.Microsecond))
	if p.pending != 0 || p.decoding != 1 {
		t.Fatalf("after it %v tokens are pending and %d decode", p.pending, p.decoding)
	}
	r.Release(at(9), g.Lease, Completed)
	if p.pending != 0 || p.decoding != 0 || p.flying != 0 {
		t.Errorf("at the end the sums are %+v", p)
	}
}

// Whole answers alone teach how long a first token takes.
func TestWholeAnswersTeachFirstTokens(t *testing.T) {
	r := New(at(0), promisedConfig(total(64), total(64)))
	r.SetFleet(at(0), ready("fast/f1"))
	req, p := chat(), &r.replicas["f1"].pace
	req.Whole = true
	for now := 0.0; now < 3000; now += 30 {
		g := granted(t, r.Offer(at(now), req))
		end := now + 0.4 + 600*p.tpot(1, 0)
		r.Tick(at(now + 1))
		r.Learn(at(end), Answer{Lease: g.Lease, TokensOut: 600})
		r.Release(at(end), g.Lease, Completed)
	}
	if got := p.idleTTFT(500); math.Abs(got-0.4) > 0.1 {
		t.Errorf("a first token is foreseen after %.3f s, it takes 0.4 s", got)
	}
}

// A first token of an answer that has ended, or that never was, is no news.
func TestAFirstTokenAfterTheEnd(t *testing.T) {
	r := testRouter(testConfig(total(9), total(9)))
	g, broken := granted(t, r.Offer(at(0), chat())), granted(t, r.Offer(at(0), chat()))
	r.Release(at(1), g.Lease, Completed)
	r.Release(at(1), broken.Lease, ClientGoneStreaming)
	before := r.replicas["f1"].pace
	none(t, r.First(at(2), g.Lease))
	none(t, r.First(at(2), broken.Lease))
	none(t, r.First(at(2), Lease{99}))
	r.Learn(at(2), Answer{Lease: broken.Lease, TokensOut: 7})
	if r.replicas["f1"].pace != before {
		t.Errorf("it changed what is known: %+v, was %+v", r.replicas["f1"].pace, before)
	}
}
