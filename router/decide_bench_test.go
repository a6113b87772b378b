package router

import (
	"fmt"
	"testing"
	"time"

	"sluice/config"
)

// decideFleet has n replicas in two pools and two routes that share them, with
// SLOs. Generations hold all that they may; 300 requests of 1 to 3 sequences wait.
// Half the replicas have room for prefill.
func decideFleet(b *testing.B, n int) (*Router, []Grant) {
	b.Helper()
	r := New(at(0), decideConfig())
	var names []string
	for i := range n / 2 {
		names = append(names, fmt.Sprintf("big/b%03d", i), fmt.Sprintf("fast/f%03d", i))
	}
	r.SetFleet(at(0), ready(names...))
	var running []Grant
	for full := false; !full; {
		now := r.now.Add(time.Second)
		if g, ok := r.Offer(now, chat()).(Grant); ok {
			running = append(running, g)
			r.First(now, g.Lease)
		} else {
			full = true
		}
	}
	for i := range 300 {
		r.Offer(r.now, decideRequest(i))
	}
	if len(r.waiters) < 250 || len(running) != n/2*(128+32) {
		b.Fatalf("%d run, %d wait", len(running), len(r.waiters))
	}
	return r, running
}

func decideConfig() *config.Config {
	cfg := testConfig(config.Cap{Total: 64, Decode: 32}, total(128))
	rt := cfg.Routes["gemma"]
	rt.Prefill.Queue = config.Queue{MaxWaiting: 1000, MaxWait: 10000 * time.Hour}
	rt.Prefill.SLO = config.SLO{TTFT: 2 * time.Second, TTFTPer1K: 200 * time.Millisecond, TPOT: 100 * time.Millisecond}
	rt.Decode = rt.Prefill
	rt.Decode.Pools = []config.Preference{{Pool: "fast"}, {Pool: "big"}}
	cfg.Routes["gemma"], cfg.Routes["second"] = rt, rt
	return cfg
}

func decideRequest(i int) Request {
	req := many(1 + i%3)
	req.Route = []string{"gemma", "second"}[i%2]
	return req
}

// BenchmarkDecide is one decision while others wait: of an offer that must wait
// (and leaves again), of one that is granted (and given back), and of a record. A
// round is three events: a release, which lets waiters in, their first tokens, and
// the next offer.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{16, 256} {
		b.Run(fmt.Sprintf("waits/%d", n), func(b *testing.B) { benchWaits(b, n) })
		b.Run(fmt.Sprintf("granted/%d", n), func(b *testing.B) { benchGranted(b, n) })
		b.Run(fmt.Sprintf("round/%d", n), func(b *testing.B) { benchRound(b, n) })
		b.Run(fmt.Sprintf("explained/%d", n), func(b *testing.B) { benchExplained(b, n) })
	}
}

func benchWaits(b *testing.B, n int) {
	r, _ := decideFleet(b, n)
	b.ReportAllocs()
	for b.Loop() {
		q := r.Offer(r.now, chat()).(Queued)
		r.leave(r.waiters[q.Ticket])
	}
}

func benchGranted(b *testing.B, n int) {
	r, _ := decideFleet(b, n)
	b.ReportAllocs()
	for b.Loop() {
		r.now = r.now.Add(time.Second)
		g := r.Offer(r.now, label()).(Grant)
		r.sawFirst(r.leases[g.Lease], 0)
		r.giveBack(r.leases[g.Lease], Completed)
	}
}

func benchRound(b *testing.B, n int) {
	r, running := decideFleet(b, n)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		slot := i % len(running)
		freed := r.Release(r.now.Add(50*time.Millisecond), running[slot].Lease, Completed)
		for _, d := range append(freed, r.Offer(r.now, decideRequest(i))) {
			if g, ok := d.(Grant); ok {
				running = append(running, g)
				r.First(r.now, g.Lease)
			}
		}
		running[slot] = running[len(running)-1]
		running = running[:len(running)-1]
	}
}

func benchExplained(b *testing.B, n int) {
	r, _ := decideFleet(b, n)
	b.ReportAllocs()
	for b.Loop() {
		r.Explain(r.now, chat())
	}
}
