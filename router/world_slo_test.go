package router

import (
	"math"
	"testing"
	"time"

	"sluice/config"
)

// promisedWorld is a world with the default SLOs, tenants and prompts that begin
// alike, whose answers are told as a gateway tells them: first token, lengths, end.
// Its clock keeps the router's appointments.
type promisedWorld struct {
	*world
	silent bool // nothing is explained
	missed int  // refused for their SLO's sake
}

func newPromisedWorld(t testing.TB, data []byte) *promisedWorld {
	w := &promisedWorld{world: newWorld(t, data)}
	w.slo = config.DefaultRoute().Prefill.SLO
	w.configure(roomy(w.byte()))
	return w
}

// roomy is a configuration whose caps often leave the decision to the SLOs.
func roomy(b int) *config.Config {
	cfg := worldConfig(2+3*(b%8), 2+5*(b/8%8), 2+b/16)
	cfg.Retry = config.Retry{Budget: 0.5, BudgetMin: 5, AfterDispatch: true}
	cfg.Tenants = map[string]config.Tenant{"t": {Weight: 1}, "u": {Weight: 3}}
	usual := config.DefaultRoute()
	for name, rt := range cfg.Routes {
		rt.Prefill.SLO, rt.Decode.SLO = usual.Prefill.SLO, usual.Decode.SLO
		if b%3 == 0 { // often missed, and refused in one of the two routes
			rt.Prefill.SLO.TTFT, rt.Decode.SLO = 500*time.Millisecond, config.SLO{TTFT: 300 * time.Millisecond, TPOT: 24 * time.Millisecond}
		}
		if name == "spill" {
			rt.Prefill.OnSLOMiss, rt.Decode.OnSLOMiss = config.MissRefuse, config.MissRefuse
		}
		rt.Prefill.Queue.MaxWait, rt.Decode.Queue.MaxWait = 0, 0
		cfg.Routes[name] = rt
	}
	return cfg
}

func (w *promisedWorld) configure(cfg *config.Config) {
	w.cfg = cfg
	w.settle(w.r.ApplyConfig(w.now, cfg))
}

// play runs the script and then lets everything end.
func (w *promisedWorld) play() {
	for len(w.data) > 0 {
		w.pass(time.Duration(w.byte()%16) * 25 * time.Millisecond)
		w.event()
		w.checkPromises()
	}
	w.checkHeld()
	w.checkQueues()
	for len(w.grants) > 0 || len(w.waiting) > 0 {
		w.complete()
		w.checkPromises()
		w.pass(time.Second)
	}
	w.pass(time.Hour)
	w.checkNothingLeft()
	w.checkSums()
}

// pass lets time go by.
func (w *promisedWorld) pass(d time.Duration) {
	end := w.now.Add(d)
	for next := w.r.Next(); !next.IsZero() && !next.After(end); next = w.r.Next() {
		if next.After(w.now) {
			w.now = next
		}
		w.settle(w.r.Tick(w.now))
	}
	w.now = end
	w.settle(w.r.Tick(w.now))
}

func (w *promisedWorld) event() {
	switch code := w.byte() % 32; {
	case code < 13:
		w.ask()
	case code < 18:
		w.first()
	case code < 24:
		w.complete()
	case code < 25:
		w.release()
	case code < 26:
		w.elsewhere()
	case code < 27:
		w.cancel()
	case code < 28:
		w.observe()
	case code < 30:
		w.setFleet()
	case code < 31:
		w.configure(roomy(w.byte()))
	default:
		w.pass(time.Duration(w.byte()%16) * time.Second)
	}
}

// ask offers a request, or several at once.
func (w *promisedWorld) ask() {
	b, size := w.byte(), w.byte()
	req := Request{
		Route: []string{"gemma", "spill"}[b%2], Tenant: []string{"t", "t", "u", ""}[b/2%4], TokensIn: 20 + size*size/10,
		OutBound: []int{-1, 10, 500, -1}[b/8%4], Sequences: []int{1, 1, 1, 1, 1, 1, 2, 6}[b/32], Bytes: 1000,
	}
	req.LongestIn = req.TokensIn
	if size%4 == 0 {
		req.Prefixes = Prefixes{Hashes: [10]uint64{1, 2, uint64(b % 8)}, Unit: 11.7}
	}
	for i := range 1 + b%3*size%5 {
		w.mute = w.silent || i > 0 || size%4 > 1
		d := w.explained(req)
		w.checkMiss(&req, d)
		w.open[ticketOf(d)] = true
		w.decided(d)
		w.pass(0) // who lost its place to it hears of it
	}
}

// first tells a first token.
func (w *promisedWorld) first() {
	if len(w.grants) == 0 {
		return
	}
	if g := w.grants[w.byte()%len(w.grants)]; g.Class != Other {
		w.settle(w.r.First(w.now, g.Lease))
	}
}

