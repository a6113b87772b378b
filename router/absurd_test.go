package router

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/config"
)

// absurdSizes are what no sane client sends.
var absurdSizes = []int{0, 1, 7, 1000, 32768, 1 << 31, math.MaxInt32, 1 << 40}

func absurd(rng *rand.Rand) Request {
	size := func() int { return absurdSizes[rng.IntN(len(absurdSizes))] }
	req := Request{
		Route: "gemma", Tenant: []string{"", "a", "nobody"}[rng.IntN(3)], TokensIn: size(), OutBound: size() - 1,
		Sequences: []int{0, 1, 1, 1, 2, 1000, 1 << 31}[rng.IntN(7)], Bytes: size(), Class: Class(rng.IntN(4)), Priority: Priority(rng.IntN(3)),
		MaxWait: time.Duration(rng.IntN(3)) * time.Hour, Whole: rng.IntN(2) == 0,
	}
	req.LongestIn = req.TokensIn * rng.IntN(2)
	req.Prefixes = Prefixes{Hashes: [10]uint64{rng.Uint64() % 3, 0, 5}, Unit: float64(size())}
	return req
}

// absurdConfig may have no caps, no contexts, no room to wait, and SLOs from a
// nanosecond to centuries.
func absurdConfig(rng *rand.Rand) *config.Config {
	n := []int{0, 1, 2, 64, 1 << 31}
	cfg := testConfig(config.Cap{Total: n[rng.IntN(5)], Prefill: n[rng.IntN(3)]}, total(n[rng.IntN(5)]))
	if rng.IntN(2) == 0 {
		cfg.Pools["fast"] = config.Pool{Cap: total(n[1+rng.IntN(4)])}
	}
	cfg.Tenants["a"] = config.Tenant{Weight: math.Pow(10, float64(rng.IntN(19)-9))}
	rt := cfg.Routes["gemma"]
	times := []time.Duration{0, 1, time.Millisecond, time.Second, math.MaxInt64}
	rt.Prefill.SLO = config.SLO{TTFT: times[rng.IntN(5)], TTFTPer1K: times[rng.IntN(4)]}
	rt.Decode.SLO = config.SLO{TTFT: times[rng.IntN(5)], TTFTPer1K: times[rng.IntN(4)], TPOT: times[rng.IntN(5)]}
	rt.Decode.Queue = config.Queue{MaxWaiting: n[rng.IntN(5)], MaxBytes: config.Bytes(n[rng.IntN(5)]), MaxWait: times[rng.IntN(4)]}
	cfg.Routes["gemma"] = rt
	return cfg
}

// absurdWorld sends anything in any order, and keeps only the contract: each lease
// is given back once.
type absurdWorld struct {
	t    *testing.T
	r    *Router
	rng  *rand.Rand
	now  time.Time
	held []Grant
}

func (w *absurdWorld) take(list ...Decision) {
	for _, d := range list {
		if g, ok := d.(Grant); ok {
			w.held = append(w.held, g)
		}
	}
}

// drop takes out any of those held; the zero Grant if there is none.
func (w *absurdWorld) drop() (g Grant) {
	if len(w.held) > 0 {
		i, last := w.rng.IntN(len(w.held)), len(w.held)-1
		g, w.held[i] = w.held[i], w.held[last]
		w.held = w.held[:last]
	}
	return g
}

func (w *absurdWorld) step() {
	w.now = w.now.Add([]time.Duration{0, 0, 1, time.Millisecond, time.Second, time.Hour}[w.rng.IntN(6)])
	switch w.rng.IntN(9) {
	case 0, 1, 2:
		w.offer()
	case 3:
		w.take(w.r.First(w.now, Lease{w.rng.Uint64N(w.r.leaseIDs + 2)})...)
	case 4:
		w.r.Learn(w.now, Answer{Lease: Lease{w.rng.Uint64N(w.r.leaseIDs + 2)}, TokensOut: absurdSizes[w.rng.IntN(8)], Service: time.Duration(w.rng.Int64())})
	case 5, 6:
		if g := w.drop(); g.Ticket > 0 {
			w.take(w.r.Release(w.now, g.Lease, Outcomes()[w.rng.IntN(len(Outcomes()))])...)
		}
	case 7:
		if g := w.drop(); g.Ticket > 0 {
			d, freed := w.r.Elsewhere(w.now, g.Lease, Outcomes()[w.rng.IntN(len(Outcomes()))])
			w.take(append(freed, d)...)
		}
	case 8:
		w.change()
	}
}

