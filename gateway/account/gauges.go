package account

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/router"
)

var (
	sequencesDesc = prometheus.NewDesc("sluice_replica_sequences",
		"Sequences that a replica holds for this gateway.", []string{"pool", "replica", "class", "state"}, nil)
	capDesc = prometheus.NewDesc("sluice_replica_cap",
		"The most sequences a replica may hold.", []string{"pool", "replica"}, nil)
	targetDesc = prometheus.NewDesc("sluice_replica_target",
		"Sequences up to which a replica keeps the SLOs of a class now, as learned.", []string{"pool", "replica", "class"}, nil)
	stalledDesc = prometheus.NewDesc("sluice_replica_stalled",
		"1 while work lies on a replica far longer than foreseen with no sign of life.", []string{"pool", "replica"}, nil)
	ageDesc = prometheus.NewDesc("sluice_replica_metrics_age_seconds",
		"Age of what a replica's own metrics last said.", []string{"pool", "replica"}, nil)
	foreseenDesc = prometheus.NewDesc("sluice_output_length_foreseen_ratio",
		"Part of the answers that were no longer than their predicted 90th percentile.", nil, nil)
	stateDesc = prometheus.NewDesc("sluice_replica_state",
		"1 for the state that a replica is in.", []string{"pool", "replica", "state"}, nil)
	engineDesc = prometheus.NewDesc("sluice_replica_engine_sequences",
		"Sequences in a replica by its own metrics, from all its clients.", []string{"pool", "replica", "state"}, nil)
	unexplainedDesc = prometheus.NewDesc("sluice_replica_unexplained_sequences",
		"Sequences in a replica by its own metrics, beyond those that this gateway may have had there.", []string{"pool", "replica"}, nil)
	kvDesc = prometheus.NewDesc("sluice_replica_kv_usage_ratio",
		"Part of a replica's KV cache in use, by its own metrics.", []string{"pool", "replica"}, nil)
	breakerDesc = prometheus.NewDesc("sluice_breaker_state",
		"1 for the state that a replica's breaker is in.", []string{"pool", "replica", "state"}, nil)
	checksDesc = prometheus.NewDesc("sluice_replica_checks_total",
		"Health checks of a replica by what they found.", []string{"pool", "replica", "result"}, nil)
	queueDesc = prometheus.NewDesc("sluice_queue_requests",
		"Requests that wait for a replica.", []string{"route", "pool", "class", "priority"}, nil)
	queueBytesDesc = prometheus.NewDesc("sluice_queue_bytes",
		"Bodies of the requests that wait.", []string{"route", "pool", "class", "priority"}, nil)
	queueOldestDesc = prometheus.NewDesc("sluice_queue_oldest_seconds",
		"How long the oldest waiting request has waited.", []string{"route", "pool", "class", "priority"}, nil)
)

// gauges shows the replicas and queues as they are at the scrape: nothing is
// kept here, so a series dies with the thing it describes.
type gauges struct {
	state    func() router.State
	breakers func(each func(pool, replica, state string))
	checks   func(each func(pool, replica, result string, n uint64))
}

// Describe implements prometheus.Collector.
func (g gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{sequencesDesc, capDesc, targetDesc, stalledDesc, ageDesc, foreseenDesc, stateDesc, engineDesc, unexplainedDesc, kvDesc,
		breakerDesc, checksDesc, queueDesc, queueBytesDesc, queueOldestDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (g gauges) Collect(ch chan<- prometheus.Metric) {
	show := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	if g.breakers != nil {
		g.breakers(func(pool, replica, state string) {
			for _, s := range []string{"closed", "half_open", "open"} {
				show(breakerDesc, one(s == state), pool, replica, s)
			}
		})
	}
	if g.checks != nil {
		g.checks(func(pool, replica, result string, n uint64) {
			ch <- count(checksDesc, n, pool, replica, result)
		})
	}
	if g.state != nil {
		showRouter(show, g.state())
	}
}

type shower func(d *prometheus.Desc, value float64, labels ...string)

func showRouter(show shower, s router.State) {
	for _, p := range s.Pools {
		for _, r := range p.Replicas {
			showReplica(show, p.Name, &r, s.At)
		}
	}
	show(foreseenDesc, s.Foreseen)
	for _, q := range s.Queues {
		by := []string{orNone(q.Route), orNone(q.Pool), q.Class.String(), q.Priority.String()}
		show(queueDesc, float64(q.Waiting), by...)
		show(queueBytesDesc, float64(q.Bytes), by...)
		show(queueOldestDesc, q.Oldest.Seconds(), by...)
	}
}

func showReplica(show shower, pool string, r *router.ReplicaReport, now time.Time) {
	show(sequencesDesc, float64(r.Active.Prefill), pool, r.Address, "prefill", "active")
	show(sequencesDesc, float64(r.Active.Decode), pool, r.Address, "decode", "active")
	show(sequencesDesc, float64(r.Closing.Prefill), pool, r.Address, "prefill", "closing")
	show(sequencesDesc, float64(r.Closing.Decode), pool, r.Address, "decode", "closing")
	show(capDesc, float64(r.Cap), pool, r.Address)
	show(targetDesc, float64(r.Target.Prefill), pool, r.Address, "prefill")
	show(targetDesc, float64(r.Target.Decode), pool, r.Address, "decode")
	show(stalledDesc, one(r.Stalled), pool, r.Address)
	for _, s := range replicaStates() {
		show(stateDesc, one(s == r.State), pool, r.Address, s.String())
	}
	if !r.Load.At.IsZero() {
		show(ageDesc, max(now.Sub(r.Load.At).Seconds(), 0), pool, r.Address)
		show(engineDesc, float64(r.Load.Running), pool, r.Address, "running")
		show(engineDesc, float64(r.Load.Waiting), pool, r.Address, "waiting")
		show(unexplainedDesc, float64(r.Unexplained), pool, r.Address)
		show(kvDesc, r.Load.KVUsage, pool, r.Address)
	}
}

func replicaStates() []router.ReplicaState {
	return slices.Collect(func(yield func(router.ReplicaState) bool) {
		for s := router.Warming; s <= router.Unwell && yield(s); s++ {
		}
	})
}

func orNone(name string) string {
	if name == "" {
		return none
	}
	return name
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
