package router

import (
	"testing"
	"time"

	"sluice/config"
)

func TestClassify(t *testing.T) {
	ratio := func(in, out int) Request { return Request{TokensIn: in, OutBound: out, Sequences: 1} }
	hint := func(req Request, c Class) Request { req.Class = c; return req }
	times := func(req Request, n int) Request { req.Sequences = n; return req }
	from := func(req Request, tenant string) Request { req.Tenant = tenant; return req }
	rules := []config.Rule{
		{Tenant: "batch", MinTokensIn: 100, MaxTokensIn: 200, Class: "prefill"},
		{Route: "gemma", Tenant: "batch", MaxTokensOut: 50, Class: "decode"},
		{Route: "another", Class: "prefill"},
	}
	for _, c := range []struct {
		name  string
		req   Request
		class Class
		why   ClassReason
	}{
		{"classification", ratio(4000, 100), Prefill, ByRatio},
		{"long summary", ratio(30000, 1000), Prefill, ByRatio},
		{"generation", ratio(500, 1000), Decode, ByRatio},
		{"chat", ratio(2000, 300), Decode, ByRatio},
		{"long chat", ratio(8000, 500), Decode, ByRatio},
		{"chat without a bound", ratio(2000, -1), Decode, ByRatio},
		{"long prompt without a bound", ratio(7201, -1), Prefill, ByRatio},
		{"just not above w", ratio(7200, -1), Decode, ByRatio},
		{"label", ratio(4000, 10), Prefill, ByBound},
		{"short moderation call", ratio(20, 16), Prefill, ByBound},
		{"bound above short", ratio(20, 17), Decode, ByRatio},
		{"pooling", ratio(300, 0), Prefill, ByBound},
		{"samples weigh their answers", times(ratio(30000, 1000), 4), Decode, ByRatio},
		{"a batch is judged as one of it", times(ratio(4*30000, 1000), 4), Prefill, ByRatio},
		{"hint", hint(ratio(500, 1000), Prefill), Prefill, ByClient},
		{"hint against the bound", hint(ratio(4000, 10), Decode), Decode, ByClient},
		{"other", hint(ratio(4000, 10), Other), Other, ByEndpoint},
		{"first rule", from(ratio(150, 1000), "batch"), Prefill, ByRule},
		{"second rule", from(ratio(4000, 50), "batch"), Decode, ByRule},
		{"no rule matches", from(ratio(4000, 51), "batch"), Prefill, ByRatio},
		{"a rule on the bound needs one", from(ratio(50, -1), "batch"), Decode, ByRatio},
	} {
		cfg := testConfig(total(9), total(9))
		cfg.Classification.Rules = rules
		req := c.req
		req.Route = "gemma"
		g := granted(t, testRouter(cfg).Offer(at(0), req))
		if g.Class != c.class || g.Why != c.why {
			t.Errorf("%s: got %s by %s, want %s by %s", c.name, g.Class, g.Why, c.class, c.why)
		}
	}
}

func TestARouteMayPinItsClass(t *testing.T) {
	cfg := testConfig(total(9), total(9))
	rt := cfg.Routes["gemma"]
	rt.Class = "prefill"
	rt.Decode.Pools = nil
	cfg.Routes["gemma"] = rt
	req := chat()
	req.Class = Decode // the route has no pools for it: not heard
	if g := granted(t, testRouter(cfg).Offer(at(0), req)); g.Class != Prefill || g.Why != ByRoute {
		t.Fatalf("got %s by %s", g.Class, g.Why)
	}
}

func TestAClassWithoutPoolsBecomesTheOther(t *testing.T) {
	cfg := testConfig(total(9), total(9))
	rt := cfg.Routes["gemma"]
	rt.Prefill.Pools = nil
	cfg.Routes["gemma"] = rt
	if g := granted(t, testRouter(cfg).Offer(at(0), label())); g.Class != Decode || g.Why != ByBound {
		t.Fatalf("got %s by %s", g.Class, g.Why)
	}
}

func TestExpectedTokens(t *testing.T) {
	r := testRouter(testConfig(total(9), total(9)))
	req := many(3)
	if g := granted(t, r.Offer(at(0), req)); g.TokensOut != 3000 || g.W != 24 {
		t.Errorf("got %+v", g)
	}
	if rep := replicaOf(t, r, "f1"); rep.Work != 500+24*3000 {
		t.Errorf("work %d", rep.Work)
	}
	req.OutBound = -1
	if g := granted(t, r.Offer(at(0), req)); g.TokensOut != 900 {
		t.Errorf("got %d tokens out, want three times the prior of 300", g.TokensOut)
	}
}

