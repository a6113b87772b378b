package account

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sluice/router"
)

// none stands for every name that isn't in the configuration.
const none = "none"

// Options are what an Account is built from.
type Options struct {
	Endpoints []string // names that Begin may be told; a closed list
	Routes    []string // names of the configuration, implicit routes included
	Pools     []string
	AccessLog io.Writer // gets JSON lines from Run's goroutine; nil: none are written
	Build     Build

	// State is read at each scrape for the gauges; nil: no such gauges.
	State func() router.State
	// Breakers calls each for every replica with its breaker's state: closed,
	// half_open or open; nil: no such gauges.
	Breakers func(each func(pool, replica, state string))
	// Checks calls each for every replica with the number of its health checks
	// by result, a closed list; nil: no such counters.
	Checks func(each func(pool, replica, result string, n uint64))
}

// Build says which build runs.
type Build struct {
	Version  string
	Revision string
}

// Account counts, logs and measures. All its methods are safe for concurrent use.
type Account struct {
	registry *prometheus.Registry
	lines    *Lines       // the access log's; nil: none
	access   slog.Handler // writes to lines; nil: none
	metrics  *metrics

	mu     sync.Mutex // guards the ledger and the latency series
	ledger ledger
	series map[labels]*latencies
}

// New builds an account with its metrics, those of the Go runtime and those of
// the process.
func New(o Options) *Account {
	a := &Account{
		registry: prometheus.NewRegistry(),
		metrics:  newMetrics(o.Build),
		ledger:   newLedger(o.Endpoints),
		series:   make(map[labels]*latencies),
	}
	if o.AccessLog != nil {
		a.lines = NewLines(o.AccessLog)
		a.access = slog.NewJSONHandler(a.lines, nil)
		a.metrics.lostLines(a.lines.Lost)
	}
	a.Reconfigure(o.Routes, o.Pools)
	a.metrics.register(a.registry)
	a.registry.MustRegister(
		ledgerCollector{a},
		gauges{state: o.State, breakers: o.Breakers, checks: o.Checks},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return a
}

// Run writes the access log until ctx ends.
func (a *Account) Run(ctx context.Context) {
	if a.lines != nil {
		a.lines.Run(ctx)
	}
}

// FlushLog writes what has gathered of the access log.
func (a *Account) FlushLog() {
	if a.lines != nil {
		a.lines.Flush()
	}
}

// Handler serves the metrics: the text format, OpenMetrics or protobuf (which
// alone carries native histograms), as the scraper asks.
func (a *Account) Handler() http.Handler {
	return promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{
		Registry:          a.registry,
		ErrorHandling:     promhttp.ContinueOnError, // one bad gauge must not hide the rest
		EnableOpenMetrics: true,
	})
}

// Reconfigure says which routes and pools there are from now on. Series of names
// that continue go on counting; those of the others end.
func (a *Account) Reconfigure(routes, pools []string) {
	a.mu.Lock()
	goneRoutes, gonePools := a.ledger.rename(routes, pools)
	for l := range a.series {
		if goneRoutes[l.route] || gonePools[l.pool] {
			delete(a.series, l)
		}
	}
	a.mu.Unlock()
	a.metrics.forget(goneRoutes, gonePools)
}

// latencies finds the histograms of a request; nil when its route or pool has
// been removed since it began. It is called with the lock held.
func (a *Account) latencies(l labels) *latencies {
	s := a.series[l]
	if s == nil && a.ledger.inForce(l.route, l.pool) {
		s = a.metrics.latencies(l)
		a.series[l] = s
	}
	return s
}

// since is a duration in seconds, never negative: clocks of events that arrive
// together may be read in another order.
func since(from, to time.Time) float64 { return max(0, to.Sub(from).Seconds()) }
