package router

import (
	"strings"
	"testing"
	"time"

	"sluice/config"
)

// says checks that a refusal's text has every part.
func says(t *testing.T, no *Refusal, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(no.Detail, part) {
			t.Errorf("%q does not say %q", no.Detail, part)
		}
	}
}

func TestQueueFull(t *testing.T) {
	cfg := testConfig(total(1), total(1))
	rt := cfg.Routes["gemma"]
	rt.Decode.Queue.MaxWaiting = 2
	cfg.Routes["gemma"] = rt
	r := testRouter(cfg)
	granted(t, r.Offer(at(0), chat()))
	for i := range 2 {
		if q := queued(t, r.Offer(at(0), chat())); q.Ahead != i {
			t.Errorf("waiter %d has %d ahead", i, q.Ahead)
		}
	}
	no := refused(t, r.Offer(at(0), chat()), QueueFull)
	says(t, no, "2 requests of class decode wait", "routes.gemma.decode.queue.max_waiting=2")
	if no.RetryAfter != time.Second {
		t.Errorf("Retry-After is %s, want 1s", no.RetryAfter)
	}
}

func TestQueueFullInBytes(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	granted(t, r.Offer(at(0), chat()))
	req := chat()
	req.Bytes = 1 << 19
	queued(t, r.Offer(at(0), req))
	queued(t, r.Offer(at(0), req))
	says(t, refused(t, r.Offer(at(0), req), QueueFull), "routes.gemma.decode.queue.max_bytes=1MiB")
}

func TestNobodyWaits(t *testing.T) {
	cfg := testConfig(total(1), total(1))
	rt := cfg.Routes["gemma"]
	rt.Decode.Queue.MaxWaiting = 0
	cfg.Routes["gemma"] = rt
	r := testRouter(cfg)
	granted(t, r.Offer(at(0), chat()))
	refused(t, r.Offer(at(0), chat()), QueueFull)
}

func TestWaitExpires(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	granted(t, r.Offer(at(0), chat()))
	q := queued(t, r.Offer(at(0), chat()))
	if q.Deadline != at(5) || r.Next() != at(5) {
		t.Fatalf("deadline %s, next tick %s, want both %s", q.Deadline, r.Next(), at(5))
	}
	none(t, r.Tick(at(4.9)))
	no := refused(t, one(t, r.Tick(at(5))), WaitExpired)
	says(t, no, "routes.gemma.decode.queue.max_wait=5s")
	if no.Waited != 5*time.Second || no.Ticket != q.Ticket {
		t.Fatalf("got %+v", no)
	}
}

func TestClientsOwnWaitIsShorter(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	granted(t, r.Offer(at(0), chat()))
	req := chat()
	req.MaxWait = time.Second
	queued(t, r.Offer(at(0), req))
	says(t, refused(t, one(t, r.Tick(at(1))), WaitExpired), "the request's own 1s")
}

