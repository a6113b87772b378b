package router

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/config"
)

// world plays random events against a router, keeps its own books, and checks
// after every event what must always hold.
type world struct {
	t       testing.TB
	r       *Router
	cfg     *config.Config
	fleet   map[string]Replica
	now     time.Time
	open    map[Ticket]bool // offered, not ended
	waiting map[Ticket]bool
	offered time.Time        // the last
	places  map[Ticket]place // of those who wait, since the last change of policy
	grants  []Grant          // active
	log     strings.Builder
	data    []byte

	slo      config.SLO
	mute     bool                   // nothing is explained
	said     int                    // records
	verdicts [len(verdictNames)]int // in them
}

func newWorld(t testing.TB, data []byte) *world {
	w := &world{
		t: t, data: data, now: at(0), fleet: map[string]Replica{}, open: map[Ticket]bool{}, waiting: map[Ticket]bool{}, places: map[Ticket]place{},
		cfg: worldConfig(6, 9, 20),
	}
	w.cfg.Retry = config.Retry{Budget: 0.5, BudgetMin: 5, AfterDispatch: true}
	w.r = New(w.now, w.cfg)
	for _, f := range ready("big/b1", "big/b2", "fast/f1", "fast/f2") {
		w.fleet[f.Address] = f
	}
	w.settle(w.r.SetFleet(w.now, w.list()))
	return w
}

// worldConfig has two routes that share pools, with class caps.
func worldConfig(big, fast, waiting int) *config.Config {
	cfg := testConfig(config.Cap{Total: big, Decode: max(big/2, 1)}, config.Cap{Total: fast, Prefill: max(fast/3, 1)})
	rt := cfg.Routes["gemma"]
	rt.Prefill.Queue.MaxWaiting, rt.Decode.Queue.MaxWaiting = waiting, waiting
	rt.Decode.Queue.MaxWait = 20 * time.Second
	cfg.Routes["gemma"] = rt
	rt.Decode.Pools = []config.Preference{{Pool: "fast"}, {Pool: "big"}}
	rt.Prefill.Queue.MaxWait = 0
	cfg.Routes["spill"] = rt
	cfg.Tenants["a"], cfg.Tenants["b"] = config.Tenant{Weight: 1}, config.Tenant{Weight: 3}
	cfg.Tenants["batch"] = config.Tenant{Weight: 1, Priority: "batch"}
	return cfg
}

// byte is the next byte of the script; 0 after its end.
func (w *world) byte() int {
	if len(w.data) == 0 {
		return 0
	}
	b := w.data[0]
	w.data = w.data[1:]
	return int(b)
}

func (w *world) list() []Replica {
	var list []Replica
	for _, address := range []string{"b1", "b2", "f1", "f2", "x1"} {
		if f, ok := w.fleet[address]; ok {
			list = append(list, f)
		}
	}
	return list
}

// play runs the script and then lets everything end.
func (w *world) play() {
	for len(w.data) > 0 {
		w.step()
		w.check()
	}
	w.finish()
}

func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.byte()%16) * 20 * time.Millisecond)
	switch code := w.byte() % 64; {
	case code < 28:
		w.offer()
	case code < 48:
		w.release()
	case code < 52:
		w.elsewhere()
	case code < 54:
		w.cancel()
	case code < 57:
		w.observe()
	case code < 58:
		w.setFleet()
	case code < 59:
		w.applyConfig()
	default:
		w.settle(w.r.Tick(w.now))
		w.checkDeadlines()
	}
}

func (w *world) offer() {
	b := w.byte()
	req := Request{
		Route: []string{"gemma", "spill", "", "gemma"}[b%4], TokensIn: 100 + 40*w.byte(), OutBound: []int{-1, 10, 500, 1000}[b/4%4],
		Sequences: []int{1, 1, 1, 1, 1, 2, 3, 6}[b/16%8], Bytes: 1000,
	}
	req.LongestIn, req.Tenant = req.TokensIn, []string{"", "a", "b", "batch"}[req.TokensIn/40%4]
	req.Prefixes.Turn, req.Prefixes.Before = uint64(1+req.TokensIn/40%8), uint64(b%8)
	if req.Route == "" {
		req.Pool = "fast"
	}
	switch w.byte() % 16 {
	case 0:
		req.Class = Other
	case 1:
		req.Class = Prefill
	case 2:
		req.MaxWait = 300 * time.Millisecond
	case 3:
		req.LongestIn = 9000
	case 4, 5, 6:
		req.Priority = Batch
	}
	d := w.explained(req)
	w.open[ticketOf(d)] = true
	w.decided(d)
	w.offered = w.now
}

