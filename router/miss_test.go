package router

import (
	"strings"
	"testing"
	"time"

	"sluice/config"
)

// missRouter has one replica, f1, and promises a first token, or a whole short answer,
// within 100 ms; how on_slo_miss says.
func missRouter(how string, replicas ...string) *Router {
	r := New(at(0), missConfig(how))
	r.SetFleet(at(0), ready(append(replicas, "fast/f1")...))
	return r
}

func missConfig(how string) *config.Config {
	cfg := testConfig(total(100), total(100))
	rt := cfg.Routes["gemma"]
	rt.Prefill.Pools = rt.Decode.Pools
	for _, c := range []*config.RouteClass{&rt.Prefill, &rt.Decode} {
		c.SLO, c.OnSLOMiss, c.Queue.MaxWait = config.SLO{TTFT: 100 * time.Millisecond}, how, time.Minute
	}
	cfg.Routes["gemma"] = rt
	return cfg
}

// long is a chat whose prompt would take 170 ms, as far as is known at first.
func long() Request {
	req := chat()
	req.TokensIn, req.LongestIn, req.Class = 8000, 8000, Decode
	return req
}

// tried lets a request have the replica to itself, whose first token comes after so many seconds.
func tried(t *testing.T, r *Router, now float64, req Request, took float64) {
	t.Helper()
	g := granted(t, r.Offer(at(now), req))
	r.First(at(now+took), g.Lease)
	r.Learn(at(now+took), Answer{Lease: g.Lease, TokensOut: 1})
	r.Release(at(now+took), g.Lease, Completed)
}

func TestWhatMissesItsSLO(t *testing.T) {
	t.Run("served", func(t *testing.T) {
		r := missRouter(config.MissServe)
		tried(t, r, 0, long(), 0.3)
		tried(t, r, 1, long(), 0.3)
	})
	t.Run("refused", func(t *testing.T) {
		r := missRouter(config.MissRefuse)
		tried(t, r, 0, long(), 0.3) // nothing was known of the replica
		rec := r.Explain(at(1), long())
		no := refused(t, r.Offer(at(1), long()), WaitExpired)
		const want = "even an idle replica would need about 263ms for the first token, and the SLO is 100ms (routes.gemma.decode.slo); " +
			"ask for less (routes.gemma.decode.on_slo_miss=refuse)"
		if no.Detail != want || no.RetryAfter < 7*time.Second || no.RetryAfter > 12*time.Second {
			t.Errorf("after %s: %s", no.RetryAfter, no.Detail)
		}
		if rec.Refusal == nil || rec.Refusal.Detail != want || Replay(&rec) != rec.Choice || !strings.Contains(rec.Text(), "f1 fast, choice 1 worth 0: would miss its SLO;") {
			t.Errorf("explained as\n%s", rec.Text())
		}
		granted(t, r.Offer(at(1), many(1))) // what it can serve in time
	})
}

// TestAReplicaIsTriedAgain: it isn't believed to be too slow for long, and a request
// that comes in time after all is followed by another.
func TestAReplicaIsTriedAgain(t *testing.T) {
	r := missRouter(config.MissRefuse)
	tried(t, r, 0, long(), 30) // it compiled its programs
	refused(t, r.Offer(at(31), long()), WaitExpired)
	refused(t, r.Offer(at(39.9), chat()), WaitExpired)
	for now := 40.0; now < 45; now += 0.2 {
		tried(t, r, now, long(), 0.05)
	}
	tried(t, r, 45, long(), 0.3)
	refused(t, r.Offer(at(46), long()), WaitExpired)
}

// TestOneTrialAtATime: who comes beside it waits, and is refused when the SLO is over.
func TestOneTrialAtATime(t *testing.T) {
	r := missRouter(config.MissRefuse)
	g := granted(t, r.Offer(at(0), long()))
	waits := queued(t, r.Offer(at(0.01), long()))
	none(t, r.Tick(at(0.1)))
	no := refused(t, one(t, r.Tick(at(0.11))), WaitExpired)
	const want = "no replica had room within 100ms, and even an idle one would be too late now: the SLO is 100ms (routes.gemma.decode.slo) for the first token " +
		"(routes.gemma.decode.on_slo_miss=refuse)"
	if no.Ticket != waits.Ticket || no.Detail != want || no.RetryAfter < time.Second {
		t.Errorf("got %+v", no)
	}
	r.Release(at(1), g.Lease, ClientGoneWaiting) // no first token for a second: that shows it too
	r.Tick(at(2))
	refused(t, r.Offer(at(2), long()), WaitExpired)
}

