package router

import (
	"strings"
	"testing"

	"sluice/config"
)

// said is a turn of the conversation that began with a hash, with a prompt of so
// many tokens and an answer of at most 300: the border is at 7200.
func said(began uint64, turn, tokens int) Request {
	req := Request{Route: "gemma", TokensIn: tokens, LongestIn: tokens, OutBound: 300, Sequences: 1, Bytes: 4 * tokens}
	req.Prefixes = Prefixes{Unit: 500, Hashes: [10]uint64{1, 2, 3, 4}} // the same instructions as all others
	req.Prefixes.Turn = began + uint64(turn)
	if turn > 1 {
		req.Prefixes.Before = began + uint64(turn) - 1
	}
	return req
}

// talkRouter serves both classes from pools that hold any prompt of said.
func talkRouter() *Router {
	cfg := testConfig(total(99), total(99))
	cfg.Pools["big"] = config.Pool{Cap: total(99), Engine: config.Engine{MaxModelLen: 65536}}
	cfg.Pools["fast"] = cfg.Pools["big"]
	return testRouter(cfg)
}

func TestAConversationKeepsItsClass(t *testing.T) {
	r := talkRouter()
	f := func(turn, tokens int, class Class, why ClassReason) {
		t.Helper()
		if g := granted(t, r.Offer(r.now, said(100, turn, tokens))); g.Class != class || g.Why != why {
			t.Errorf("turn %d, %d tokens: %s by %s, want %s by %s", turn, tokens, g.Class, g.Why, class, why)
		}
	}
	f(1, 3000, Decode, ByRatio)
	f(2, 7000, Decode, ByConversation)
	f(3, 12000, Decode, ByConversation)
	f(4, 28800, Decode, ByConversation)
	f(4, 28800, Decode, ByConversation) // asked again
	f(5, 28801, Prefill, ByRatio)       // four times past the border: it must
	f(6, 29000, Prefill, ByConversation)
	f(7, 1801, Prefill, ByConversation) // most of it was left out
	f(8, 1800, Decode, ByRatio)
}

// Others that begin with the same instructions, another tenant or route that says the
// same, and one whose turn before was never served here, go by their ratio.
func TestAClassIsNotKeptOfOthers(t *testing.T) {
	cfg := testConfig(total(99), total(99))
	cfg.Routes["other"] = cfg.Routes["gemma"]
	r := testRouter(cfg)
	granted(t, r.Offer(r.now, said(100, 1, 3000)))
	f := func(name string, change func(*Request), class Class, why ClassReason) {
		t.Helper()
		req := said(100, 2, 12000)
		change(&req)
		if g := granted(t, r.Offer(r.now, req)); g.Class != class || g.Why != why {
			t.Errorf("%s: %s by %s, want %s by %s", name, g.Class, g.Why, class, why)
		}
	}
	f("the conversation itself", func(*Request) {}, Decode, ByConversation)
	f("the same instructions", func(req *Request) { *req = said(500, 1, 12000) }, Prefill, ByRatio)
	f("a later turn of an unknown one", func(req *Request) { *req = said(600, 2, 12000) }, Prefill, ByRatio)
	f("another tenant", func(req *Request) { req.Tenant = "a" }, Prefill, ByRatio)
	f("another route", func(req *Request) { req.Route = "other" }, Prefill, ByRatio)
	f("without a hash", func(req *Request) { req.Prefixes = Prefixes{} }, Prefill, ByRatio)
	f("the client decides", func(req *Request) { req.Class = Prefill }, Prefill, ByClient)
	f("a label about it", func(req *Request) { req.OutBound = 16 }, Prefill, ByBound)
}