// answered plays a whole request.
func answered(t *testing.T, r *Router, req Request, tokens int, service time.Duration) {
	t.Helper()
	g := granted(t, r.Offer(r.now, req))
	r.Learn(r.now, Answer{Lease: g.Lease, TokensOut: tokens, Service: service})
	none(t, r.Release(r.now, g.Lease, Completed))
}

func TestLearnedLength(t *testing.T) {
	f := func(name string, bound, tokens int, low, top float64) {
		t.Helper()
		r := testRouter(testConfig(total(9), total(9)))
		req := chat()
		req.OutBound = bound
		for i := range 1500 {
			r.now = at(float64(i) / 100)
			answered(t, r, req, tokens, time.Second)
		}
		if g := granted(t, r.Offer(r.now, req)); float64(g.TokensOut) < low || float64(g.TokensOut) > top {
			t.Errorf("%s: expects %d tokens, want %.0f … %.0f", name, g.TokensOut, low, top)
		}
	}
	f("no bound", -1, 800, 795, 805)
	f("wide bound, not reached", 4096, 350, 348, 352)
	f("cut at a wide bound", 2000, 2000, 1990, 2000)
	f("cut at a narrow bound", 50, 50, 49, 50)
	f("ended before a narrow bound", 100, 30, 29, 31)
}

// What one kind of request teaches is not believed of another.
func TestLengthsAreLearnedByKind(t *testing.T) {
	r := testRouter(testConfig(total(9), total(9)))
	short, long := chat(), chat()
	short.OutBound, short.TokensIn, long.OutBound = -1, 4000, -1
	for i := range 200 {
		r.now = at(float64(i) / 100)
		answered(t, r, short, 10, time.Second)
		answered(t, r, long, 1000, time.Second)
	}
	if g := granted(t, r.Offer(r.now, short)); g.TokensOut > 20 || g.Class != Prefill {
		t.Errorf("of the short kind %d tokens are expected, class %s", g.TokensOut, g.Class)
	}
	if g := granted(t, r.Offer(r.now, long)); g.TokensOut < 900 || g.Class != Decode {
		t.Errorf("of the long kind %d tokens are expected, class %s", g.TokensOut, g.Class)
	}
}

// A kind of request near the border doesn't change its class with every answer.
func TestClassSticks(t *testing.T) {
	r := testRouter(testConfig(total(99), total(99)))
	req := Request{Route: "gemma", TokensIn: 2400, OutBound: -1, Sequences: 1}
	flips, last := 0, ClassNone
	for i := range 2000 {
		r.now = at(float64(i) / 10)
		g := granted(t, r.Offer(r.now, req))
		r.Learn(r.now, Answer{Lease: g.Lease, TokensOut: 60 + i*37%80})
		r.Release(r.now, g.Lease, Completed)
		if g.Class != last {
			flips++
		}
		last = g.Class
	}
	if flips > 5 {
		t.Errorf("the class changed %d times", flips)
	}
}

func TestLearningChangesClassAndWait(t *testing.T) {
	cfg := testConfig(total(1), total(9))
	rt := cfg.Routes["gemma"]
	rt.Prefill.Queue.MaxWait = 0
	rt.Prefill.SLO = config.DefaultRoute().Prefill.SLO
	cfg.Routes["gemma"] = rt
	r := testRouter(cfg)
	req := Request{Route: "gemma", TokensIn: 4000, OutBound: -1, Sequences: 1}
	if g := granted(t, r.Offer(at(0), req)); g.Class != Decode {
		t.Fatalf("got %s, want decode before anything is learned", g.Class)
	}
	r.Release(at(0), Lease{1}, Completed)
	for range 300 {
		answered(t, r, req, 40, 2*time.Second)
	}
	if g := granted(t, r.Offer(r.now, req)); g.Class != Prefill {
		t.Fatalf("got %s, want prefill once answers are known to be short", g.Class)
	}
	if wait := r.routes["gemma"].prefill.maxWait(&req); wait != time.Second {
		t.Errorf("may wait %s, want the SLO of 3s less a service of 2s", wait)
	}
}
