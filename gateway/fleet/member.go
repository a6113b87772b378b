package fleet

import (
	"sync"
	"sync/atomic"
	"time"

	"sluice/config"
	"sluice/gateway/replica"
	"sluice/router"
)

// Member is one replica of the fleet. Its methods are safe for concurrent use.
type Member struct {
	address string        // the replica's base URL, its identity
	wake    func()        // its state may have changed; never blocks
	kick    chan struct{} // holds one: check its health now
	left    chan struct{} // holds two: it was left with work to drop, read its metrics soon, and again

	// alive is when real traffic last showed life, in Unix nanoseconds. It is
	// atomic because each event of each stream sets it.
	alive atomic.Int64

	mu      sync.Mutex // guards the rest
	spec    spec
	wire    *wire
	health  health
	checks  [results]uint64 // health checks by what they found
	breaker breaker
	broken  int // streams in a row that broke after their first event
}

func newMember(address string, h config.Health, wake func()) *Member {
	return &Member{
		address: address,
		wake:    wake,
		kick:    make(chan struct{}, 1),
		left:    make(chan struct{}, 2),
		spec:    spec{health: h},
		breaker: newBreaker(h, wake),
	}
}

// Client is the way to the replica. It may change at a reload: take it anew for
// each attempt.
func (m *Member) Client() *replica.Client {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wire.client
}

// Pool is the name of the replica's pool.
func (m *Member) Pool() string { s, _ := m.now(); return s.pool }

// Key is the replica's API key; "" when it has none.
func (m *Member) Key() string { s, _ := m.now(); return s.key }

// State is what the router may do with the replica.
func (m *Member) State() router.ReplicaState {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.health.state != router.Ready {
		return m.health.state
	}
	return m.breaker.state()
}

// Alive says that the replica has just sent something in real traffic. It costs
// a few nanoseconds: call it for each read of a stream.
func (m *Member) Alive(now time.Time) { m.alive.Store(now.UnixNano()) }

func (m *Member) now() (spec, breaker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spec, m.breaker
}

func (m *Member) counts() [results]uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.checks
}

// note takes the result of a health check.
func (m *Member) note(now time.Time, r result) {
	m.mu.Lock()
	m.checks[r]++
	before := m.health.state
	reborn := m.health.note(now, time.Unix(0, m.alive.Load()), r)
	if reborn {
		m.breaker, m.broken = newBreaker(m.spec.health, m.wake), 0
	}
	changed := m.health.state != before
	m.mu.Unlock()
	if changed || reborn {
		m.wake()
	}
}

// disconnect takes the replica out of service until its next good health check,
// which comes soon.
func (m *Member) disconnect() {
	m.mu.Lock()
	m.health.disconnect()
	m.mu.Unlock()
	m.wake()
	signal(m.kick)
}

// signal leaves word in a channel, unless it is full of it.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// needsWire tells whether these settings call for other connections.
func (m *Member) needsWire(d dialSpec) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wire == nil || m.spec.dial != d
}

// update takes over what a configuration says. w is nil when the connections
// may stay.
func (m *Member) update(s spec, w *wire) {
	m.mu.Lock()
	old := m.wire
	if s.health.FailuresOpen != m.spec.health.FailuresOpen || s.health.OpenFor != m.spec.health.OpenFor {
		m.breaker, m.broken = newBreaker(s.health, m.wake), 0
	}
	m.spec = s
	if w != nil {
		m.wire = w
	}
	m.mu.Unlock()
	if w != nil && old != nil {
		old.client.CloseIdle()
	}
}