// complete ends an answer well; of some nobody saw the first token.
func (w *promisedWorld) complete() {
	g, ok := w.lease()
	if !ok {
		return
	}
	w.r.Learn(w.now, Answer{Lease: g.Lease, TokensOut: 1 + w.byte()*w.byte()/8, Service: 100 * time.Millisecond})
	freed := w.r.Release(w.now, g.Lease, Completed)
	w.end(g.Ticket)
	w.settle(freed)
}

// checkPromises is what must hold after every event where SLOs decide.
func (w *promisedWorld) checkPromises() {
	w.t.Helper()
	w.checkSums()
	w.checkQueues()
	w.checkDeadlines()
	if len(w.waiting) != len(w.r.waiters) {
		w.t.Fatalf("%d requests wait, the router has %d", len(w.waiting), len(w.r.waiters))
	}
	if len(w.open) != len(w.waiting)+len(w.grants) {
		w.t.Fatalf("%d requests open, %d wait, %d run", len(w.open), len(w.waiting), len(w.grants))
	}
	w.checkNobodyWaitsBesideTheWilling()
	w.checkNobodyWaitsBesideTheEmpty()
}

// checkNobodyWaitsBesideTheWilling: no replica would take a waiter whose turn it is,
// asked one by one. Those behind it in its lane come after it, whatever they need.
func (w *promisedWorld) checkNobodyWaitsBesideTheWilling() {
	w.t.Helper()
	for _, wt := range w.r.waiters {
		if wt.prev != nil {
			continue
		}
		for i, p := range wt.queue.order {
			for _, rep := range p.replicas {
				c := wt.claim
				c.yield(w.now)
				if found := w.r.consider(rep, &c, wt, i == 0); c.fits(p) && found.Verdict == Willing {
					w.t.Fatalf("ticket %d waits for %d of %s while %s is willing: %+v", wt.ticket, wt.seqs, wt.class, rep.address, found)
				}
			}
		}
	}
}

// checkSums compares each replica's sums with its leases, one by one.
func (w *promisedWorld) checkSums() {
	w.t.Helper()
	for _, rep := range w.r.replicas {
		pending, flying, decoding, held, own := 0.0, 0.0, 0, 0, 0
		for _, l := range w.r.leases {
			if l.replica != rep || l.seqs == 0 {
				continue
			}
			held += l.seqs
			if l.life == rep.life {
				own += l.seqs
			}
			begun, active := !l.first.at.IsZero(), l.closedAt.IsZero()
			if active && !begun {
				pending += l.fresh
			}
			if active && (!begun || l.class == Prefill) {
				flying += l.fresh
			}
			if active && begun {
				decoding += l.seqs
			}
		}
		p := &rep.pace
		same := near(p.pending, pending) && near(p.flying, flying) && p.decoding == decoding && rep.held() == held && rep.own == own
		if !same || p.seconds < 0 || p.prefilled < 0 || math.IsNaN(p.tpot(decoding, 0)) {
			w.t.Fatalf("%s: pending %v flying %v decoding %d held %d own %d, its leases say %v %v %d %d %d",
				rep.address, p.pending, p.flying, p.decoding, rep.held(), rep.own, pending, flying, decoding, held, own)
		}
	}
}

// near allows for rounding, but not where there is nothing: what counts as idle must
// be 0.
func near(got, want float64) bool {
	if want == 0 {
		return got == 0
	}
	return math.Abs(got-want) < 1e-6
}

// TestRandomEventsWhereSLOsDecide plays many short schedules.
func TestRandomEventsWhereSLOsDecide(t *testing.T) {
	const parts = 4
	seeds := uint64(10000)
	if testing.Short() {
		seeds = 1000
	}
	for part := range uint64(parts) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			missed := 0
			for seed := part; seed < seeds; seed += parts {
				w := newPromisedWorld(t, script(seed, 8+int(seed/parts%40)))
				w.play()
				missed += w.missed
			}
			if missed == 0 {
				t.Error("nothing was refused for its SLO's sake")
			}
		})
	}
}

func TestSameEventsSameDecisionsWhereSLOsDecide(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		a, b := newPromisedWorld(t, script(seed, 150)), newPromisedWorld(t, script(seed, 150))
		a.play()
		b.play()
		if a.log.String() != b.log.String() {
			t.Fatalf("seed %d: the same events were decided differently", seed)
		}
	}
}

func TestExplainingChangesNothingWhereSLOsDecide(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		a, b := newPromisedWorld(t, script(seed, 150)), newPromisedWorld(t, script(seed, 150))
		b.silent = true
		a.play()
		b.play()
		if a.log.String() != b.log.String() {
			t.Fatalf("seed %d: explained requests were decided differently", seed)
		}
	}
}

func FuzzEventsWhereSLOsDecide(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(script(seed, 60))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4000 {
			return
		}
		newPromisedWorld(t, data).play()
	})
}