// What overrides the class of one turn is kept by the next, which doesn't say so.
func TestAnOverrideIsKept(t *testing.T) {
	cfg := testConfig(total(99), total(99))
	cfg.Classification.Rules = []config.Rule{{MaxTokensIn: 100, Class: "prefill"}}
	r := testRouter(cfg)
	if g := granted(t, r.Offer(r.now, said(100, 1, 90))); g.Class != Prefill || g.Why != ByRule {
		t.Fatalf("%s by %s", g.Class, g.Why)
	}
	if g := granted(t, r.Offer(r.now, said(100, 2, 2000))); g.Class != Prefill || g.Why != ByConversation {
		t.Errorf("%s by %s", g.Class, g.Why)
	}
	rt := cfg.Routes["gemma"]
	rt.Class = "decode"
	cfg.Routes["gemma"] = rt
	r.ApplyConfig(r.now, cfg)
	if g := granted(t, r.Offer(r.now, said(100, 3, 2100))); g.Class != Decode || g.Why != ByRoute {
		t.Errorf("%s by %s", g.Class, g.Why)
	}
}

// A conversation leaves a class whose pools can't serve it any more.
func TestAClassThatCannotServeIsLeft(t *testing.T) {
	f := func(name string, change func(*config.Config), fleet ...string) {
		t.Helper()
		cfg := testConfig(total(99), total(99))
		r := New(at(0), cfg)
		r.SetFleet(at(0), ready("big/b1", "fast/f1"))
		granted(t, r.Offer(r.now, said(100, 1, 3000)))
		next := *testConfig(total(99), total(99))
		change(&next)
		r.ApplyConfig(r.now, &next)
		r.SetFleet(r.now, ready(fleet...))
		req := said(100, 2, 7500)
		if g := granted(t, r.Offer(r.now, req)); g.Class != Prefill || g.Why != ByRatio {
			t.Errorf("%s: %s by %s", name, g.Class, g.Why)
		}
	}
	f("its context is too small", func(cfg *config.Config) {
		cfg.Pools["fast"] = config.Pool{Cap: total(99), Engine: config.Engine{MaxModelLen: 7000}}
	}, "big/b1", "fast/f1")
	f("none is up", func(*config.Config) {}, "big/b1")
	f("its cap is too low", func(cfg *config.Config) {
		cfg.Pools["fast"] = config.Pool{Cap: total(0), Engine: config.Engine{MaxModelLen: 32768}}
	}, "big/b1", "fast/f1")
	f("the route has no pools for it", func(cfg *config.Config) {
		rt := cfg.Routes["gemma"]
		rt.Decode.Pools = nil
		cfg.Routes["gemma"] = rt
	}, "big/b1", "fast/f1")
}

// However many conversations there are, only the last ones are remembered.
func TestTalksAreBounded(t *testing.T) {
	r := talkRouter()
	c := claim{Request: said(0, 1, 3000), class: Decode}
	c.route = r.routes["gemma"]
	c.queue = c.route.decode
	for i := range uint64(1_000_000) {
		c.Prefixes.Turn = 1000 * (i + 1)
		r.talks.learn(&c)
		if n := len(r.talks.young) + len(r.talks.old); n > 2*talkLimit {
			t.Fatalf("%d turns are remembered after %d", n, i+1)
		}
	}
	known := func(i uint64) bool { return r.talks.classOf(turn{"", "gemma", 1000 * i}) == Decode }
	if !known(1_000_000) || !known(1_000_000-talkLimit+1) || known(1_000_000-2*talkLimit) {
		t.Error("what was said last is not known, or what was said long ago is")
	}
}

func TestAConversationInWords(t *testing.T) {
	r := talkRouter()
	granted(t, r.Offer(r.now, said(100, 1, 3000)))
	f := func(tokens int, want string) {
		t.Helper()
		rec := r.Explain(r.now, said(100, 2, tokens))
		if !strings.HasPrefix(rec.Words, want) || rec.Class.Earlier != Decode || rec.Class.Before != ClassNone || Replay(&rec) != rec.Choice {
			t.Errorf("got  %s\nwant %s", rec.Words, want)
		}
	}
	f(9000, "class decode by conversation (keeps the class of its conversation: prompt 9000 not above answer 28800): replica f1")
	f(29000, "class prefill by ratio (prompt 29000 above answer 28800, its conversation was decode): replica b1")
}
