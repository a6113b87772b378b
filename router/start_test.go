package router

import (
	"testing"
	"time"
)

// restarted is a router whose f1 has been away and is back.
func restarted(t *testing.T, cap int) *Router {
	t.Helper()
	r := New(at(0), testConfig(total(cap), total(cap)))
	r.SetFleet(at(0), ready("fast/f1"))
	g := granted(t, r.Offer(at(0), chat()))
	r.First(at(0.1), g.Lease)
	r.Learn(at(10), Answer{Lease: g.Lease, TokensOut: 1000, Service: time.Second})
	r.Release(at(10), g.Lease, Completed)
	r.SetFleet(at(11), []Replica{{Address: "f1", Pool: "fast", State: Warming}})
	r.SetFleet(at(71), ready("fast/f1"))
	return r
}

// fill offers chats until one waits, and returns the grants.
func fill(t *testing.T, r *Router, now time.Time) (list []Grant) {
	t.Helper()
	for {
		switch d := r.Offer(now, chat()).(type) {
		case Grant:
			list = append(list, d)
		case Queued:
			return list
		default:
			t.Fatalf("got %T %+v", d, d)
		}
	}
}

// TestANewProcessStartsSlowly: it gets more as its answers begin.
func TestANewProcessStartsSlowly(t *testing.T) {
	r := restarted(t, 100)
	first := fill(t, r, at(71))
	if len(first) != slowStart || replicaOf(t, r, "f1").Admits != slowStart {
		t.Fatalf("%d granted before anything was answered, want %d", len(first), slowStart)
	}
	if rec := r.Explain(at(71), chat()); rec.Candidates[0].Verdict != Starting {
		t.Errorf("the next is explained by %q", rec.Candidates[0].Verdict)
	}
	if freed := r.First(at(72), first[0].Lease); len(freed) != 1 { // the one that waits
		t.Fatalf("a first token served %d waiters, want 1", len(freed))
	}
	second := fill(t, r, at(72))
	if n := len(first) + 1 + len(second); n != 2*slowStart {
		t.Fatalf("%d granted after one answer began, want %d", n, 2*slowStart)
	}
	r.Release(at(73), first[1].Lease, Completed) // not streamed: it has begun as well
	if got := replicaOf(t, r, "f1").Admits; got != 4*slowStart {
		t.Errorf("%d admitted after two answers, want %d", got, 4*slowStart)
	}
	for _, g := range second[:3] {
		r.First(at(74), g.Lease)
	}
	if got := replicaOf(t, r, "f1").Admits; got != 100 {
		t.Errorf("%d admitted after five answers, want its cap", got)
	}
}

// TestFailuresDoNotProveAProcess: it must answer.
func TestFailuresDoNotProveAProcess(t *testing.T) {
	r := restarted(t, 100)
	for i, g := range fill(t, r, at(71)) {
		r.Release(at(72+float64(i)/10), g.Lease, []Outcome{Lost, ReplicaError, Silent, ClientGoneWaiting}[i%4])
	}
	r.Tick(at(74)) // nothing is closing any more, nor stalled yet
	if n := len(fill(t, r, at(74))) + replicaOf(t, r, "f1").Active.Total(); n > 2*slowStart {
		t.Errorf("%d held by a process that has answered nothing", n)
	}
	if got := replicaOf(t, r, "f1"); got.Active.Total() != slowStart {
		t.Errorf("holds %+v, want %d", got.Active, slowStart)
	}
}

// TestAnIdleNewProcessTakesALargeRequest: else one of more sequences than it is
// given at first could never begin.
func TestAnIdleNewProcessTakesALargeRequest(t *testing.T) {
	r := restarted(t, 100)
	granted(t, r.Offer(at(71), many(40)))
	queued(t, r.Offer(at(71), chat()))
}

// TestTheRoutersOwnStartIsNotSlow: what is up before anything was answered isn't
// new, the router is.
func TestTheRoutersOwnStartIsNotSlow(t *testing.T) {
	r := testRouter(testConfig(total(100), total(100)))
	if n := len(fill(t, r, at(0))); n != 100 {
		t.Errorf("%d granted, want 100", n)
	}
}

