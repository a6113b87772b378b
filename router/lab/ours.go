package lab

import (
	"cmp"
	"fmt"
	"time"

	"sluice/config"
	"sluice/router"
)

// epoch is the router's time at the start of a run.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(t time.Duration) time.Time { return epoch.Add(t) }

// ours is the product's router, told what the gateway would tell it: estimates,
// streams and metrics, never the answers to come.
type ours struct {
	w       *world
	router  *router.Router
	waiting map[router.Ticket]*request
	index   map[string]int // of a replica by its address
}

// held is what ours knows of a request on a replica.
type held struct {
	lease router.Lease
	grant router.Grant
}

func newOurs(w *world, of *Workload) *ours {
	cfg := policyFor(w.pools, of)
	p := &ours{w: w, router: router.New(epoch, cfg), waiting: map[router.Ticket]*request{}, index: map[string]int{}}
	for i := range w.machines {
		p.index[address(i)] = i
	}
	p.fleet(0)
	return p
}

// address is a machine's.
func address(machine int) string { return fmt.Sprintf("http://replica-%d:8000", machine) }

// fleet tells the router which replicas are up.
func (p *ours) fleet(now time.Duration) {
	var fleet []router.Replica
	for i, m := range p.w.machines {
		state := router.Ready
		if m.down {
			state = router.Warming
		}
		fleet = append(fleet, router.Replica{Address: address(i), Pool: p.w.pools[m.pool].Name, State: state})
	}
	p.deliver(p.router.SetFleet(at(now), fleet))
}

// policyFor is the configuration that an operator would write for a workload:
// pools, caps, preferences and SLOs, nothing else.
func policyFor(pools []Pool, of *Workload) *config.Config {
	value := config.Default()
	cfg := &value
	cfg.Pools = map[string]config.Pool{}
	for _, p := range pools {
		pool := config.DefaultPool(p.Size)
		pool.Model, pool.Size, pool.Accelerator = p.Size, p.Size, "v6e-2x2"
		pool.Cap = config.Cap{Total: p.Cap}
		pool.Engine.MaxModelLen, pool.Engine.MaxNumSeqs = p.Setup.MaxModelLen, p.Setup.MaxNumSeqs
		pool.Engine.MaxNumBatchedTokens, pool.Engine.PaddingGap = p.Setup.MaxBatched, p.Setup.Gap
		cfg.Pools[p.Name] = pool
	}
	rt := config.DefaultRoute()
	large, small := pools[0].Name, pools[1].Name
	rt.Prefill.Pools = []config.Preference{{Pool: large, Value: values[0]}, {Pool: small, Value: values[1]}}
	rt.Decode.Pools = []config.Preference{{Pool: small, Value: values[0]}, {Pool: large, Value: values[1]}}
	for i := range of.Kinds {
		k := &of.Kinds[i]
		if k.batch() {
			continue
		}
		if k.class() == router.Prefill {
			rt.Prefill.SLO = k.slo()
		} else {
			rt.Decode.SLO = k.slo()
		}
	}
	cfg.Routes = map[string]config.Route{routeName: rt}
	cfg.Tenants = of.tenants()
	return cfg
}

// tenants are those that a workload's kinds name, with their weights.
func (w *Workload) tenants() map[string]config.Tenant {
	all := map[string]config.Tenant{}
	for i := range w.Kinds {
		if name := w.Kinds[i].Tenant; name != "" {
			all[name] = config.Tenant{Weight: cmp.Or(w.Weights[name], 1)}
		}
	}
	return all
}

const routeName = "gemma-3"

func (p *ours) arrive(now time.Duration, r *request) {
	bound := -1
	if r.kind.Bound > 0 {
		bound = r.kind.Bound
	}
	estimate := int(float64(r.prompt)*r.noise) + 1
	d := p.router.Offer(at(now), router.Request{
		Route: routeName, Tenant: r.kind.Tenant, Priority: router.ParsePriority(r.kind.Priority), TokensIn: estimate, LongestIn: estimate, OutBound: bound, Sequences: 1, Bytes: 4 * r.prompt, Prefixes: r.prefixes(),
	})
	p.decided(d, r)
}

// decided does what the router says of a request.
func (p *ours) decided(d router.Decision, r *request) {
	switch d := d.(type) {
	case router.Grant:
		r.own = held{d.Lease, d}
		p.w.send(r, p.index[d.Replica])
	case router.Queued:
		p.waiting[d.Ticket] = r
	case *router.Refusal:
		p.w.refuse(r)
	}
}

// deliver does what the router says of those who waited.
func (p *ours) deliver(ds []router.Decision) {
	for _, d := range ds {
		var t router.Ticket
		switch d := d.(type) {
		case router.Grant:
			t = d.Ticket
		case *router.Refusal:
			t = d.Ticket
		}
		r := p.waiting[t]
		delete(p.waiting, t)
		p.decided(d, r)
	}
}

func (p *ours) first(now time.Duration, r *request) {
	p.deliver(p.router.First(at(now), r.own.(held).lease))
}

func (p *ours) done(now time.Duration, r *request) {
	h := r.own.(held)
	outcome := router.Completed
	if r.fate == lost {
		outcome = router.Lost
	}
	if r.fate == served {
		service := r.ended - r.sent
		if h.grant.Class == router.Decode {
			service = r.first - r.sent
		}
		p.router.Learn(at(now), router.Answer{Lease: h.lease, TokensOut: r.answer, Service: service})
	}
	p.deliver(p.router.Release(at(now), h.lease, outcome))
}

func (p *ours) wake(now time.Duration) { p.deliver(p.router.Tick(at(now))) }

func (p *ours) next() time.Duration {
	next := p.router.Next()
	if next.IsZero() {
		return never
	}
	return next.Sub(epoch)
}

func (p *ours) scrape(now time.Duration, loads []load) {
	for i, l := range loads {
		p.deliver(p.router.Observe(at(now), address(i), router.Load{At: at(now), Running: l.running, Waiting: l.waiting, KVUsage: l.kv}))
	}
}
