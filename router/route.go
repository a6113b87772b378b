package router

import (
	"maps"
	"slices"
	"strings"

	"sluice/config"
)

// route is a name that applications use: a key of the configuration's routes,
// or a pool's served name (pinned). It outlives a reload, with what it has
// learned, as long as its name does.
type route struct {
	name    string // of the route; "" when pinned
	pin     string // the pool, when pinned
	key     string // of what is learned about its answers
	class   Class  // of all its requests; ClassNone: decide
	prefill *queue
	decode  *queue
	work    [Decode + 1]rate // granted, by class, in prompt tokens
	all     []*pool          // of either class, for requests of class Other
}

func newRoute(name, pin string) *route {
	rt := &route{name: name, pin: pin, key: name}
	if pin != "" {
		rt.key = "pool/" + pin // a route may have the same name
	}
	rt.prefill, rt.decode = newQueue(rt, Prefill, Interactive), newQueue(rt, Decode, Interactive)
	rt.prefill.lower, rt.decode.lower = newQueue(rt, Prefill, Batch), newQueue(rt, Decode, Batch)
	return rt
}

// queueOf is nil for class Other, which never waits.
func (rt *route) queueOf(c Class) *queue {
	switch c {
	case Prefill:
		return rt.prefill
	case Decode:
		return rt.decode
	}
	return nil
}

// serves tells whether the route has pools for a class.
func (rt *route) serves(c Class) bool {
	q := rt.queueOf(c)
	return q != nil && len(q.order) > 0
}

// queues lists all, those of priority Batch last.
func (rt *route) queues() [4]*queue {
	return [...]*queue{rt.prefill, rt.decode, rt.prefill.lower, rt.decode.lower}
}

// configure gives a route its policy.
func (r *Router) configure(rt *route, cfg config.Route) {
	rt.class = ParseClass(cfg.Class)
	r.bind(rt.prefill, cfg.Prefill, "routes."+rt.name+".prefill")
	r.bind(rt.decode, cfg.Decode, "routes."+rt.name+".decode")
	rt.all = union(rt.prefill.order, rt.decode.order)
}

// configurePin gives a pool's implicit route its policy. The file has none for
// it: each class is bounded like the longest queue of the routes that lead to
// this pool, and like a route's defaults where none does.
func (r *Router) configurePin(rt *route) {
	only := []config.Preference{{Pool: rt.pin, Value: 1}}
	for _, q := range [...]*queue{rt.prefill, rt.decode} {
		policy, path := r.donor(rt.pin, q.class)
		policy.Pools = only
		r.bind(q, policy, path)
	}
	rt.all = rt.prefill.order
}

// donor finds the policy of the longest queue that leads to a pool.
func (r *Router) donor(pool string, class Class) (config.RouteClass, string) {
	found, path := classOf(config.DefaultRoute(), class), ""
	for _, name := range slices.Sorted(maps.Keys(r.cfg.Routes)) {
		policy := classOf(r.cfg.Routes[name], class)
		leads := slices.ContainsFunc(policy.Pools, func(p config.Preference) bool { return p.Pool == pool })
		if leads && (path == "" || policy.Queue.MaxWaiting > found.Queue.MaxWaiting) {
			found, path = policy, "routes."+name+"."+class.String()
		}
	}
	if path == "" {
		path = "routes.(default)." + class.String()
	}
	return found, path
}

func classOf(cfg config.Route, class Class) config.RouteClass {
	if class == Prefill {
		return cfg.Prefill
	}
	return cfg.Decode
}

// bind gives a queue its pools and limits. Priority Batch is promised nothing.
func (r *Router) bind(q *queue, policy config.RouteClass, path string) {
	q.limits, q.slo, q.policy, q.path = policy.Queue, promise(policy.SLO), path, path+".queue"
	q.refuses = policy.OnSLOMiss == config.MissRefuse && q.slo.TTFT > 0
	q.order = make([]*pool, 0, len(policy.Pools))
	for _, p := range policy.Pools {
		q.order = append(q.order, r.poolOf(p.Pool))
	}
	if !q.batch() {
		policy.SLO = config.SLO{}
		r.bind(q.lower, policy, path)
	}
}

// union is the pools of a, then those of b that a lacks.
func union(a, b []*pool) []*pool {
	all := slices.Clone(a)
	for _, p := range b {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// routeOf finds the route of a request or an answer; nil: the configuration no longer has it.
func (r *Router) routeOf(name, pin string) *route {
	if name == "" {
		return r.pins[pin]
	}
	return r.routes[name]
}

// sortedRoutes lists every route by name, then every pin by pool.
func (r *Router) sortedRoutes() []*route {
	byName := func(a, b *route) int { return strings.Compare(a.name+a.pin, b.name+b.pin) }
	named := slices.SortedFunc(maps.Values(r.routes), byName)
	return append(named, slices.SortedFunc(maps.Values(r.pins), byName)...)
}
