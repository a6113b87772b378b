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

func TestLearnedLength(t *testing.T) {
	answer := func(out, bound int) Answer {
		return Answer{Route: "gemma", Class: Decode, TokensOut: out, Bound: bound}
	}
	for _, c := range []struct {
		name     string
		answer   Answer
		low, top float64 // of the mean after 1,000 such answers
	}{
		{"no bound", answer(800, -1), 799, 801},
		{"wide bound, not reached", answer(350, 4096), 349, 351},
		{"cut at a wide bound: at least so long", answer(2000, 2000), 1999, 2001},
		{"cut at a narrow bound says nothing", answer(50, 50), 300, 300},
		{"ended below a narrow bound says nothing", answer(3, 10), 300, 300},
		{"empty says nothing", answer(0, -1), 300, 300},
		{"class other is ignored", Answer{Route: "gemma", Class: Other, TokensOut: 5, Bound: -1}, 300, 300},
		{"unknown route is ignored", Answer{Route: "gone", Class: Decode, TokensOut: 5, Bound: -1}, 300, 300},
	} {
		r := testRouter(testConfig(total(9), total(9)))
		for range 1500 {
			r.Learn(at(1), c.answer)
		}
		if got := r.routes["gemma"].decode.tokensOut.value; got < c.low || got > c.top {
			t.Errorf("%s: mean %.1f, want %.0f … %.0f", c.name, got, c.low, c.top)
		}
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
	for range 300 {
		r.Learn(at(1), Answer{Route: "gemma", Class: Prefill, TokensOut: 40, Bound: -1, Service: 2 * time.Second})
	}
	if g := granted(t, r.Offer(at(1), req)); g.Class != Prefill {
		t.Fatalf("got %s, want prefill once answers are known to be short", g.Class)
	}
	if wait := r.routes["gemma"].prefill.maxWait(&req); wait != time.Second {
		t.Errorf("may wait %s, want the SLO of 3s less a service of 2s", wait)
	}
}
