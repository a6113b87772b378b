package router

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// State is a snapshot of the router, for people and gauges. Lists are sorted by
// name, so that two snapshots can be compared.
type State struct {
	At          time.Time     `json:"at"`           // of the last event
	W           float64       `json:"w"`            // prompt tokens that cost as much as one generated token
	RetriesLeft int           `json:"retries_left"` // of the retry budget
	Foreseen    float64       `json:"foreseen"`     // share of the answers within their predicted 90th percentile; 0: none yet
	Pools       []PoolReport  `json:"pools"`
	Queues      []QueueReport `json:"queues"`
	Routes      []RouteReport `json:"routes"`
}

// PoolReport is a pool and its replicas.
type PoolReport struct {
	Name     string          `json:"name"`
	Replicas []ReplicaReport `json:"replicas"`
}

// ReplicaReport is what one replica holds.
type ReplicaReport struct {
	Address     string       `json:"address"`
	State       ReplicaState `json:"state"`
	Listed      bool         `json:"listed"`      // false: gone from the fleet, its last leases still run
	Cap         int          `json:"cap"`         // sequences it may hold; a lowered cap counts down as leases come back
	Admits      int          `json:"admits"`      // sequences up to which it gets new work now: the cap; less while it starts, 1 on trial unless it holds nothing; 0 where it gets none
	Active      Counts       `json:"active"`      // sequences of running requests
	Closing     Counts       `json:"closing"`     // sequences cancelled, not yet known to be gone
	Work        int64        `json:"work"`        // outstanding, in prompt tokens
	Granted     uint64       `json:"granted"`     // requests since it was first listed
	Busy        bool         `json:"busy"`        // said so within the last second
	Target      Counts       `json:"target"`      // sequences of each class up to which it keeps their SLOs now; at most what it admits
	Stalled     bool         `json:"stalled"`     // work lies there far longer than foreseen, with no sign of life
	Unexplained int          `json:"unexplained"` // sequences there by its own metrics, beyond those that this gateway may have had there
	Load        Load         `json:"load"`        // its own metrics, as last read
}

// Counts is sequences by class.
type Counts struct {
	Prefill int `json:"prefill"`
	Decode  int `json:"decode"`
}

// Total is the sequences of both classes.
func (c Counts) Total() int { return c.Prefill + c.Decode }

// QueueReport is one queue. Route is empty where the queue belongs to a pool's
// own name; then Pool is set.
type QueueReport struct {
	Route    string        `json:"route,omitempty"`
	Pool     string        `json:"pool,omitempty"`
	Class    Class         `json:"class"`
	Priority Priority      `json:"priority"`
	Waiting  int           `json:"waiting"` // requests
	Bytes    int64         `json:"bytes"`   // of their bodies
	Oldest   time.Duration `json:"oldest"`  // nanoseconds that the oldest has waited
	Rate     float64       `json:"rate"`    // requests per second that leave it for a replica; 0: not measured
}

// RouteReport is what the router has learned of a route and class.
type RouteReport struct {
	Route     string        `json:"route,omitempty"`
	Pool      string        `json:"pool,omitempty"`
	Class     Class         `json:"class"`
	TokensOut float64       `json:"tokens_out"` // mean of one sequence
	Service   time.Duration `json:"service"`    // nanoseconds, mean; 0: not measured
}

// State takes a snapshot. It shares nothing with the router.
func (r *Router) State() State {
	s := State{At: r.now, W: r.cfg.Classification.W, RetriesLeft: r.budget.left(r.now, &r.cfg.Retry), Foreseen: r.foreseen.share()}
	byAddress := slices.SortedFunc(maps.Values(r.replicas), func(a, b *replica) int { return strings.Compare(a.address, b.address) })
	for _, name := range slices.Sorted(maps.Keys(r.pools)) {
		s.Pools = append(s.Pools, PoolReport{Name: name, Replicas: reportPool(name, byAddress, r.now)})
	}
	for _, rt := range r.sortedRoutes() {
		for _, q := range rt.queues() {
			if len(q.order) > 0 {
				s.Queues = append(s.Queues, q.report(r.now))
			}
			if len(q.order) > 0 && !q.batch() {
				s.Routes = append(s.Routes, r.learned(q))
			}
		}
	}
	return s
}

func reportPool(name string, replicas []*replica, now time.Time) []ReplicaReport {
	list := []ReplicaReport{}
	for _, rep := range replicas {
		if rep.pool.name == name {
			list = append(list, rep.report(now))
		}
	}
	return list
}

func (rep *replica) report(now time.Time) ReplicaReport {
	return ReplicaReport{
		Address: rep.address, State: rep.state, Listed: rep.listed,
		Cap: rep.hardCap(), Admits: rep.admits(), Active: rep.active, Closing: rep.closing,
		Target: rep.target(now), Stalled: rep.stalled(now), Unexplained: rep.readings.unexplained,
		Work: rep.work, Granted: rep.granted, Busy: rep.busy, Load: rep.load,
	}
}

func (q *queue) report(now time.Time) QueueReport {
	report := QueueReport{Route: q.route.name, Pool: q.route.pin, Class: q.class, Priority: q.priority, Waiting: q.waiting, Bytes: q.bytes}
	for _, l := range q.lanes {
		report.Oldest = max(report.Oldest, now.Sub(l.head.since))
	}
	if q.drain.interval.weight > 0 {
		report.Rate = 1 / max(q.drain.interval.value, 1e-6)
	}
	return report
}

func (r *Router) learned(q *queue) RouteReport {
	tokens := float64(usualAnswer)
	if f := r.lengths.predict(r.now, lengthKey{route: q.route.key}, -1); f.Depth > 0 {
		tokens = f.Mean
	}
	return RouteReport{
		Route: q.route.name, Pool: q.route.pin, Class: q.class, TokensOut: tokens,
		Service: time.Duration(q.service.value * float64(time.Second)),
	}
}
