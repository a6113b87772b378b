package router

import (
	"time"

	"sluice/config"
)

// Router decides. It is not safe for concurrent use: callers hold one lock.
type Router struct {
	cfg *config.Config
}

// New returns a Router with the policy of cfg and no replicas: SetFleet brings them.
func New(now time.Time, cfg *config.Config) *Router { return &Router{cfg: cfg} }

func (r *Router) Offer(now time.Time, req Request) Decision            { panic("BUG: stub") }
func (r *Router) Release(now time.Time, l Lease, o Outcome) []Decision { panic("BUG: stub") }
func (r *Router) Elsewhere(now time.Time, l Lease, o Outcome) (Decision, []Decision) {
	panic("BUG: stub")
}
func (r *Router) Cancel(now time.Time, t Ticket) []Decision                   { panic("BUG: stub") }
func (r *Router) Observe(now time.Time, address string, load Load) []Decision { panic("BUG: stub") }
func (r *Router) SetFleet(now time.Time, fleet []Replica) []Decision          { panic("BUG: stub") }
func (r *Router) ApplyConfig(now time.Time, cfg *config.Config) []Decision    { panic("BUG: stub") }
func (r *Router) Learn(now time.Time, a Answer)                               { panic("BUG: stub") }
func (r *Router) Tick(now time.Time) []Decision                               { panic("BUG: stub") }
func (r *Router) Next() time.Time                                             { panic("BUG: stub") }
func (r *Router) State() State                                                { panic("BUG: stub") }
func (g Grant) Explain() string                                               { panic("BUG: stub") }
func Advise(cfg *config.Config) []string                                      { panic("BUG: stub") }
