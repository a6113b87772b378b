package router

import (
	"testing"
	"time"

	"sluice/config"
)

func TestAReplicaThatLeavesKeepsItsLeases(t *testing.T) {
	r := testRouter(testConfig(total(1), total(2)))
	g := granted(t, r.Offer(at(0), chat()))
	none(t, r.SetFleet(at(1), ready("big/b1")))
	if rep := replicaOf(t, r, "f1"); rep.Listed || rep.Active.Decode != 1 || rep.Admits != 0 {
		t.Fatalf("got %+v", rep)
	}
	refused(t, r.Offer(at(1), chat()), NoReplica)
	r.SetFleet(at(2), ready("big/b1", "fast/f1")) // back: what it holds still counts
	granted(t, r.Offer(at(2), chat()))
	queued(t, r.Offer(at(2), chat()))
	granted(t, one(t, r.SetFleet(at(3), ready("big/b1", "fast/f2"))))
	r.Release(at(4), g.Lease, Completed)
}

func TestAGoneReplicaIsForgottenWithItsLastLease(t *testing.T) {
	r := testRouter(testConfig(total(1), total(2)))
	g := granted(t, r.Offer(at(0), chat()))
	r.SetFleet(at(1), ready("big/b1"))
	r.Release(at(2), g.Lease, ClientGoneStreaming)
	if r.replicas["f1"] == nil {
		t.Fatal("forgotten while a lease is closing")
	}
	r.Tick(at(3))
	if r.replicas["f1"] != nil || !r.Next().IsZero() {
		t.Fatal("not forgotten")
	}
}

func TestAReplicaThatMovesKeepsWhatItHolds(t *testing.T) {
	r := testRouter(testConfig(total(2), total(4)))
	var running []Grant
	for range 3 {
		running = append(running, granted(t, r.Offer(at(0), chat())))
	}
	r.SetFleet(at(1), ready("big/f1"))
	if rep := replicaOf(t, r, "f1"); rep.Active.Decode != 3 || rep.Cap != 3 || rep.Admits != 2 {
		t.Fatalf("got %+v", rep)
	}
	waits := queued(t, r.Offer(at(1), label()))
	none(t, r.Release(at(2), running[0].Lease, Completed)) // 2 held, cap 2
	if g := granted(t, one(t, r.Release(at(2), running[1].Lease, Completed))); g.Ticket != waits.Ticket {
		t.Fatalf("got %+v", g)
	}
}

