package account

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice/router"
)

var (
	receivedDesc = prometheus.NewDesc("sluice_requests_received_total",
		"Requests whose headers arrived; equals those finished and in flight.", []string{"endpoint"}, nil)
	finishedDesc = prometheus.NewDesc("sluice_requests_finished_total",
		"Requests by how they ended.", []string{"route", "class", "outcome"}, nil)
	inFlightDesc = prometheus.NewDesc("sluice_requests_in_flight",
		"Requests not yet finished, by what they are doing.", []string{"state"}, nil)
	attemptsDesc = prometheus.NewDesc("sluice_attempts_total",
		"Attempts at replicas by how they ended; above the requests by the retries.", []string{"pool", "outcome"}, nil)
)

// ledgerCollector reads all of the ledger under its lock, so that it balances
// in every scrape.
type ledgerCollector struct{ a *Account }

// Describe implements prometheus.Collector.
func (c ledgerCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{receivedDesc, finishedDesc, inFlightDesc, attemptsDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Every request takes the lock, so a
// scrape holds it only to copy the numbers.
func (c ledgerCollector) Collect(ch chan<- prometheus.Metric) {
	c.a.mu.Lock()
	l := c.a.ledger.clone()
	c.a.mu.Unlock()
	for endpoint, n := range l.received {
		ch <- count(receivedDesc, n, endpoint)
	}
	for s, n := range l.inFlight {
		ch <- prometheus.MustNewConstMetric(inFlightDesc, prometheus.GaugeValue, float64(n), State(s).String())
	}
	for name, r := range l.routes {
		l.collectFinished(ch, name, r)
	}
	for name, p := range l.pools {
		for _, o := range router.Outcomes() {
			if n := p.attempts[o]; n > 0 {
				ch <- count(attemptsDesc, n, name, o.String())
			}
		}
	}
}

// collectFinished shows zeros where a configured route's requests may end, so
// that the first failure is an increase and not a new series, which increase()
// and rate() would not see. Everywhere else only what has happened is shown.
func (l *ledger) collectFinished(ch chan<- prometheus.Metric, name string, r *route) {
	for class := router.ClassNone; int(class) < classes; class++ {
		likely := r.live && name != none && (class == router.Prefill || class == router.Decode)
		for _, o := range router.Outcomes() {
			if n := r.finished[int(class)*l.outcomes+int(o)]; n > 0 || likely {
				ch <- count(finishedDesc, n, name, class.String(), o.String())
			}
		}
	}
}

func count(d *prometheus.Desc, n uint64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}
