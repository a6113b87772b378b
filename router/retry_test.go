package router

import (
	"testing"
	"time"

	"sluice/config"
)

// twoFast has two replicas for decode, and allows many retries.
func twoFast(cap int) *Router {
	cfg := testConfig(total(1), total(cap))
	cfg.Retry = config.Retry{BudgetMin: 100}
	r := New(at(0), cfg)
	r.SetFleet(at(0), ready("fast/f1", "fast/f2"))
	return r
}

func TestElsewhere(t *testing.T) {
	r := twoFast(2)
	first := granted(t, r.Offer(at(0), chat()))
	d, freed := r.Elsewhere(at(1), first.Lease, ConnectFailed)
	none(t, freed)
	second := granted(t, d)
	if second.Replica == first.Replica || second.Ticket != first.Ticket || second.Lease == first.Lease || !second.Retried {
		t.Fatalf("got %+v after %+v", second, first)
	}
	d, _ = r.Elsewhere(at(2), second.Lease, ConnectFailed)
	no := refused(t, d, ConnectFailed)
	says(t, no, "second attempt")
	if no.Ticket != first.Ticket || no.RetryAfter == 0 {
		t.Errorf("got %+v", no)
	}
}

func TestElsewhereIsRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome Outcome
		change  func(*config.Config)
		fleet   []Replica
		why     string
	}{
		{"may have run", Lost, nil, nil, "retry.after_dispatch=false"},
		{"not the replica's fault", ClientError, nil, nil, "would not do better"},
		{"no budget", ConnectFailed, func(cfg *config.Config) { cfg.Retry = config.Retry{} }, nil, "retry.budget_min=0"},
		{"no other replica", ConnectFailed, nil, ready("fast/f1"), "no other replica is up"},
		{"the other is down", ConnectFailed, nil, []Replica{{"f1", "fast", Ready}, {"f2", "fast", Open}}, "no other replica is up"},
	} {
		cfg := testConfig(total(1), total(2))
		if c.change != nil {
			c.change(cfg)
		}
		fleet := c.fleet
		if fleet == nil {
			fleet = ready("fast/f1", "fast/f2")
		}
		r := New(at(0), cfg)
		r.SetFleet(at(0), fleet)
		g := granted(t, r.Offer(at(0), chat()))
		d, _ := r.Elsewhere(at(1), g.Lease, c.outcome)
		says(t, refused(t, d, c.outcome), c.why)
		if rep := replicaOf(t, r, g.Replica); rep.Active.Total() != 0 {
			t.Errorf("%s: the lease was not given back: %+v", c.name, rep)
		}
	}
}

func TestElsewhereAfterDispatchLeavesAClosingLease(t *testing.T) {
	cfg := testConfig(total(1), total(1))
	cfg.Retry = config.Retry{BudgetMin: 1, AfterDispatch: true}
	r := New(at(0), cfg)
	r.SetFleet(at(0), ready("fast/f1", "fast/f2"))
	g := granted(t, r.Offer(at(0), chat()))
	d, _ := r.Elsewhere(at(1), g.Lease, Lost)
	if again := granted(t, d); again.Replica == g.Replica {
		t.Fatalf("tried %s twice", g.Replica)
	}
	if rep := replicaOf(t, r, g.Replica); rep.Closing.Decode != 1 {
		t.Fatalf("got %+v", rep)
	}
}

// The retry keeps its place: before those that came later, even in a full queue.
func TestARetryWaitsByItsArrival(t *testing.T) {
	r := twoFast(1)
	first := granted(t, r.Offer(at(0), chat()))
	other := granted(t, r.Offer(at(0), chat()))
	for range 10 {
		queued(t, r.Offer(at(1), chat()))
	}
	d, freed := r.Elsewhere(at(2), first.Lease, ConnectFailed)
	q := queued(t, d)
	if q.Ticket != first.Ticket || q.Ahead != 0 || q.Deadline != at(5) {
		t.Fatalf("got %+v", q)
	}
	if g := granted(t, one(t, freed)); g.Replica != first.Replica {
		t.Fatalf("the freed slot went to %+v", g)
	}
	g := granted(t, one(t, r.Release(at(3), other.Lease, Completed)))
	if g.Ticket != first.Ticket || g.Replica != other.Replica || g.Waited != time.Second {
		t.Fatalf("got %+v", g)
	}
}

