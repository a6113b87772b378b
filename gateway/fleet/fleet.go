package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"sluice/config"
	"sluice/router"
)

// breakerTick is how often open breakers are looked at: gobreaker turns half
// open only when somebody asks.
const breakerTick = 100 * time.Millisecond

// Options are what a Fleet is built from.
type Options struct {
	// Publish gets the whole list of replicas, sorted by pool and address, when
	// it or a state has changed. Only Run calls it, one call at a time.
	Publish func([]router.Replica)
	// Observe gets what a replica's metrics said. Calls may be concurrent, and
	// one may come for a replica that has just been removed.
	Observe func(address string, load router.Load)
	Logger  *slog.Logger // changes of state; nil: none
	// Dial replaces the network, in tests. Nil: TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Fleet is the replicas of the configuration in force.
type Fleet struct {
	o       Options
	changed chan struct{} // holds one: something may have to be published
	turn    sync.Mutex    // held from making a list until it is published: none overtakes a newer one

	mu      sync.Mutex // guards members
	members map[string]*Member
}

// New makes an empty fleet. Apply fills it, Run keeps it.
func New(o Options) *Fleet {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Fleet{o: o, changed: make(chan struct{}, 1), members: make(map[string]*Member)}
}

// Member finds a replica by its address; nil when it has left the fleet, which
// can happen between a grant and this call. Then the request goes elsewhere.
func (f *Fleet) Member(address string) *Member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members[address]
}

// Breakers calls each with the state of every member's breaker: closed,
// half_open or open.
func (f *Fleet) Breakers(each func(pool, address, state string)) {
	for _, m := range f.list() {
		spec, breaker := m.now()
		each(spec.pool, m.address, breaker.label())
	}
}

// Checks calls each with the number of every member's health checks that ended
// ok, refused, unavailable or failed.
func (f *Fleet) Checks(each func(pool, address, result string, n uint64)) {
	for _, m := range f.list() {
		checks := m.counts()
		for r, n := range checks {
			each(m.Pool(), m.address, result(r).String(), n)
		}
	}
}

// Apply takes over the replicas of a configuration, all or nothing: on an error
// (an unreadable key or CA file, a bad URL) nothing has changed. Run publishes
// the new list. Apply must not be called twice at once.
func (f *Fleet) Apply(cfg *config.Config) error {
	return f.ApplyWith(cfg, func([]router.Replica) {})
}

// ApplyWith is Apply for a fleet at work. Once nothing can fail any more it calls
// commit with the new list, before it changes any member: policy and replicas can
// be put in force in one step, and no request is sent to a member that has gone.
// No older list is published after it.
func (f *Fleet) ApplyWith(cfg *config.Config, commit func([]router.Replica)) error {
	specs, err := specsOf(cfg)
	if err != nil {
		return err
	}
	next, err := f.prepare(specs)
	if err != nil {
		return err
	}
	f.turn.Lock()
	defer f.turn.Unlock()
	commit(listed(next))
	members := make(map[string]*Member, len(next))
	for address, c := range next {
		c.member.update(c.spec, c.wire)
		members[address] = c.member
	}
	f.retire(f.swap(members))
	f.wake()
	return nil
}

// listed is the list that the changes lead to, sorted by pool and address.
func listed(next map[string]change) []router.Replica {
	list := make([]router.Replica, 0, len(next))
	for address, c := range next {
		list = append(list, router.Replica{Address: address, Pool: c.spec.pool, State: c.member.State()})
	}
	slices.SortFunc(list, func(a, b router.Replica) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Address, b.Address))
	})
	return list
}

func (f *Fleet) swap(members map[string]*Member) (before map[string]*Member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, f.members = f.members, members
	return before
}

// change is what Apply will do to one member.
type change struct {
	member *Member
	spec   spec
	wire   *wire // nil: keeps the one it has
}

// prepare does all that can fail, without changing any member in force.
func (f *Fleet) prepare(specs map[string]spec) (map[string]change, error) {
	next := make(map[string]change, len(specs))
	var problems []error
	for address, s := range specs {
		c := change{member: f.Member(address), spec: s}
		if c.member == nil {
			c.member = newMember(address, s.health, f.wake)
		}
		if c.member.needsWire(s.dial) {
			w, err := newWire(address, s.dial, f.o.Dial)
			if err != nil {
				problems = append(problems, fmt.Errorf("pools.%s.replicas: %w", s.pool, err))
			}
			c.wire = w
		}
		next[address] = c
	}
	return next, errors.Join(problems...)
}

// retire parts with the members that are no longer listed. Connections that
// are in use close themselves when they have been idle for the usual time.
func (f *Fleet) retire(before map[string]*Member) {
	for address, m := range before {
		if f.Member(address) == nil {
			m.Client().CloseIdle()
		}
	}
}

// wake makes Run look again. It never blocks: gobreaker calls it under its lock.
func (f *Fleet) wake() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// list is the members, sorted by pool and address.
func (f *Fleet) list() []*Member {
	f.mu.Lock()
	members := make([]*Member, 0, len(f.members))
	for _, m := range f.members {
		members = append(members, m)
	}
	f.mu.Unlock()
	slices.SortFunc(members, func(a, b *Member) int {
		return cmp.Or(cmp.Compare(a.Pool(), b.Pool()), cmp.Compare(a.address, b.address))
	})
	return members
}