func TestAutomaticWait(t *testing.T) {
	slo := config.SLO{TTFT: 2 * time.Second, TTFTPer1K: 250 * time.Millisecond}
	for _, c := range []struct {
		name    string
		service float64 // seconds, learned; 0: nothing
		in      int
		slo     config.SLO
		want    time.Duration
	}{
		{"nothing learned", 0, 4000, slo, 1500 * time.Millisecond},
		{"short service", 0.5, 4000, slo, 2500 * time.Millisecond},
		{"service beyond the SLO", 9, 4000, slo, 750 * time.Millisecond},
		{"no SLO", 1, 4000, config.SLO{}, patience},
	} {
		q := &queue{slo: promised{c.slo}}
		if c.service > 0 {
			q.service.add(c.service)
		}
		if got := q.maxWait(&Request{TokensIn: c.in}); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTooLong(t *testing.T) {
	for _, c := range []struct {
		name    string
		longest int
		bound   int
		want    Outcome // Undecided: granted
		pool    string
		param   string
	}{
		{"fits", 8191, 1, Undecided, "big", ""},
		{"leaves no token", 8192, -1, Undecided, "fast", ""},
		{"fits with its answer", 8000, 192, Undecided, "big", ""},
		{"may not with its answer", 8000, 193, Undecided, "fast", ""},
		{"may not with the answer to be expected", 8191 - 2*usualAnswer + 2, -1, Undecided, "fast", ""},
		{"with its answer the replica judges", 32700, 100, Undecided, "fast", ""},
		{"its answer alone", 10, 8193, Undecided, "fast", ""},
		{"pooling may fill it", 8192, 0, Undecided, "big", ""},
		{"longer than every context", 32768, -1, TooLong, "", "input_tokens"},
		{"an answer longer than every context", 10, 32769, TooLong, "", "max_tokens"},
	} {
		r := testRouter(testConfig(total(1), total(1)))
		req := Request{Route: "gemma", Class: Prefill, LongestIn: c.longest, TokensIn: c.longest, OutBound: c.bound, Sequences: 1}
		d := r.Offer(at(0), req)
		if c.want == Undecided {
			if g := granted(t, d); g.Pool != c.pool {
				t.Errorf("%s: got pool %s, want %s", c.name, g.Pool, c.pool)
			}
			continue
		}
		no := refused(t, d, c.want)
		says(t, no, "32768 tokens")
		if no.Param != c.param || no.RetryAfter != 0 {
			t.Errorf("%s: got %+v", c.name, no)
		}
	}
}

// A bound that no context can hold says nothing about the work: its replica isn't
// shunned for it.
func TestAbsurdBoundDoesNotSkewTheBalance(t *testing.T) {
	cfg := testConfig(total(8), total(8))
	for name, p := range cfg.Pools {
		p.Engine.MaxModelLen = 0 // not told
		cfg.Pools[name] = p
	}
	r := testRouter(cfg)
	absurd := chat()
	absurd.OutBound = 1<<31 - 1
	if g := granted(t, r.Offer(at(0), absurd)); g.TokensOut != 32<<10 {
		t.Errorf("%d tokens are expected out, want the usual context's 32768", g.TokensOut)
	}
}

func TestLargerThanEveryCap(t *testing.T) {
	r := testRouter(testConfig(total(4), config.Cap{Total: 8, Decode: 6}))
	granted(t, r.Offer(at(0), many(6)))
	no := refused(t, r.Offer(at(0), many(7)), Unsupported)
	says(t, no, "7 sequences", "pools.fast.cap.decode=6")
	if no.Param != "n" {
		t.Errorf("param %q, want n", no.Param)
	}
}

func TestNoReplica(t *testing.T) {
	cfg := testConfig(total(1), total(1))
	for _, c := range []struct {
		name  string
		fleet []Replica
		after [2]time.Duration // Retry-After within
	}{
		{"none", nil, [2]time.Duration{24 * time.Second, 30 * time.Second}},
		{"warming", []Replica{{"f1", "fast", Warming}}, [2]time.Duration{24 * time.Second, 30 * time.Second}},
		{"open", []Replica{{"f1", "fast", Open}}, [2]time.Duration{4 * time.Second, 6 * time.Second}},
		{"another pool's", ready("big/b1"), [2]time.Duration{24 * time.Second, 30 * time.Second}},
	} {
		r := New(at(0), cfg)
		r.SetFleet(at(0), c.fleet)
		no := refused(t, r.Offer(at(0), chat()), NoReplica)
		if no.RetryAfter < c.after[0] || no.RetryAfter > c.after[1] {
			t.Errorf("%s: Retry-After %s, want within %s", c.name, no.RetryAfter, c.after)
		}
	}
}

func TestUnknownRoute(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	refused(t, r.Offer(at(0), Request{Route: "gone"}), NoReplica)
	refused(t, r.Offer(at(0), Request{Pool: "gone"}), NoReplica)
}

func TestRetryAfterFollowsTheDrainRate(t *testing.T) {
	cfg := testConfig(total(1), total(1))
	rt := cfg.Routes["gemma"]
	rt.Decode.Queue.MaxWait = time.Hour
	cfg.Routes["gemma"] = rt
	r := testRouter(cfg)
	g := granted(t, r.Offer(at(0), chat()))
	for range 10 {
		queued(t, r.Offer(at(0), chat()))
	}
	for i := range 40 { // one leaves every 2 s
		now := at(2 * float64(i+1))
		g = granted(t, one(t, r.Release(now, g.Lease, Completed)))
		queued(t, r.Offer(now, chat()))
	}
	no := refused(t, r.Offer(at(80), chat()), QueueFull)
	if no.RetryAfter < 17*time.Second || no.RetryAfter > 27*time.Second {
		t.Errorf("Retry-After %s, want 11 × 2 s ± 20 %%", no.RetryAfter)
	}
}

func TestJitterStaysWithin20Percent(t *testing.T) {
	low, high := 2.0, 0.0
	for ticket := range Ticket(10000) {
		j := jitter(ticket)
		low, high = min(low, j), max(high, j)
	}
	if low < 0.8 || low > 0.81 || high > 1.2001 || high < 1.19 {
		t.Fatalf("jitter spans %g to %g", low, high)
	}
}
