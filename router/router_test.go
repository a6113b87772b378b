package router

import (
	"strings"
	"testing"
	"time"

	"sluice/config"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is a time in seconds from the start of a test.
func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// testConfig has two pools, big (27B) and fast (12B), of the given caps, and a
// route gemma that prefers big for prefill and fast for decode.
func testConfig(bigCap, fastCap config.Cap) *config.Config {
	cfg := config.Default()
	cfg.Pools["big"] = config.Pool{Cap: bigCap, Engine: config.Engine{MaxModelLen: 8192}}
	cfg.Pools["fast"] = config.Pool{Cap: fastCap, Engine: config.Engine{MaxModelLen: 32768}}
	rt := config.DefaultRoute()
	rt.Prefill.Pools = []config.Preference{{Pool: "big"}, {Pool: "fast"}}
	rt.Decode.Pools = []config.Preference{{Pool: "fast"}}
	rt.Prefill.Queue = config.Queue{MaxWaiting: 10, MaxBytes: config.MiB, MaxWait: 5 * time.Second}
	rt.Decode.Queue = rt.Prefill.Queue
	rt.Prefill.SLO, rt.Decode.SLO = config.SLO{}, config.SLO{} // caps alone decide
	cfg.Routes["gemma"] = rt
	return &cfg
}

// total is a cap without limits per class.
func total(n int) config.Cap { return config.Cap{Total: n} }

// testRouter has one replica in each pool: b1 and f1.
func testRouter(cfg *config.Config) *Router {
	r := New(at(0), cfg)
	r.SetFleet(at(0), ready("big/b1", "fast/f1"))
	return r
}

// ready lists replicas, named pool/address.
func ready(names ...string) []Replica {
	var fleet []Replica
	for _, name := range names {
		pool, address, _ := strings.Cut(name, "/")
		fleet = append(fleet, Replica{Address: address, Pool: pool, State: Ready})
	}
	return fleet
}

func chat() Request {
	return Request{Route: "gemma", TokensIn: 500, LongestIn: 400, OutBound: 1000, Sequences: 1, Bytes: 2000}
}

func label() Request {
	return Request{Route: "gemma", TokensIn: 4000, LongestIn: 3000, OutBound: 10, Sequences: 1, Bytes: 16000}
}

func many(n int) Request {
	req := chat()
	req.Sequences = n
	return req
}

func granted(t *testing.T, d Decision) Grant {
	t.Helper()
	g, ok := d.(Grant)
	if !ok {
		t.Fatalf("got %T %+v, want a Grant", d, d)
	}
	return g
}

func queued(t *testing.T, d Decision) Queued {
	t.Helper()
	q, ok := d.(Queued)
	if !ok {
		t.Fatalf("got %T %+v, want Queued", d, d)
	}
	return q
}

func refused(t *testing.T, d Decision, want Outcome) *Refusal {
	t.Helper()
	no, ok := d.(*Refusal)
	if !ok {
		t.Fatalf("got %T %+v, want a *Refusal", d, d)
	}
	if no.Outcome != want {
		t.Fatalf("refused as %s (%s), want %s", no.Outcome, no.Detail, want)
	}
	return no
}

// one is the only decision of a list.
func one(t *testing.T, list []Decision) Decision {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("got %d decisions %+v, want 1", len(list), list)
	}
	return list[0]
}

func none(t *testing.T, list []Decision) {
	t.Helper()
	if len(list) != 0 {
		t.Fatalf("got %+v, want no decision", list)
	}
}

func replicaOf(t *testing.T, r *Router, address string) ReplicaReport {
	t.Helper()
	for _, p := range r.State().Pools {
		for _, rep := range p.Replicas {
			if rep.Address == address {
				return rep
			}
		}
	}
	t.Fatalf("no replica %s", address)
	return ReplicaReport{}
}

func TestReleaseServesTheWaiter(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	first := granted(t, r.Offer(at(0), chat()))
	second := queued(t, r.Offer(at(1), chat()))
	g := granted(t, one(t, r.Release(at(3), first.Lease, Completed)))
	if g.Ticket != second.Ticket || g.Waited != 2*time.Second {
		t.Fatalf("got ticket %d after %s, want %d after 2s", g.Ticket, g.Waited, second.Ticket)
	}
}

func TestPoolsByClassAndSpill(t *testing.T) {
	r := testRouter(testConfig(total(1), total(2)))
	for i, want := range []struct {
		req    Request
		pool   string
		choice int
	}{{label(), "big", 0}, {label(), "fast", 1}, {chat(), "fast", 0}} {
		g := granted(t, r.Offer(at(0), want.req))
		if g.Pool != want.pool || g.Choice != want.choice {
			t.Errorf("request %d: got pool %s choice %d, want %s %d", i, g.Pool, g.Choice, want.pool, want.choice)
		}
	}
	queued(t, r.Offer(at(0), chat()))
}

