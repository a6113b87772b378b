package account

import (
	"maps"
	"slices"

	"sluice/router"
)

const classes = int(router.Other) + 1

// ledger holds the counts that must balance, and the names that may be labels.
// Account.mu guards it.
type ledger struct {
	outcomes int               // one more than the last outcome's value
	received map[string]uint64 // by endpoint
	inFlight [states]int64
	routes   map[string]*route
	pools    map[string]*pool
}

// route counts the finished requests of one route.
type route struct {
	live     bool     // in the configuration
	finished []uint64 // by class and outcome
}

// pool counts the attempts at one pool's replicas.
type pool struct {
	attempts []uint64 // by outcome
}

func newLedger(endpoints []string) ledger {
	l := ledger{
		outcomes: len(router.Outcomes()) + 1,
		received: map[string]uint64{none: 0},
		routes:   make(map[string]*route),
		pools:    make(map[string]*pool),
	}
	for _, name := range endpoints {
		l.received[name] = 0
	}
	return l
}

// clone is a copy that shares nothing with l.
func (l *ledger) clone() *ledger {
	c := &ledger{
		outcomes: l.outcomes, received: maps.Clone(l.received), inFlight: l.inFlight,
		routes: make(map[string]*route, len(l.routes)), pools: make(map[string]*pool, len(l.pools)),
	}
	for name, r := range l.routes {
		c.routes[name] = &route{live: r.live, finished: slices.Clone(r.finished)}
	}
	for name, p := range l.pools {
		c.pools[name] = &pool{attempts: slices.Clone(p.attempts)}
	}
	return c
}

// rename puts names in force and says which ended.
func (l *ledger) rename(routes, pools []string) (goneRoutes, gonePools map[string]bool) {
	goneRoutes, gonePools = make(map[string]bool), make(map[string]bool)
	for name, r := range l.routes {
		if r.live && name != none && !slices.Contains(routes, name) {
			r.live, goneRoutes[name] = false, true
		}
	}
	for name := range l.pools {
		if name != none && !slices.Contains(pools, name) {
			delete(l.pools, name)
			gonePools[name] = true
		}
	}
	for _, name := range append([]string{none}, routes...) {
		l.addRoute(name)
	}
	for _, name := range append([]string{none}, pools...) {
		if l.pools[name] == nil {
			l.pools[name] = &pool{attempts: make([]uint64, l.outcomes)}
		}
	}
	return goneRoutes, gonePools
}

func (l *ledger) addRoute(name string) {
	if l.routes[name] == nil {
		l.routes[name] = &route{finished: make([]uint64, classes*l.outcomes)}
	}
	l.routes[name].live = true
}

func (l *ledger) begin(endpoint string) (label string) {
	if _, known := l.received[endpoint]; !known {
		endpoint = none
	}
	l.received[endpoint]++
	l.inFlight[Reading]++
	return endpoint
}

func (l *ledger) move(from, to State) {
	l.inFlight[from]--
	l.inFlight[to]++
	l.mustBePlausible(from)
}

// finish counts a record and returns its route and pool as labels. A route that
// was removed while the request ran keeps its name here: its line in the ledger
// lives on.
func (l *ledger) finish(from State, r *Record) (routeLabel, poolLabel string) {
	routeLabel, poolLabel = r.Route, r.Pool
	if l.routes[routeLabel] == nil {
		routeLabel = none
	}
	if l.pools[poolLabel] == nil {
		poolLabel = none
	}
	l.routes[routeLabel].finished[int(r.Class)*l.outcomes+int(r.Outcome)]++
	l.inFlight[from]--
	l.mustBePlausible(from)
	return routeLabel, poolLabel
}

func (l *ledger) mustBePlausible(s State) {
	if l.inFlight[s] < 0 {
		panic("BUG: fewer than no requests are " + s.String())
	}
}

// inForce tells whether series with these labels may exist.
func (l *ledger) inForce(routeName, poolName string) bool {
	r := l.routes[routeName]
	return r != nil && r.live && l.pools[poolName] != nil
}

// attempt counts how one attempt at a pool's replica went.
func (l *ledger) attempt(poolName string, o router.Outcome) {
	p := l.pools[poolName]
	if p == nil {
		p = l.pools[none]
	}
	p.attempts[o]++
}