// TestWaitersAreRefusedWhenItIsTooLate: not at their deadline, a minute later.
func TestWaitersAreRefusedWhenItIsTooLate(t *testing.T) {
	r := missRouter(config.MissRefuse)
	granted(t, r.Offer(at(0), chat()))
	for range 20 {
		r.Offer(at(0), chat())
	}
	waits := len(r.waiters)
	if waits == 0 {
		t.Fatal("nobody waits")
	}
	var no []Decision
	for now := 0.0; now < 0.1; now += 0.001 {
		no = append(no, r.Tick(at(now))...)
	}
	if len(no) != waits || len(r.waiters) > 0 {
		t.Fatalf("%d of %d refused, %d wait", len(no), waits, len(r.waiters))
	}
	if first := refused(t, no[0], WaitExpired); first.Waited < 30*time.Millisecond || first.Waited > 50*time.Millisecond {
		t.Errorf("refused after %s, and an idle replica would need 57ms of 100ms", first.Waited)
	}
}

// TestNotForItsBound: answers of a kind that isn't known yet are short until shown to be long.
func TestNotForItsBound(t *testing.T) {
	r := missRouter(config.MissRefuse)
	slow, req := long(), chat()
	slow.Class, req.Class = Prefill, Prefill
	tried(t, r, 0, slow, 0.3)
	refused(t, r.Offer(at(1), slow), WaitExpired)
	granted(t, r.Offer(at(1), req)) // 25 s of answer would be foreseen from its bound of 1,000
}

// TestNotForWhatIsKnown: a beginning that was computed before needs no time.
func TestNotForWhatIsKnown(t *testing.T) {
	r := missRouter(config.MissRefuse)
	req := long()
	req.Prefixes = Prefixes{Hashes: [10]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, Unit: 7900.0 / 512}
	tried(t, r, 0, req, 0.3)
	granted(t, r.Offer(at(1), req))
	refused(t, r.Offer(at(1), long()), WaitExpired)
}

// TestAnotherReplicaMayBeQuicker: only where all are too slow is it refused.
func TestAnotherReplicaMayBeQuicker(t *testing.T) {
	r := missRouter(config.MissRefuse, "fast/f0")
	tried(t, r, 0, long(), 0.3)
	g := granted(t, r.Offer(at(1), long())) // on the other
	queued(t, r.Offer(at(1), long()))
	d, _ := r.Elsewhere(at(1.01), g.Lease, ConnectFailed)
	if no := refused(t, d, ConnectFailed); !strings.Contains(no.Detail, "within its SLO any more (routes.gemma.decode.on_slo_miss=refuse)") {
		t.Errorf("got %s", no.Detail)
	}
}

// TestBatchIsPromisedNothing, so it misses nothing.
func TestBatchIsPromisedNothing(t *testing.T) {
	r := missRouter(config.MissRefuse)
	tried(t, r, 0, long(), 0.3)
	req := long()
	req.Priority = Batch
	granted(t, r.Offer(at(1), req))
	queued(t, r.Offer(at(1), req))
	none(t, r.Tick(at(1.5)))
}

// TestOnSLOMissIsReloaded: who waits is judged by what the file says now.
func TestOnSLOMissIsReloaded(t *testing.T) {
	r := missRouter(config.MissServe)
	granted(t, r.Offer(at(0), long()))
	queued(t, r.Offer(at(0), long()))
	none(t, r.Tick(at(0.5)))
	refused(t, one(t, r.ApplyConfig(at(0.6), missConfig(config.MissRefuse))), WaitExpired)
	queued(t, r.Offer(at(0.6), long()))
	none(t, r.ApplyConfig(at(0.65), missConfig(config.MissServe)))
	none(t, r.Tick(at(5)))
}

// checkMiss: nothing is refused for its SLO's sake while an idle replica could have it
// that was not seen to miss one of that kind in the last seconds.
func (w *promisedWorld) checkMiss(req *Request, d Decision) {
	w.t.Helper()
	no, refused := d.(*Refusal)
	if !refused || !strings.Contains(no.Detail, "on_slo_miss") {
		return
	}
	if req.Route != "spill" {
		w.t.Fatalf("%s was refused: %s", req.Route, no.Detail)
	}
	rec := w.r.Explain(w.now, *req)
	for i := range rec.Candidates {
		c := &rec.Candidates[i]
		rep := w.r.replicas[c.Address]
		fits := c.Verdict != TooSmall && rep.held() == 0 && rep.capNow() > 0 && max(req.Sequences, 1) <= rep.pool.capOf(no.Class)
		if seen := rep.slow["routes.spill."+no.Class.String()]; fits && w.now.Sub(seen) >= tooSlow {
			w.t.Fatalf("%s is idle and unproven: %s\n%s", c.Address, no.Detail, rec.Text())
		}
	}
	w.missed++
}
