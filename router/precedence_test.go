package router

import (
	"testing"
	"time"

	"sluice/config"
)

// twoRoutes is a router where routes "one" and "two" share pool fast, of this cap,
// which one request fills.
func twoRoutes(t *testing.T, fast int) (*Router, Grant) {
	t.Helper()
	cfg := promisedConfig(total(1), total(fast))
	rt := cfg.Routes["gemma"]
	rt.Prefill.Pools = []config.Preference{{Pool: "fast"}}
	cfg.Routes["one"], cfg.Routes["two"] = rt, rt
	r := testRouter(cfg)
	return r, granted(t, r.Offer(at(0), many(fast)))
}

func on(route string, req Request) Request {
	req.Route = route
	return req
}

// lately books that a route has served so much work of a class.
func lately(r *Router, route string, c Class, work float64) {
	r.routes[route].work[c].add(r.now, work)
}

// The class that has had less than its share gets the room, though it came later.
func TestAClassIsOwedItsShare(t *testing.T) {
	r, held := twoRoutes(t, 1)
	lately(r, "one", Prefill, 1e6)
	queued(t, r.Offer(at(0.1), on("one", label())))
	owed := queued(t, r.Offer(at(0.1), on("one", chat())))
	if g := granted(t, one(t, r.Release(at(0.2), held.Lease, Completed))); g.Ticket != owed.Ticket {
		t.Errorf("ticket %d was served, want %d", g.Ticket, owed.Ticket)
	}
}

// Where both had their share, who came first is served first.
func TestNothingIsOwedToAClassThatHasItsShare(t *testing.T) {
	r, held := twoRoutes(t, 1)
	lately(r, "one", Prefill, 1e6)
	lately(r, "one", Decode, 1e6)
	first := queued(t, r.Offer(at(0.1), on("one", label())))
	queued(t, r.Offer(at(0.1), on("one", chat())))
	if g := granted(t, one(t, r.Release(at(0.2), held.Lease, Completed))); g.Ticket != first.Ticket {
		t.Errorf("ticket %d was served, want %d", g.Ticket, first.Ticket)
	}
}

// Nothing is owed where there is room for both.
func TestRoomForBothIsOwedToNobody(t *testing.T) {
	r, held := twoRoutes(t, 2)
	lately(r, "one", Prefill, 1e6)
	queued(t, r.Offer(at(0.1), on("one", label())))
	queued(t, r.Offer(at(0.1), on("one", chat())))
	if freed := r.Release(at(0.2), held.Lease, Completed); len(freed) != 2 {
		t.Errorf("%d served, want both", len(freed))
	}
}

// Two that are owed their share, each by the other's route, don't wait for each other.
func TestWhoIsOwedOwesNobody(t *testing.T) {
	r, held := twoRoutes(t, 1)
	lately(r, "one", Decode, 1e6)
	lately(r, "two", Prefill, 1e6)
	first := queued(t, r.Offer(at(0.1), on("one", label())))
	queued(t, r.Offer(at(0.1), on("two", chat())))
	if g := granted(t, one(t, r.Release(at(0.2), held.Lease, Completed))); g.Ticket != first.Ticket {
		t.Errorf("ticket %d was served, want %d", g.Ticket, first.Ticket)
	}
}

// bothPools is a router where each class prefers another pool, and the other spills.
func bothPools(t *testing.T, bigCap, fastCap int) *Router {
	t.Helper()
	cfg := promisedConfig(total(bigCap), total(fastCap))
	rt := cfg.Routes["gemma"]
	rt.Decode.Pools = []config.Preference{{Pool: "fast"}, {Pool: "big"}}
	cfg.Routes["gemma"] = rt
	return testRouter(cfg)
}

// A pool's own class comes before one that spills into it and makes no more of it.
func TestHomeComesFirst(t *testing.T) {
	r := bothPools(t, 1, 1)
	held := granted(t, r.Offer(at(0), label())) // on b1
	granted(t, r.Offer(at(0), chat()))          // on f1
	queued(t, r.Offer(at(0.1), chat()))
	home := queued(t, r.Offer(at(0.2), label()))
	if g := granted(t, one(t, r.Release(at(0.3), held.Lease, Completed))); g.Ticket != home.Ticket || g.Pool != "big" {
		t.Errorf("ticket %d was served in %s, want %d in big", g.Ticket, g.Pool, home.Ticket)
	}
}

// A waiter that can't use a pool, though it is its first choice, keeps nobody out.
func TestWhoCanNotUseItsHomeKeepsNobodyOut(t *testing.T) {
	r := bothPools(t, 4, 1)
	granted(t, r.Offer(at(0), on("gemma", chat()))) // fills f1
	long := label()
	long.TokensIn, long.LongestIn = 20000, 20000 // more than big's context
	queued(t, r.Offer(at(0.1), long))
	if g := granted(t, r.Offer(at(0.1), chat())); g.Pool != "big" {
		t.Errorf("served in %s, want big", g.Pool)
	}
}

// Best effort leaves its room to whoever can still be served in time.
func TestTheLateComeLast(t *testing.T) {
	r, held := twoRoutes(t, 1)
	late := queued(t, r.Offer(at(0), on("one", chat())))
	r.Tick(at(10))
	inTime := queued(t, r.Offer(at(10), on("two", chat())))
	held = granted(t, one(t, r.Release(at(10.1), held.Lease, Completed)))
	if held.Ticket != inTime.Ticket {
		t.Fatalf("ticket %d was served first, want %d", held.Ticket, inTime.Ticket)
	}
	if g := granted(t, one(t, r.Release(at(10.2), held.Lease, Completed))); g.Ticket != late.Ticket || g.Waited < 10*time.Second {
		t.Errorf("then got %+v, want ticket %d", g, late.Ticket)
	}
}

// A class that is owed its share, but must leave this room to its home class, doesn't
// keep that one from it.
func TestNothingIsOwedToWhoMustLeaveTheRoom(t *testing.T) {
	r := bothPools(t, 1, 1)
	held := granted(t, r.Offer(at(0), label())) // on b1
	granted(t, r.Offer(at(0), chat()))          // on f1
	r.routes["gemma"].work[Decode] = rate{}
	lately(r, "gemma", Prefill, 1e6)
	home := queued(t, r.Offer(at(0.1), label()))
	queued(t, r.Offer(at(0.1), chat()))
	r.routes["gemma"].work[Decode] = rate{value: 2, at: at(0.1)}
	if g := granted(t, one(t, r.Release(at(0.2), held.Lease, Completed))); g.Ticket != home.Ticket {
		t.Errorf("ticket %d was served, want %d", g.Ticket, home.Ticket)
	}
}
