package fleet

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"sluice/router"
)

// Run watches the members until ctx ends, and returns when all its goroutines
// have. It publishes the list once at the start and then at each change. Idle
// connections are closed at the end.
func (f *Fleet) Run(ctx context.Context) {
	defer f.hangUp()
	w := watchers{fleet: f, stop: make(map[*Member]context.CancelFunc)}
	defer w.group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := publisher{fleet: f}
	for {
		members, open := p.turn()
		w.follow(ctx, members)
		var tick <-chan time.Time
		if open {
			tick = time.After(breakerTick)
		}
		select {
		case <-ctx.Done():
			return
		case <-f.changed:
		case <-tick:
		}
	}
}

func (f *Fleet) hangUp() {
	for _, m := range f.list() {
		m.Client().CloseIdle()
	}
}

// watchers are the goroutines of Run: two for each member.
type watchers struct {
	fleet *Fleet
	stop  map[*Member]context.CancelFunc
	group sync.WaitGroup
}

// follow starts watching new members and stops watching those that left.
func (w *watchers) follow(ctx context.Context, members []*Member) {
	for m, stop := range w.stop {
		if !slices.Contains(members, m) {
			stop()
			delete(w.stop, m)
		}
	}
	for _, m := range members {
		if w.stop[m] != nil {
			continue
		}
		ctx, stop := context.WithCancel(ctx)
		w.stop[m] = stop
		w.group.Go(func() { w.fleet.check(ctx, m) })
		w.group.Go(func() { w.fleet.read(ctx, m) })
	}
}

// publisher remembers what was published last.
type publisher struct {
	fleet *Fleet
	last  []router.Replica // nil: nothing yet
}

// turn publishes the members as they are now, before or after a reload.
func (p *publisher) turn() (members []*Member, open bool) {
	p.fleet.turn.Lock()
	defer p.fleet.turn.Unlock()
	members = p.fleet.list()
	return members, p.publish(members)
}

// publish tells the router of the members if anything is new, and whether some
// breaker is open and has to be looked at again soon.
func (p *publisher) publish(members []*Member) (open bool) {
	list := make([]router.Replica, len(members))
	for i, m := range members {
		list[i] = router.Replica{Address: m.address, Pool: m.Pool(), State: m.State()}
		_, breaker := m.now()
		open = open || breaker.isOpen()
	}
	if p.last != nil && slices.Equal(list, p.last) {
		return open
	}
	p.log(list)
	p.last = list
	p.fleet.o.Publish(slices.Clone(list))
	return open
}

// log writes a line for each state that changed. A replica that is out of
// service against its will is a warning.
func (p *publisher) log(list []router.Replica) {
	before := make(map[string]router.ReplicaState, len(p.last))
	for _, r := range p.last {
		before[r.Address] = r.State
	}
	for _, r := range list {
		was, known := before[r.Address]
		if known && was == r.State {
			continue
		}
		level := slog.LevelInfo
		if r.State == router.Open || r.State == router.Unwell || known && r.State == router.Warming {
			level = slog.LevelWarn
		}
		p.fleet.o.Logger.Log(context.Background(), level, "replica changed",
			"pool", r.Pool, "replica", r.Address, "state", r.State.String())
	}
}
