package router

import (
	"testing"
	"time"
)

// kvRouter has one replica that holds four chats: as foreseen, some 6,000 tokens of KV
// in the end.
func kvRouter(t *testing.T) (*Router, []Grant) {
	t.Helper()
	r := New(at(0), promisedConfig(total(64), total(64)))
	r.SetFleet(at(0), ready("fast/f1"))
	var held []Grant
	for range 4 {
		g := granted(t, r.Offer(at(0), chat()))
		r.First(at(0.1), g.Lease)
		held = append(held, g)
	}
	if got := r.replicas["f1"].kv.held; got != 4*(500+1000) {
		t.Fatalf("%v tokens are foreseen", got)
	}
	return r, held
}

// tell lets f1's metrics say how full its cache is.
func tell(r *Router, now, usage float64) []Decision {
	return r.Observe(at(now), "f1", Load{At: at(now), Running: 4, KVUsage: usage})
}

// A usage of 0.8 by 6,000 tokens is a cache of 7,500: one more chat overflows it.
func TestWhatWouldOverflowTheCacheWaits(t *testing.T) {
	r, held := kvRouter(t)
	none(t, tell(r, 1, 0.8))
	if got := verdictOf(t, r, at(1), chat(), "f1"); got != MemoryFull {
		t.Errorf("f1 is %s, want its cache full", got)
	}
	q := queued(t, r.Offer(at(1), chat()))
	if g := granted(t, one(t, r.Release(at(2), held[0].Lease, Completed))); g.Ticket != q.Ticket {
		t.Errorf("ticket %d got the room, want %d", g.Ticket, q.Ticket)
	}
}

// What fits is taken, up to the part of the cache that is filled.
func TestWhatFitsIntoTheCacheIsTaken(t *testing.T) {
	f := func(usage float64, tokensIn, bound int, want Verdict) {
		t.Helper()
		r, _ := kvRouter(t)
		tell(r, 1, usage)
		req := chat()
		req.TokensIn, req.OutBound, req.Class = tokensIn, bound, Decode
		if got := verdictOf(t, r, at(1), req, "f1"); got != want {
			t.Errorf("%d + %d tokens beside 6,000 at %v: %s, want %s", tokensIn, bound, usage, got, want)
		}
	}
	f(0.8, 1000, 120, Willing) // 7,120 of 0.95 × 7,500 = 7,125
	f(0.8, 1000, 130, MemoryFull)
	f(0.5, 4000, 1390, Willing) // 11,390 of 11,400
	f(0.5, 4000, 1410, MemoryFull)
	f(0.4, 9000, 3000, Willing)   // half empty: whatever is foreseen
	f(0.05, 9000, 12000, Willing) // says nothing
}

// The capacity is a mean of what was told: a cache that fills slowly isn't taken to
// be small or large by one reading.
func TestTheCapacityOfACacheIsAMean(t *testing.T) {
	r, _ := kvRouter(t)
	for i := range 100 {
		tell(r, 1+0.1*float64(i), 0.6)
	}
	tell(r, 12, 0.8)
	if got := r.replicas["f1"].kv.capacity.value; got < 9500 || got > 10000 {
		t.Errorf("a cache of 10,000 is taken to have %.0f tokens", got)
	}
}

// Old metrics forbid nothing.
func TestOldMetricsFillNoCache(t *testing.T) {
	r, _ := kvRouter(t)
	tell(r, 1, 0.9)
	queued(t, r.Offer(at(1), chat()))
	for now := at(1); len(r.waiters) > 0; now = r.Next() {
		if now.Sub(at(1)) > kvFresh+look {
			t.Fatal("it still waits")
		}
		r.Tick(now)
	}
}

// An idle replica takes what it can't hold, as far as is known: else nobody would.
func TestAnIdleReplicaTakesWhatOverflows(t *testing.T) {
	r, held := kvRouter(t)
	tell(r, 1, 0.9)
	for _, g := range held {
		r.Release(at(2), g.Lease, Completed)
	}
	tell(r, 3, 0.9)
	req := chat()
	req.TokensIn = 20000
	granted(t, r.Offer(at(3), req))
}

// A new process has a cache of its own.
func TestAnotherProcessHasAnotherCache(t *testing.T) {
	r, _ := kvRouter(t)
	tell(r, 1, 0.9)
	r.SetFleet(at(2), nil)
	r.SetFleet(at(3), ready("fast/f1"))
	if got := verdictOf(t, r, at(3), chat(), "f1"); got != Willing {
		t.Errorf("f1 is %s", got)
	}
}

// What is foreseen comes and goes with the leases, whatever becomes of them.
func TestForeseenKVEndsWithTheLeases(t *testing.T) {
	r, held := kvRouter(t)
	r.Learn(at(1), Answer{Lease: held[0].Lease, TokensOut: 7, Service: time.Second})
	for i, o := range []Outcome{Completed, ClientGoneStreaming, Truncated, Busy} {
		r.Release(at(1), held[i].Lease, o)
	}
	if got := r.replicas["f1"].kv.held; got != 0 {
		t.Errorf("%v tokens are left", got)
	}
}