func TestStatesThatGetWork(t *testing.T) {
	for state, want := range map[ReplicaState]int{Ready: 4, Trial: 1, Warming: 0, Leaving: 0, Open: 0, Unwell: 0} {
		r := New(at(0), testConfig(total(1), total(4)))
		r.SetFleet(at(0), []Replica{{Address: "f1", Pool: "fast", State: state}})
		got := 0
		for range 5 {
			if _, ok := r.Offer(at(0), chat()).(Grant); ok {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d grants, want %d", state, got, want)
		}
	}
}

func TestWaitersOutlastAReplicaThatIsDown(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	g := granted(t, r.Offer(at(0), chat()))
	q := queued(t, r.Offer(at(0), chat()))
	none(t, r.SetFleet(at(1), []Replica{{Address: "f1", Pool: "fast", State: Open}}))
	none(t, r.Release(at(1), g.Lease, Completed))
	if g := granted(t, one(t, r.SetFleet(at(2), ready("fast/f1")))); g.Ticket != q.Ticket {
		t.Fatalf("got %+v", g)
	}
}

func TestWaitersLeaveWithTheLastReplica(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	granted(t, r.Offer(at(0), chat()))
	queued(t, r.Offer(at(0), chat()))
	no := refused(t, one(t, r.SetFleet(at(1), ready("big/b1"))), NoReplica)
	says(t, no, "fast")
	if no.Waited != time.Second {
		t.Errorf("waited %s", no.Waited)
	}
}

func TestALoweredCapCountsDown(t *testing.T) {
	r := testRouter(testConfig(total(1), total(3)))
	var running []Grant
	for range 3 {
		running = append(running, granted(t, r.Offer(at(0), chat())))
	}
	none(t, r.ApplyConfig(at(1), testConfig(total(1), total(1))))
	queued(t, r.Offer(at(1), chat()))
	for i, cap := range []int{3, 2} {
		if rep := replicaOf(t, r, "f1"); rep.Cap != cap || rep.Admits != 1 {
			t.Fatalf("got %+v, want cap %d", rep, cap)
		}
		none(t, r.Release(at(2), running[i].Lease, Completed))
	}
	granted(t, one(t, r.Release(at(3), running[2].Lease, Completed)))
}

func TestARaisedCapServesWaiters(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	granted(t, r.Offer(at(0), chat()))
	queued(t, r.Offer(at(0), chat()))
	queued(t, r.Offer(at(0), chat()))
	if freed := r.ApplyConfig(at(1), testConfig(total(1), total(3))); len(freed) != 2 {
		t.Fatalf("got %+v, want two grants", freed)
	}
}

func TestWaitersOfARouteThatIsGone(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	g := granted(t, r.Offer(at(0), chat()))
	queued(t, r.Offer(at(0), chat()))
	cfg := testConfig(total(1), total(1))
	cfg.Routes = map[string]config.Route{"new": cfg.Routes["gemma"]}
	says(t, refused(t, one(t, r.ApplyConfig(at(1), cfg)), NoReplica), "routes.gemma.decode")
	d, _ := r.Elsewhere(at(2), g.Lease, ConnectFailed)
	says(t, refused(t, d, ConnectFailed), "no longer configured")
}

func TestWaitersThatNoLongerFit(t *testing.T) {
	r := testRouter(testConfig(total(4), total(4)))
	granted(t, r.Offer(at(0), many(2)))
	long := chat()
	long.LongestIn, long.Sequences = 20000, 3
	queued(t, r.Offer(at(0), many(4)))
	queued(t, r.Offer(at(0), long))
	cfg := testConfig(total(3), total(3))
	p := cfg.Pools["fast"]
	p.Engine.MaxModelLen = 10000
	cfg.Pools["fast"] = p
	freed := r.ApplyConfig(at(1), cfg)
	if len(freed) != 2 {
		t.Fatalf("got %+v", freed)
	}
	refused(t, freed[0], Unsupported)
	refused(t, freed[1], TooLong)
}

func TestAPoolThatIsGone(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	g := granted(t, r.Offer(at(0), label()))
	cfg := testConfig(total(1), total(1))
	delete(cfg.Pools, "big")
	rt := cfg.Routes["gemma"]
	rt.Prefill.Pools = rt.Prefill.Pools[1:]
	cfg.Routes["gemma"] = rt
	r.ApplyConfig(at(1), cfg)
	if rep := replicaOf(t, r, "b1"); rep.Active.Prefill != 1 || rep.Admits != 0 {
		t.Fatalf("got %+v", rep)
	}
	r.SetFleet(at(1), ready("fast/f1"))
	r.Release(at(2), g.Lease, Completed)
	r.ApplyConfig(at(3), cfg)
	if pools := r.State().Pools; len(pools) != 1 || pools[0].Name != "fast" {
		t.Fatalf("got %+v", pools)
	}
}

func TestLearnedMeansOutliveAReload(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	for range 2000 {
		req := chat()
		req.OutBound = -1
		answered(t, r, req, 700, 0)
		req.Route, req.Pool = "", "fast"
		answered(t, r, req, 500, 0)
	}
	r.ApplyConfig(at(2), testConfig(total(2), total(2)))
	for _, report := range r.State().Routes {
		want := map[string]float64{"gemma": 700, "fast": 500, "big": 300}[report.Route+report.Pool]
		if report.Class == Decode && (report.TokensOut < want-20 || report.TokensOut > want+20) {
			t.Errorf("got %+v, want a mean of %.0f", report, want)
		}
	}
}

// The queue of a pool's own name is bounded like the longest that leads to it.
func TestLimitsOfAPinnedPool(t *testing.T) {
	cfg := testConfig(total(1), total(1))
	longer := cfg.Routes["gemma"]
	longer.Prefill.Queue.MaxWaiting = 20
	cfg.Routes["longer"] = longer
	r := testRouter(cfg)
	if q := r.pins["big"].prefill; q.limits.MaxWaiting != 20 || q.path != "routes.longer.prefill.queue" {
		t.Errorf("got %+v from %s", q.limits, q.path)
	}
	if q := r.pins["big"].decode; q.limits != config.DefaultRoute().Decode.Queue {
		t.Errorf("got %+v from %s, want a route's defaults", q.limits, q.path)
	}
}

// renamed is testConfig with another name for the pool "fast".
func renamed(fastCap config.Cap, name string) *config.Config {
	cfg := testConfig(total(1), fastCap)
	cfg.Pools[name] = cfg.Pools["fast"]
	delete(cfg.Pools, "fast")
	rt := cfg.Routes["gemma"]
	rt.Prefill.Pools, rt.Decode.Pools = []config.Preference{{Pool: "big"}, {Pool: name}}, []config.Preference{{Pool: name}}
	cfg.Routes["gemma"] = rt
	return cfg
}

func TestWaitersMoveWithTheirReplicas(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	granted(t, r.Offer(at(0), chat()))
	q := queued(t, r.Offer(at(0), chat()))
	g := granted(t, one(t, r.Reload(at(1), renamed(total(2), "swift"), ready("big/b1", "swift/f1"))))
	if g.Ticket != q.Ticket || g.Pool != "swift" {
		t.Errorf("got %+v, want ticket %d on pool swift", g, q.Ticket)
	}
	if pools := r.State().Pools; len(pools) != 2 {
		t.Errorf("pools %+v, want big and swift alone", pools)
	}
}

func TestWaitersOutlastThatAllTheirReplicasAreNew(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	granted(t, r.Offer(at(0), chat()))
	q := queued(t, r.Offer(at(0), chat()))
	none(t, r.Reload(at(1), renamed(total(1), "swift"), []Replica{{Address: "s1", Pool: "swift"}}))
	if g := granted(t, one(t, r.SetFleet(at(2), ready("swift/s1")))); g.Ticket != q.Ticket {
		t.Errorf("got %+v, want ticket %d", g, q.Ticket)
	}
}

// TestTrialOfAnySize: an idle replica on trial takes one request of any size, since
// where all have several sequences no trial would ever begin; and that one alone.
func TestTrialOfAnySize(t *testing.T) {
	for size := 1; size <= 4; size++ {
		r := New(at(0), testConfig(total(1), total(4)))
		r.SetFleet(at(0), []Replica{{Address: "f1", Pool: "fast", State: Trial}})
		first := granted(t, r.Offer(at(0), many(size)))
		small, large := queued(t, r.Offer(at(0), many(1))), queued(t, r.Offer(at(0), many(4)))
		if g := granted(t, one(t, r.Release(at(1), first.Lease, Aborted))); g.Ticket != small.Ticket {
			t.Fatalf("got %+v", g)
		} else if next := granted(t, one(t, r.Release(at(2), g.Lease, Aborted))); next.Ticket != large.Ticket {
			t.Fatalf("got %+v", next)
		}
	}
}
