package router

import (
	"fmt"
	"testing"
	"time"

	"sluice/config"
)

// crowd is a router with 16 full replicas, and waiters of so many tenants in both
// queues.
func crowd(b *testing.B, tenants, waiters int) *Router {
	cfg := promisedConfig(total(64), total(64))
	rt := cfg.Routes["gemma"]
	rt.Prefill.Queue = config.Queue{MaxWaiting: waiters, MaxWait: time.Hour}
	rt.Decode.Queue = rt.Prefill.Queue
	rt.Decode.Pools = []config.Preference{{Pool: "fast"}, {Pool: "big"}}
	cfg.Routes["gemma"] = rt
	for i := range tenants {
		cfg.Tenants[fmt.Sprint(i)] = config.Tenant{Weight: 1}
	}
	r := New(at(0), cfg)
	var names []string
	for i := range 8 {
		names = append(names, fmt.Sprintf("big/b%d", i), fmt.Sprintf("fast/f%d", i))
	}
	r.SetFleet(at(0), ready(names...))
	for i := 0; len(r.waiters) < waiters; i++ {
		if i > 10*waiters+5000 {
			b.Fatalf("%d wait of %d offered", len(r.waiters), i)
		}
		req := []Request{chat(), label()}[i%2]
		req.Tenant = fmt.Sprint(i / 2 % tenants)
		r.Offer(r.now, req)
	}
	return r
}

// BenchmarkTenants is one look at the waiters, of whom nobody can be served, just
// after an offer has come and gone.
func BenchmarkTenants(b *testing.B) {
	for _, n := range []struct{ tenants, waiters int }{{1, 512}, {10, 512}, {100, 512}, {256, 512}, {1000, 10000}} {
		b.Run(fmt.Sprintf("%d/%d", n.tenants, n.waiters), func(b *testing.B) {
			r := crowd(b, n.tenants, n.waiters)
			b.ReportAllocs()
			for b.Loop() {
				req := chat()
				req.Tenant = "0"
				if q, ok := r.Offer(r.now, req).(Queued); ok {
					r.leave(r.waiters[q.Ticket])
				}
				r.settle(nil)
			}
		})
	}
}