// TestWhatTheOldProcessHeldIsNotTheNewOnes: it counts against the cap alone, and
// its end teaches nothing.
func TestWhatTheOldProcessHeldIsNotTheNewOnes(t *testing.T) {
	r := New(at(0), testConfig(total(40), total(40)))
	r.SetFleet(at(0), ready("fast/f1"))
	old := fill(t, r, at(0))[:20]
	r.First(at(0.1), old[0].Lease)
	r.Cancel(at(0.1), 41)
	for i := range 20 {
		r.Release(at(1), Lease{uint64(21 + i)}, Completed)
	}
	r.SetFleet(at(2), nil)
	r.SetFleet(at(3), ready("fast/f1"))
	if n := len(fill(t, r, at(3))); n != slowStart {
		t.Errorf("%d granted beside 20 of the process before, want %d", n, slowStart)
	}
	before := r.replicas["f1"].pace
	r.First(at(63), old[1].Lease)
	r.Learn(at(64), Answer{Lease: old[0].Lease, TokensOut: 5, Service: time.Minute})
	if p := &r.replicas["f1"].pace; p.step != before.step || p.first != before.first || r.replicas["f1"].begun != 0 {
		t.Errorf("learned %+v and %+v from a process that is gone", p.step.k, p.first.k)
	}
}

// TestAPaceIsForgottenWithItsProcess, but not what is held.
func TestAPaceIsForgottenWithItsProcess(t *testing.T) {
	r := restarted(t, 100)
	p, prior := &r.replicas["f1"].pace, newPace()
	if p.step != prior.step || p.first != prior.first || p.crowd != prior.crowd {
		t.Errorf("knows %+v of the process before", p.step)
	}
	if p.pending != 0 || p.flying != 0 || p.decoding != 0 || p.prefilled == 0 {
		t.Errorf("sums %+v", p)
	}
}

// TestWholeAnswersProveAProcess, though nobody saw their first token nor how long
// they were.
func TestWholeAnswersProveAProcess(t *testing.T) {
	r := restarted(t, 100)
	whole := chat()
	whole.Whole = true
	for i := range proven {
		now := 71 + 10*float64(i)
		g := granted(t, r.Offer(at(now), whole))
		r.Tick(at(now + 5)) // its first token is presumed
		r.Release(at(now+9), g.Lease, Completed)
	}
	if got := replicaOf(t, r, "f1").Admits; got != 100 {
		t.Errorf("%d admitted after %d answers, want its cap", got, proven)
	}
}

// TestWhatGeneratesNothingProvesNothing: an API server answers that before its
// engine has compiled anything.
func TestWhatGeneratesNothingProvesNothing(t *testing.T) {
	r := restarted(t, 100)
	count := chat()
	count.Class = Other
	for range proven {
		r.Release(at(71), granted(t, r.Offer(at(71), count)).Lease, Completed)
	}
	if n := len(fill(t, r, at(71))); n != slowStart {
		t.Errorf("%d granted, want %d", n, slowStart)
	}
}

// TestTheOldProcessTellsNothingOfTheNew: neither that it lives nor what it knows.
func TestTheOldProcessTellsNothingOfTheNew(t *testing.T) {
	r := New(at(0), testConfig(total(40), total(40)))
	r.SetFleet(at(0), ready("fast/f1"))
	req := chat()
	req.Prefixes = Prefixes{Hashes: [10]uint64{7}, Unit: 100}
	first, second := granted(t, r.Offer(at(0), req)), granted(t, r.Offer(at(0), req))
	r.SetFleet(at(1), nil)
	r.SetFleet(at(2), ready("fast/f1"))
	r.First(at(5), first.Lease)
	r.Release(at(6), second.Lease, Truncated)
	if rep := r.replicas["f1"]; !rep.pace.alive.Equal(at(2)) || rep.memory.known(&req.Prefixes) > 0 {
		t.Errorf("alive at %s, knows %v tokens", rep.pace.alive, rep.memory.known(&req.Prefixes))
	}
}
