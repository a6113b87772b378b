package gateway

import (
	"io"
	"net/http"

	"sluice/router"
)

// opsHandler serves what machines ask: metrics, liveness, readiness. It is
// net/http and a listener of its own, so that a scrape never competes with
// streams and a full data listener still answers its probes.
func (g *Gateway) opsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", g.account.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := g.notReady(); why != "" {
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		plain(w, "ready\n")
	})
	return mux
}

func plain(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // a connection that broke has nobody to tell
}

// notReady says why load balancers should send nothing here; "" when they may.
// A gateway without a ready replica is alive all the same: only readiness says
// no, so that nobody restarts it for its replicas' sake.
func (g *Gateway) notReady() string {
	if g.door.leaving.Load() {
		return "draining: the gateway is shutting down"
	}
	for _, pool := range g.gate.State().Pools {
		for _, r := range pool.Replicas {
			if r.State == router.Ready || r.State == router.Trial {
				return ""
			}
		}
	}
	return "no replica is ready: GET /api/state on the control listener lists their states"
}
