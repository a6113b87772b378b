package router

import (
	"testing"
	"time"

	"sluice/config"
)

// divertRouter has two replicas of a pool; its route promises so much.
func divertRouter(slo config.SLO, replicas ...string) *Router {
	cfg := testConfig(total(100), total(100))
	rt := cfg.Routes["gemma"]
	rt.Decode.SLO, rt.Decode.Queue.MaxWait = slo, time.Minute
	cfg.Routes["gemma"] = rt
	r := New(at(0), cfg)
	r.SetFleet(at(0), ready(replicas...))
	return r
}

// whateverPromised runs a test without an SLO, with one, and with priority batch.
func whateverPromised(t *testing.T, f func(t *testing.T, slo config.SLO, p Priority)) {
	slo := config.SLO{TTFT: 200 * time.Second}
	t.Run("no SLO", func(t *testing.T) { f(t, config.SLO{}, Interactive) })
	t.Run("SLO", func(t *testing.T) { f(t, slo, Interactive) })
	t.Run("batch", func(t *testing.T) { f(t, slo, Batch) })
	t.Run("batch, no SLO", func(t *testing.T) { f(t, config.SLO{}, Batch) })
}

func verdictOf(t *testing.T, r *Router, now time.Time, req Request, address string) Verdict {
	t.Helper()
	rec := r.Explain(now, req)
	for _, c := range rec.Candidates {
		if c.Address == address {
			return c.Verdict
		}
	}
	t.Fatalf("%s is no candidate", address)
	return Undecidable
}

// TestWorkGoesRoundAStall: and when all stall it waits for the first sign of life.
func TestWorkGoesRoundAStall(t *testing.T) {
	whateverPromised(t, func(t *testing.T, slo config.SLO, p Priority) {
		r := divertRouter(slo, "fast/f1", "fast/f2")
		req := chat()
		req.Priority = p
		f1, f2 := granted(t, r.Offer(at(0), req)), granted(t, r.Offer(at(0), req))
		r.First(at(0.1), f2.Lease)
		for range 5 { // f1 has less work, but gives no sign of life
			if g := granted(t, r.Offer(at(6), req)); g.Replica != f2.Replica {
				t.Fatalf("granted %s, which stalls", g.Replica)
			}
		}
		if got := verdictOf(t, r, at(6), req, f1.Replica); got != NoSignOfLife {
			t.Errorf("%s is %s", f1.Replica, got)
		}
		queued(t, r.Offer(at(12), req))
		if g := granted(t, one(t, r.First(at(13), f1.Lease))); g.Replica != f1.Replica {
			t.Errorf("granted %s", g.Replica)
		}
	})
}

// TestAStallIsNoHalt: what has nothing on it any more gets work.
func TestAStallIsNoHalt(t *testing.T) {
	whateverPromised(t, func(t *testing.T, slo config.SLO, p Priority) {
		r := divertRouter(slo, "fast/f1")
		req := chat()
		req.Priority = p
		hung := granted(t, r.Offer(at(0), req))
		queued(t, r.Offer(at(10), req))
		granted(t, one(t, append(r.Release(at(11), hung.Lease, Silent), r.Tick(at(12))...)))
	})
}

// TestWorkGoesRoundAFullCache: for as long as the metrics that told of it are fresh.
func TestWorkGoesRoundAFullCache(t *testing.T) {
	whateverPromised(t, func(t *testing.T, slo config.SLO, p Priority) {
		r := divertRouter(slo, "fast/f1", "fast/f2")
		req := chat()
		req.Priority = p
		f1 := granted(t, r.Offer(at(0), req))
		r.First(at(0.1), f1.Lease)
		r.Observe(at(1), f1.Replica, Load{At: at(1), Running: 1, KVUsage: 0.97})
		for range 3 {
			g := granted(t, r.Offer(at(1), req))
			if g.Replica == f1.Replica {
				t.Fatalf("granted %s, whose cache is full", g.Replica)
			}
			r.First(at(1), g.Lease)
		}
		if got := verdictOf(t, r, at(1), req, f1.Replica); got != MemoryFull {
			t.Errorf("%s is %s", f1.Replica, got)
		}
		r.SetFleet(at(2), ready("fast/"+f1.Replica))
		waits := queued(t, r.Offer(at(2), req))
		for next := r.Next(); ; next = r.Next() { // by time alone
			if list := r.Tick(next); len(list) > 0 {
				if g := granted(t, one(t, list)); g.Ticket != waits.Ticket || next.Sub(at(1)) > kvFresh+look {
					t.Errorf("granted %+v after %s", g, next.Sub(at(1)))
				}
				return
			}
		}
	})
}

// A silence is a stall after five times what was foreseen, and two seconds at least.
// Nothing is cut for it: what ends, ends as ever.
func TestHowLongASilenceIsAStall(t *testing.T) {
	f := func(tokensIn int, want time.Duration) {
		t.Helper()
		r := divertRouter(config.SLO{}, "fast/f1")
		req := chat()
		req.TokensIn, req.LongestIn = tokensIn, tokensIn
		g := granted(t, r.Offer(at(0), req))
		p := &r.replicas["f1"].pace
		if p.stalled(at(0).Add(want)) || !p.stalled(at(0).Add(want+time.Millisecond)) {
			t.Errorf("%d tokens: not a stall from %s on", tokensIn, want)
		}
		if next := r.Next(); !next.IsZero() {
			t.Errorf("next tick at %s: nothing is to be done about a stall", next)
		}
		r.First(at(0).Add(want+time.Second), g.Lease)
		if p.stalled(at(3600)) {
			t.Error("it stalls though it has given a sign of life")
		}
	}
	f(500, stallLeast)
	f(30000, time.Duration(stallFactor*(priorFirst+30000*priorPrompt)*float64(time.Second)))
}