func TestLeastWorkThenLeastRecentlyUsed(t *testing.T) {
	r := New(at(0), testConfig(total(9), total(9)))
	r.SetFleet(at(0), ready("fast/f2", "fast/f1", "fast/f3"))
	var got []string
	small := chat()
	small.OutBound = 100
	for _, req := range []Request{small, chat(), chat(), small, small} {
		got = append(got, granted(t, r.Offer(at(0), req)).Replica)
	}
	if want := "f1 f2 f3 f1 f1"; strings.Join(got, " ") != want {
		t.Fatalf("got %v, want %s", got, want)
	}
}

func TestEqualReplicasTakeTurns(t *testing.T) {
	r := New(at(0), testConfig(total(9), total(9)))
	r.SetFleet(at(0), ready("fast/f1", "fast/f2"))
	var got []string
	for range 4 {
		g := granted(t, r.Offer(at(0), chat()))
		r.Release(at(0), g.Lease, Completed)
		got = append(got, g.Replica)
	}
	if want := "f1 f2 f1 f2"; strings.Join(got, " ") != want {
		t.Fatalf("got %v, want %s", got, want)
	}
}

func TestCapPerClass(t *testing.T) {
	cfg := testConfig(total(0), config.Cap{Total: 3, Prefill: 1})
	cfg.Pools["big"] = config.Pool{}
	r := New(at(0), cfg)
	r.SetFleet(at(0), ready("fast/f1"))
	granted(t, r.Offer(at(0), label()))
	queued(t, r.Offer(at(0), label()))
	granted(t, r.Offer(at(0), chat()))
	granted(t, r.Offer(at(0), chat()))
	queued(t, r.Offer(at(0), chat()))
}

// A closing lease ends when a reading shows the rest alone at work, and the next
// brought no end of theirs.
func TestClosingLeaseHoldsItsSlots(t *testing.T) {
	r := testRouter(testConfig(total(1), total(2)))
	rest := granted(t, r.Offer(at(0), chat()))
	gone := granted(t, r.Offer(at(0), chat()))
	queued(t, r.Offer(at(0), chat()))
	none(t, r.First(at(0.5), rest.Lease))
	none(t, r.Release(at(1), gone.Lease, ClientGoneStreaming))
	none(t, r.Observe(at(1.2), "f1", Load{At: at(0.9), Running: 1})) // read before the cancel
	none(t, r.Observe(at(1.3), "f1", Load{At: at(1.2), Running: 2})) // not gone yet
	none(t, r.Observe(at(1.4), "f1", Load{At: at(1.3), Running: 1})) // or the rest has ended, which we don't know yet
	granted(t, one(t, r.Observe(at(1.5), "f1", Load{At: at(1.4), Running: 1})))
	if rep := replicaOf(t, r, "f1"); rep.Closing.Total() != 0 || rep.Active.Decode != 2 {
		t.Fatalf("got %+v", rep)
	}
}

// A replica that holds nothing has let go of all.
func TestClosingLeaseEndsOnAnEmptyReplica(t *testing.T) {
	r := testRouter(testConfig(total(1), total(2)))
	granted(t, r.Offer(at(0), chat())) // on its way
	gone := granted(t, r.Offer(at(0), chat()))
	queued(t, r.Offer(at(0), chat()))
	none(t, r.Release(at(1), gone.Lease, ClientGoneStreaming))
	granted(t, one(t, r.Observe(at(1.3), "f1", Load{At: at(1.2)})))
}

// What a replica holds may be the very sequence that was cancelled, where others of
// ours that count as held are on their way to it, or have ended there.
func TestClosingLeaseIsNotTakenForAnother(t *testing.T) {
	for name, other := range map[string]func(r *Router, id Lease){
		"on its way":             func(*Router, Lease) {},
		"its first token unseen": func(r *Router, _ Lease) { r.Tick(at(0.9)) },
		"its answer has just ended": func(r *Router, id Lease) {
			r.First(at(0.5), id)
			r.Observe(at(1.2), "f1", Load{At: at(1.1), Running: 1})
			r.Release(at(1.3), id, Completed)
		},
	} {
		r := testRouter(testConfig(total(1), total(2)))
		rest := granted(t, r.Offer(at(0), chat()))
		gone := granted(t, r.Offer(at(0), chat()))
		none(t, r.Release(at(1), gone.Lease, ClientGoneStreaming))
		other(r, rest.Lease)
		for _, now := range []float64{1.4, 1.5, 1.6} {
			none(t, r.Observe(at(now), "f1", Load{At: at(now - 0.01), Running: 1}))
		}
		if rep := replicaOf(t, r, "f1"); rep.Closing.Decode != 1 {
			t.Errorf("%s: the reading of 1 sequence was the cancelled one, got %+v", name, rep)
		}
	}
}

