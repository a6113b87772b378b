package account

import (
	"time"

	"sluice/router"
)

// Phase is a part of the gateway's own work on a request.
type Phase uint8

// The phases, in their order.
const (
	PhaseInspect Phase = iota // the body's facts and the estimate
	PhaseDecide               // the router's decision, where it came at once
	PhaseFinish               // giving back, learning, counting, logging

	phases // how many there are
)

var phaseNames = [phases]string{PhaseInspect: "inspect", PhaseDecide: "decide", PhaseFinish: "finish"}

// String is the phase's metric label.
func (p Phase) String() string { return phaseNames[p] }

// Overhead measures the gateway's own work in one phase of one request.
func (a *Account) Overhead(p Phase, took time.Duration) {
	a.metrics.overhead[p].Observe(took.Seconds())
}

// Attempt counts how one attempt at a replica of a pool went. A request has as
// many attempts as replicas tried, and only its last decides its outcome.
func (a *Account) Attempt(pool string, o router.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ledger.attempt(pool, o)
}

// AcceptFailed counts a connection that the data listener could not accept, or
// turned away.
func (a *Account) AcceptFailed() { a.metrics.accepts.Inc() }

// Rejected counts a request that has no line in the ledger: it could not be read, or
// named nothing that is served. code is the error code that the client was told, one
// of a closed list.
func (a *Account) Rejected(code string) { a.metrics.rejected.WithLabelValues(code).Inc() }

// Reloaded tells how an attempt to load the configuration went; the first load
// counts.
func (a *Account) Reloaded(now time.Time, err error) {
	m := a.metrics
	if err != nil {
		m.reloads.WithLabelValues("failure").Inc()
		m.reloadOK.Set(0)
		return
	}
	m.reloads.WithLabelValues("success").Inc()
	m.reloadOK.Set(1)
	m.reloadAt.Set(float64(now.UnixMilli()) / 1000)
}
