package gateway

import (
	"sluice/gateway/account"
	"sluice/router"
)

// observe tells the router what a replica's metrics said, and the operator what that
// brought to light. Nobody is blamed for it, and nothing is cut.
func (g *Gateway) observe(address string, load router.Load) {
	found := g.gate.Observe(address, load)
	if found == (router.Finding{}) {
		return
	}
	log := g.log.With("replica", address, "running", load.Running, "waiting", load.Waiting)
	if found.Stands {
		g.account.Fault(account.Standing)
		log.Warn("the replica's engine stands still though it holds work; new work goes elsewhere until it moves")
	}
	if found.Moves {
		log.Info("the replica's engine moves again, or its work is gone")
	}
	if found.Orphans > 0 {
		g.account.Fault(account.Orphans)
		log.Warn("the replica goes on with work that nobody waits for any more", "sequences", found.Orphans)
	}
}
