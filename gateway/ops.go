package gateway

import (
	"fmt"
	"net/http"

	"sluice/router"
)

// opsHandler serves what machines ask: metrics, liveness, readiness. It is
// net/http and a listener of its own, so that a scrape never competes with
// streams and a full data listener still answers its probes.
func (g *Gateway) opsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", g.account.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := g.notReady(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}

// notReady says why load balancers should send nothing here; "" when they may.
func (g *Gateway) notReady() string {
	if g.leaving.Load() {
		return "draining: the gateway is shutting down"
	}
	for _, pool := range g.gate.State().Pools {
		for _, r := range pool.Replicas {
			if r.State == router.Ready || r.State == router.Trial {
				return ""
			}
		}
	}
	return "no replica is ready"
}