// A request of several sequences goes on while one of them does.
func TestClosingLeaseBesideOneOfSeveralSequences(t *testing.T) {
	r := testRouter(testConfig(total(1), total(8)))
	several := chat()
	several.Sequences = 4
	rest := granted(t, r.Offer(at(0), several))
	gone := granted(t, r.Offer(at(0), chat()))
	none(t, r.First(at(0.5), rest.Lease))
	none(t, r.Release(at(1), gone.Lease, ClientGoneStreaming))
	for _, now := range []float64{1.2, 1.4} {
		none(t, r.Observe(at(now), "f1", Load{At: at(now - 0.01), Running: 2})) // one of the four, and the one cancelled
	}
	if rep := replicaOf(t, r, "f1"); rep.Closing.Decode != 1 {
		t.Errorf("got %+v", rep)
	}
}

func TestClosingLeaseEndsInTime(t *testing.T) {
	cfg := testConfig(total(1), total(1))
	cfg.Timeouts.ReleaseAfterCancel = time.Second
	r := testRouter(cfg)
	g := granted(t, r.Offer(at(0), chat()))
	queued(t, r.Offer(at(0), chat()))
	none(t, r.Release(at(1), g.Lease, ClientGoneStreaming))
	if next := r.Next(); next != at(2) {
		t.Fatalf("next tick at %s, want %s", next, at(2))
	}
	none(t, r.Tick(at(1.9)))
	granted(t, one(t, r.Tick(at(2))))
}

func TestGrantsSinceTheReadingDoNotEndAClosing(t *testing.T) {
	r := testRouter(testConfig(total(1), total(4)))
	gone := granted(t, r.Offer(at(0), chat()))
	none(t, r.Release(at(1), gone.Lease, Lost))
	granted(t, r.Offer(at(3-1.5), chat()))
	none(t, r.Observe(at(1.6), "f1", Load{At: at(1.2), Running: 1}))
	if rep := replicaOf(t, r, "f1"); rep.Closing.Decode != 1 {
		t.Fatalf("the reading of 1 sequence was the cancelled one, got %+v", rep)
	}
}

func TestSecondReleaseIsABug(t *testing.T) {
	for name, o := range map[string]Outcome{"free": Completed, "closing": Truncated} {
		r := testRouter(testConfig(total(1), total(1)))
		g := granted(t, r.Offer(at(0), chat()))
		r.Release(at(1), g.Lease, o)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			r.Release(at(1), g.Lease, Completed)
		}()
	}
}

func TestCancelledWaiterLeavesAtOnce(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	g := granted(t, r.Offer(at(0), chat()))
	q := queued(t, r.Offer(at(0), chat()))
	none(t, r.Cancel(at(1), q.Ticket))
	none(t, r.Cancel(at(1), q.Ticket))
	none(t, r.Cancel(at(1), g.Ticket)) // granted: its owner releases it
	none(t, r.Release(at(2), g.Lease, Completed))
	if !r.Next().IsZero() {
		t.Fatalf("a tick is wanted at %s though nobody waits", r.Next())
	}
}

func TestOtherTakesNoSlot(t *testing.T) {
	r := testRouter(testConfig(total(1), total(1)))
	granted(t, r.Offer(at(0), chat()))
	granted(t, r.Offer(at(0), label()))
	g := granted(t, r.Offer(at(0), Request{Route: "gemma", Class: Other}))
	if g.Class != Other || g.Why != ByEndpoint || g.Pool != "big" || g.Sequences != 0 {
		t.Fatalf("got %+v", g)
	}
	none(t, r.Release(at(1), g.Lease, ClientGoneWaiting))
	r.SetFleet(at(2), []Replica{{Address: "b1", Pool: "big", State: Trial}})
	refused(t, r.Offer(at(2), Request{Route: "gemma", Class: Other}), NoReplica)
}

func TestPinnedPool(t *testing.T) {
	r := testRouter(testConfig(total(1), total(4)))
	req := label()
	req.Route, req.Pool = "", "fast"
	if g := granted(t, r.Offer(at(0), req)); g.Pool != "fast" || g.Class != Prefill || g.Choices != 1 {
		t.Fatalf("got %+v", g)
	}
	req.Pool = "big"
	granted(t, r.Offer(at(0), req))
	if q := queued(t, r.Offer(at(0), req)); q.Ahead != 0 {
		t.Fatalf("got %+v", q)
	}
}
