package router

import (
	"strings"
	"testing"
	"time"

	"sluice/config"
)

// recordRouter has two replicas of big and one of fast, and promises.
func recordRouter(t *testing.T) *Router {
	t.Helper()
	cfg := testConfig(config.Cap{Total: 4, Prefill: 1}, total(2))
	rt := cfg.Routes["gemma"]
	rt.Prefill.Pools = []config.Preference{{Pool: "big", Value: 1}, {Pool: "fast", Value: 0.8}}
	rt.Prefill.SLO = config.SLO{TTFT: 2 * time.Second}
	rt.Prefill.Queue.MaxWaiting = 1
	cfg.Routes["gemma"] = rt
	r := New(at(0), cfg)
	r.SetFleet(at(0), ready("big/b1", "big/b2", "fast/f1"))
	return r
}

func TestRecordInWords(t *testing.T) {
	r := recordRouter(t)
	long := label()
	long.LongestIn = 40000
	for i, c := range []struct {
		req  Request
		want string
	}{
		{label(), "class prefill by bound: replica b1 of pool big, choice 1, least recently used of 2 with the least work, 2 willing (0 tokens of work)"},
		{label(), "class prefill by bound: replica b2 of pool big, choice 1, the only one willing (0 tokens of work); of the others 1 full"},
		{label(), "class prefill by bound: replica f1 of pool fast, choice 2, the only one willing (0 tokens of work); of the others 2 full"},
		{chat(), "class decode by ratio (prompt 500 not above answer 24000): replica f1 of pool fast, choice 1, the only one willing (4240 tokens of work)"},
		{chat(), "class decode by ratio (prompt 500 not above answer 30000, decode before): waits at most 5s, 0 ahead, expected wait unknown; of the others 1 full"},
		{label(), "class prefill by bound: waits at most 5s, 0 ahead, expected wait unknown; of the others 3 full"},
		{label(), "class prefill by bound: refused as queue_full: 1 requests of class prefill wait, limit routes.gemma.prefill.queue.max_waiting=1"},
		{long, "class prefill by bound: refused as too_long: the longest context here is 32768 tokens, but the prompt has at least 40000 input tokens; shorten the prompt"},
		{Request{Route: "gone"}, `class none by none: refused as no_replica: no route or pool is called "gone" any more`},
		{Request{Route: "gemma", Class: Other}, "class other by endpoint: replica b1 of pool big, choice 1, least recently used of 2 with the least work, 2 willing (4240 tokens of work)"},
	} {
		rec := r.Explain(at(0), c.req)
		if rec.Words != c.want {
			t.Errorf("request %d:\n got %s\nwant %s", i, rec.Words, c.want)
		}
		if !strings.HasPrefix(rec.Text(), rec.Words) {
			t.Errorf("request %d: the text doesn't begin with its sentence:\n%s", i, rec.Text())
		}
		r.Offer(at(0), c.req)
	}
}

func TestRecordAsText(t *testing.T) {
	r := testRouter(testConfig(config.Cap{Total: 4, Prefill: 1}, total(2)))
	r.Offer(at(0), label())
	const want = `class prefill by bound: replica f1 of pool fast, choice 2, the only one willing (0 tokens of work); of the others 1 full

request     route gemma, tenant "": 4000 tokens in (the longest prompt surely 3000, at most 3000), at most 10 tokens out each, sequences: 1, 16000 bytes
foreseen    10 tokens out of a sequence (half at most 10, nine of ten at most 10; from 0 answers); 10 in all, work 4240 at w 24
class       class prefill by bound
replicas    b1 big, choice 1 worth 0: full; holds 1 of 4 (1 prefill, 0 decode; class cap 1), work 4240
            f1 fast, choice 2 worth 0: willing; holds 0 of 2, work 0
queue       0 of 10 wait (routes.gemma.prefill.queue); expected wait unknown, at most 5s
decision    f1 of pool fast: the only one willing
`
	rec := r.Explain(at(0), label())
	if got := rec.Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTurnsInWords(t *testing.T) {
	q := &Line{Behind: true, Crowds: true, Beside: 2}
	const want = "; a waiter comes first; the queue is full, a louder tenant gives a place; its tenant is ahead of others, so 2 like it must fit beside it"
	if got := q.turns(true); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := q.turns(false); got != want[strings.LastIndex(want, ";"):] {
		t.Errorf("got %s for one that doesn't wait", got)
	}
}

func TestCandidateInWords(t *testing.T) {
	c := Candidate{
		Address: "a", Pool: "p", Choice: 2, Value: 0.8, State: Trial, Cap: 8, ClassCap: 8, Work: 5,
		Prospect: Prospect{Verdict: FirstTooLate, First: 1.23456, FirstLimit: 0.93, Token: 0.02734, TokenLimit: 0.0465, BestEffort: true},
	}
	const want = "a p, choice 2 worth 0.8: first token too late (trial); holds 0 of 8, work 5; first 1.23s of 930ms; token 27.3ms of 46.5ms; best effort"
	if got := c.line(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestCompactLeavesOut: what a header can't hold, candidates first.
func TestCompactLeavesOut(t *testing.T) {
	r := recordRouter(t)
	rec := r.Explain(at(0), label())
	whole := string(rec.Compact(1 << 20))
	if strings.Contains(whole, "left_out") || strings.Count(whole, "choice ") < 4 {
		t.Errorf("got %s", whole)
	}
	if part := string(rec.Compact(len(whole) - 1)); !strings.Contains(part, `"left_out":1`) {
		t.Errorf("got %s", part)
	}
	rec.Words = strings.Repeat("w", 40) + "é𝄞" + strings.Repeat("w", 40)
	if least := string(rec.Compact(200)); !strings.HasPrefix(least, `{"words":"www`) || !strings.Contains(least, `\u00e9\ud834\udd1e`) {
		t.Errorf("got %s", least)
	}
	if few := rec.Compact(60); len(few) > 60 || !ascii(few) {
		t.Errorf("got %s", few)
	}
}

// Asking why a request would be refused counts as no refusal.
func TestExplainedRefusalsAreNotCounted(t *testing.T) {
	cfg := testConfig(total(1), total(1))
	rt := cfg.Routes["gemma"]
	rt.Decode.Queue.MaxWaiting = 0
	cfg.Routes["gemma"] = rt
	r := testRouter(cfg)
	granted(t, r.Offer(at(0), chat()))
	before := r.routes["gemma"].decode.misses
	if rec := r.Explain(at(0), chat()); rec.Choice.Refused != QueueFull || r.routes["gemma"].decode.misses != before {
		t.Errorf("%+v, and %+v became %+v", rec.Choice, before, r.routes["gemma"].decode.misses)
	}
}
