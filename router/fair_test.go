package router

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/config"
)

// tenants is a router with one slot in pool fast, and tenants of these weights.
func tenants(weights map[string]float64, waiting int) *Router {
	cfg := testConfig(total(1), total(1))
	for name, weight := range weights {
		cfg.Tenants[name] = config.Tenant{Weight: weight}
	}
	rt := cfg.Routes["gemma"]
	rt.Decode.Queue.MaxWaiting, rt.Decode.Queue.MaxWait = waiting, time.Hour
	cfg.Routes["gemma"] = rt
	return testRouter(cfg)
}

func of(tenant string) Request {
	req := chat()
	req.Tenant = tenant
	return req
}

// next ends what is served and returns the tenant whose turn is next.
func (f *turns) next() string {
	f.t.Helper()
	g := granted(f.t, one(f.t, f.r.Release(f.r.now, f.held.Lease, Completed)))
	f.held = g
	return f.of[g.Ticket]
}

// turns plays requests of tenants against one slot.
type turns struct {
	t    *testing.T
	r    *Router
	held Grant
	of   map[Ticket]string
}

func newTurns(t *testing.T, weights map[string]float64, waiting int) *turns {
	f := &turns{t: t, r: tenants(weights, waiting), of: map[Ticket]string{}}
	f.held = granted(t, f.r.Offer(at(0), of("first")))
	return f
}

func (f *turns) wait(tenant string, n int) {
	f.t.Helper()
	for range n {
		f.of[queued(f.t, f.r.Offer(f.r.now, of(tenant))).Ticket] = tenant
	}
}

func (f *turns) order(want string) {
	f.t.Helper()
	got := ""
	for range want {
		got += f.next()
	}
	if got != want {
		f.t.Errorf("served in the order %s, want %s", got, want)
	}
}

func TestTenantsTakeTurns(t *testing.T) {
	f := newTurns(t, map[string]float64{"a": 1, "b": 1}, 100)
	f.wait("a", 4)
	f.wait("b", 2)
	f.order("ababaa")
}

func TestTurnsFollowWeights(t *testing.T) {
	f := newTurns(t, map[string]float64{"a": 1, "b": 2}, 100)
	f.wait("a", 4)
	f.wait("b", 8)
	f.order("abbabbabbabb")
}

func TestWithoutTenantsFirstComeIsFirstServed(t *testing.T) {
	f := newTurns(t, nil, 100)
	var want []Ticket
	for range 6 {
		want = append(want, queued(t, f.r.Offer(f.r.now, chat())).Ticket)
	}
	for _, ticket := range want {
		if f.next(); f.held.Ticket != ticket {
			t.Fatalf("ticket %d was served, want %d", f.held.Ticket, ticket)
		}
	}
}

// A tenant that was away can't use what it left to the others.
func TestIdlenessIsNotBanked(t *testing.T) {
	f := newTurns(t, map[string]float64{"a": 1, "b": 1}, 1000)
	f.wait("b", 1)
	f.order("b")
	f.wait("a", 40)
	for second := range 30 {
		f.r.now = at(float64(second))
		f.next()
	}
	f.wait("b", 6)
	got := ""
	for range 8 {
		got += f.next()
	}
	if got != "abababab" {
		t.Errorf("after its absence b was served in the order %s", got)
	}
}

// Of equal weights, whoever waits all the time gets as much work as any other, but
// for a request or two, whatever the sizes.
func TestBackloggedTenantsGetEqualWork(t *testing.T) {
	weights := map[string]float64{"a": 1, "b": 2, "c": 5}
	f := newTurns(t, weights, 1000)
	rng := rand.New(rand.NewPCG(1, 2))
	work, largest := map[string]float64{}, 0.0
	size := map[Ticket]float64{}
	offer := func(tenant string) {
		req := of(tenant)
		req.TokensIn, req.OutBound = 1+rng.IntN(4000), 1+rng.IntN(500)
		req.Class = Decode
		d := queued(t, f.r.Offer(f.r.now, req))
		f.of[d.Ticket] = tenant
		size[d.Ticket] = float64(f.r.waiters[d.Ticket].work)
		largest = max(largest, size[d.Ticket])
	}
	for range 20 {
		for tenant := range weights {
			offer(tenant)
		}
	}
	for range 2000 {
		tenant := f.next()
		work[tenant] += size[f.held.Ticket]
		offer(tenant)
	}
	for tenant, weight := range weights {
		if gap := math.Abs(work[tenant]/weight - work["a"]); gap > 2*largest {
			t.Errorf("%s got %.0f for each weight, a got %.0f", tenant, work[tenant]/weight, work["a"])
		}
	}
}

// What an answer's real length shows to be too much or too little is made up for.
func TestRealLengthsCount(t *testing.T) {
	f := newTurns(t, map[string]float64{"a": 1, "b": 1}, 100)
	f.wait("a", 3)
	f.wait("b", 3)
	f.order("a")
	f.r.Learn(f.r.now, Answer{Lease: f.held.Lease, TokensOut: 3000})
	f.order("bbba")
}

func TestALoudTenantGivesUpPlaces(t *testing.T) {
	f := newTurns(t, map[string]float64{"loud": 1, "quiet": 1}, 4)
	f.wait("loud", 4)
	last := f.r.tickets
	f.wait("quiet", 1)
	no := refused(t, one(t, f.r.Tick(f.r.now)), QueueFull)
	if no.Ticket != last || no.RetryAfter == 0 {
		t.Errorf("refused %+v, want ticket %d with a time to come back", no, last)
	}
	f.wait("quiet", 1)
	refused(t, one(t, f.r.Tick(f.r.now)), QueueFull)
	refused(t, f.r.Offer(f.r.now, of("quiet")), QueueFull)
	refused(t, f.r.Offer(f.r.now, of("loud")), QueueFull)
}

// A client that leaves just after its place went is heard of no more.
func TestCancelOfACrowdedOutWaiter(t *testing.T) {
	f := newTurns(t, map[string]float64{"loud": 1, "quiet": 1}, 2)
	f.wait("loud", 2)
	last := f.r.tickets
	f.wait("quiet", 1)
	none(t, f.r.Cancel(f.r.now, last))
	none(t, f.r.Tick(f.r.now))
}