func (w *absurdWorld) offer() {
	req := absurd(w.rng)
	if w.rng.IntN(4) == 0 {
		rec := w.r.Explain(w.now, req)
		if _, err := json.Marshal(rec); err != nil || Replay(&rec) != rec.Choice {
			w.t.Fatalf("%v, replayed to %+v\n%s", err, Replay(&rec), rec.Text())
		}
	}
	w.take(w.r.Offer(w.now, req))
}

// change is what an operator, the fleet and metrics do.
func (w *absurdWorld) change() {
	switch w.rng.IntN(4) {
	case 0:
		load := Load{At: w.now.Add(time.Duration(w.rng.IntN(3)-1) * time.Hour), Running: w.rng.IntN(9), KVUsage: w.rng.Float64() * 2}
		w.take(w.r.Observe(w.now, "f1", load)...)
	case 1:
		w.take(w.r.SetFleet(w.now, ready("big/b1", "fast/f1", "fast/f2")[:w.rng.IntN(4)])...)
	case 2:
		w.take(w.r.ApplyConfig(w.now, absurdConfig(w.rng))...)
	case 3:
		w.take(w.r.Reload(w.now, absurdConfig(w.rng), ready("big/f1", "fast/b1"))...)
	}
}

// check: no number is none, and what is held is a whole number.
func (w *absurdWorld) check() {
	if _, err := json.Marshal(w.r.State()); err != nil {
		w.t.Fatal(err)
	}
	for _, rep := range w.r.replicas {
		p := &rep.pace
		for _, x := range []float64{p.pending, p.flying, p.step.k[0], p.step.k[1], p.step.k[2], p.first.k[0], p.first.k[1], p.first.miss.value, p.crowd.value(), rep.kv.held} {
			if !(x >= 0) || math.IsInf(x, 0) {
				w.t.Fatalf("%s: %+v %+v", rep.address, p, rep.kv)
			}
		}
		if rep.held() < 0 || p.decoding < 0 || rep.work < 0 {
			w.t.Fatalf("%s holds %+v, work %d, decoding %d", rep.address, rep.active, rep.work, p.decoding)
		}
	}
}

// finish gives everything back; nothing is left, however much was there.
func (w *absurdWorld) finish() {
	for len(w.held) > 0 || len(w.r.waiters) > 0 {
		if g := w.drop(); g.Ticket > 0 {
			w.take(w.r.Release(w.now, g.Lease, Completed)...)
		}
		w.now = w.now.Add(200 * time.Hour)
		w.take(w.r.Tick(w.now)...)
	}
	w.take(w.r.Tick(w.now.Add(time.Hour))...)
	for _, rep := range w.r.replicas {
		p := &rep.pace
		if p.pending != 0 || p.flying != 0 || p.decoding != 0 || rep.held() != 0 || rep.work != 0 || rep.kv.held != 0 || rep.own != 0 {
			w.t.Fatalf("%s still holds %+v %+v", rep.address, p, rep.kv)
		}
	}
	if !w.r.Next().IsZero() || len(w.r.leases) > 0 {
		w.t.Fatalf("%d leases left, next tick %s", len(w.r.leases), w.r.Next())
	}
}

func TestAbsurdNumbersAndOrders(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 11))
		w := &absurdWorld{t: t, rng: rng, now: at(0), r: New(at(0), absurdConfig(rng))}
		w.take(w.r.SetFleet(w.now, ready("big/b1", "fast/f1", "fast/f2"))...)
		for range 200 {
			w.step()
			w.check()
		}
		w.finish()
	}
}