func TestRetriesOfOneReplicaKeepTheirOrder(t *testing.T) {
	r := twoFast(2)
	var mine []Grant // on f1
	var other Grant
	for range 4 {
		if g := granted(t, r.Offer(at(0), chat())); g.Replica == "f1" {
			mine = append(mine, g)
		} else {
			other = g
		}
	}
	for _, g := range []Grant{mine[1], mine[0]} { // the younger one fails first
		d, _ := r.Elsewhere(at(1), g.Lease, ConnectFailed)
		queued(t, d)
	}
	if g := granted(t, one(t, r.Release(at(2), other.Lease, Completed))); g.Ticket != mine[0].Ticket {
		t.Fatalf("ticket %d came before %d", g.Ticket, mine[0].Ticket)
	}
}

func TestARetryPastItsDeadlineDoesNotWait(t *testing.T) {
	r := twoFast(1)
	first := granted(t, r.Offer(at(0), chat()))
	granted(t, r.Offer(at(0), chat()))
	d, _ := r.Elsewhere(at(5), first.Lease, ConnectFailed)
	says(t, refused(t, d, ConnectFailed), "no other replica has room")
	if len(r.waiters) != 0 {
		t.Fatal("it still waits")
	}
}

func TestARetryWhoseReplicasLeave(t *testing.T) {
	r := twoFast(1)
	first := granted(t, r.Offer(at(0), chat()))
	granted(t, r.Offer(at(0), chat()))
	d, _ := r.Elsewhere(at(1), first.Lease, Busy)
	queued(t, d)
	no := refused(t, one(t, r.SetFleet(at(2), ready("fast/"+first.Replica))), Busy)
	says(t, no, "the other replicas have left")
}

func TestOtherElsewhere(t *testing.T) {
	r := twoFast(1)
	g := granted(t, r.Offer(at(0), Request{Route: "gemma", Class: Other}))
	d, _ := r.Elsewhere(at(1), g.Lease, ConnectFailed)
	if again := granted(t, d); again.Replica == g.Replica {
		t.Fatalf("tried %s twice", g.Replica)
	}
	r.SetFleet(at(2), ready("fast/f1"))
	g = granted(t, r.Offer(at(2), Request{Route: "gemma", Class: Other}))
	d, _ = r.Elsewhere(at(2), g.Lease, ConnectFailed)
	refused(t, d, ConnectFailed)
}

func TestABusyReplicaRestsForASecond(t *testing.T) {
	r := testRouter(testConfig(total(1), total(2)))
	g := granted(t, r.Offer(at(0), chat()))
	none(t, r.Release(at(0), g.Lease, Busy))
	if !replicaOf(t, r, "f1").Busy {
		t.Fatal("not marked as busy")
	}
	queued(t, r.Offer(at(0.5), chat()))
	if next := r.Next(); next != at(1) {
		t.Fatalf("next tick at %s, want %s", next, at(1))
	}
	granted(t, one(t, r.Tick(at(1))))
}

func TestRetryBudget(t *testing.T) {
	cfg := &config.Retry{Budget: 0.1, BudgetMin: 3}
	b := budget{}
	left := func(seconds float64, want int) {
		t.Helper()
		if got := b.left(at(seconds), cfg); got != want {
			t.Errorf("at %g s: %d left, want %d", seconds, got, want)
		}
	}
	left(0, 3)
	for range 50 {
		b.request(at(1))
	}
	left(1, 8)
	for range 8 {
		b.retry(at(2))
	}
	left(2, 0)
	left(12, 0) // still recent
	left(21, 3) // two windows on
	b.request(at(21))
	left(60, 3)
}

// What the first replica had computed before, the second must be asked anew.
func TestElsewhereCountsKnownPromptsOnce(t *testing.T) {
	r := New(at(0), testConfig(total(9), total(9)))
	r.SetFleet(at(0), ready("fast/f1", "fast/f2"))
	req := chat()
	req.OutBound, req.Class = 10, Decode
	req.Prefixes = Prefixes{Hashes: [10]uint64{7}, Unit: 480}
	for _, rep := range r.replicas {
		rep.memory.learn(&req.Prefixes)
	}
	g := granted(t, r.Offer(at(0), req))
	want := replicaOf(t, r, g.Replica).Work
	again, _ := r.Elsewhere(at(0), g.Lease, ConnectFailed)
	if got := replicaOf(t, r, granted(t, again).Replica).Work; got != want {
		t.Errorf("the second replica has work of %d, the first had %d", got, want)
	}
}