// lease takes out an active grant.
func (w *world) lease() (Grant, bool) {
	if len(w.grants) == 0 {
		return Grant{}, false
	}
	i := w.byte() % len(w.grants)
	g := w.grants[i]
	w.grants = slices.Delete(w.grants, i, i+1)
	return g, true
}

func (w *world) release() {
	if g, ok := w.lease(); ok {
		o := []Outcome{Completed, Completed, Completed, ClientGoneStreaming, Truncated, Busy}[w.byte()%6]
		w.r.Learn(w.now, Answer{Lease: g.Lease, TokensOut: 10 * (w.byte() % 90)})
		freed := w.r.Release(w.now, g.Lease, o)
		w.end(g.Ticket)
		w.settle(freed)
	}
}

func (w *world) elsewhere() {
	g, ok := w.lease()
	if !ok {
		return
	}
	o := []Outcome{ConnectFailed, Busy, Lost, Aborted, ClientError, Truncated, Stalled}[w.byte()%7]
	move := w.r.Elsewhere
	if o == Truncated || o == Stalled {
		move = func(now time.Time, l Lease, o Outcome) (Decision, []Decision) {
			return w.r.Continue(now, l, o, 10*w.byte())
		}
	}
	d, freed := move(w.now, g.Lease, o)
	if again, ok := d.(Grant); ok && again.Replica == g.Replica {
		w.t.Fatalf("tried %s twice", g.Replica)
	}
	if ticketOf(d) != g.Ticket {
		w.t.Fatalf("ticket changed from %d to %d", g.Ticket, ticketOf(d))
	}
	w.decided(d)
	w.settle(freed)
}

func (w *world) cancel() {
	list := sortedKeys(w.waiting)
	if len(list) == 0 {
		w.settle(w.r.Cancel(w.now, 1<<40))
		return
	}
	t := list[w.byte()%len(list)]
	freed := w.r.Cancel(w.now, t)
	delete(w.waiting, t)
	w.end(t)
	w.settle(freed)
}

func (w *world) observe() {
	address := []string{"b1", "b2", "f1", "f2", "x1", "nobody"}[w.byte()%6]
	age := time.Duration(w.byte()%10) * 50 * time.Millisecond
	w.settle(w.r.Observe(w.now, address, Load{At: w.now.Add(-age), Running: w.byte() % 8, KVUsage: float64(w.byte()%100) / 100}))
}

func (w *world) setFleet() {
	address := []string{"b1", "b2", "f1", "f2", "x1"}[w.byte()%5]
	b := w.byte()
	pool := []string{"big", "fast", "fast", "other"}[b/8%4]
	if b%8 == 7 {
		delete(w.fleet, address)
	} else {
		state := []ReplicaState{Ready, Ready, Ready, Trial, Open, Warming, Leaving}[b%8]
		w.fleet[address] = Replica{Address: address, Pool: pool, State: state}
	}
	w.settle(w.r.SetFleet(w.now, w.list()))
}

func (w *world) applyConfig() {
	b := w.byte()
	cfg := worldConfig(2+b%8, 2+b/8%8, b/16)
	cfg.Retry = w.cfg.Retry
	if b%5 == 0 {
		delete(cfg.Routes, "spill")
	}
	if b%7 == 0 {
		delete(cfg.Pools, "big")
	}
	w.promise(cfg)
	if b%11 == 0 {
		delete(cfg.Tenants, "b")
	}
	w.cfg = cfg
	clear(w.places)
	w.settle(w.r.ApplyConfig(w.now, cfg))
}

// script is random bytes for a number of events.
func script(seed uint64, events int) []byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, events*5)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return data
}

func TestRandomEvents(t *testing.T) {
	seeds, events := 600, 200
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		newWorld(t, script(uint64(seed), events)).play()
	}
}

func TestSameEventsSameDecisions(t *testing.T) {
	for seed := range uint64(50) {
		a, b := newWorld(t, script(seed, 300)), newWorld(t, script(seed, 300))
		a.play()
		b.play()
		if a.log.String() != b.log.String() {
			t.Fatalf("seed %d: the same events were decided differently", seed)
		}
	}
}

func FuzzEvents(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(script(seed, 60))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4000 {
			return
		}
		newWorld(t, data).play()
	})
}
