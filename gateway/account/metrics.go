package account

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/router"
)

// Bucket bounds, in the unit of their metric. A threshold that someone alerts or
// scales on should be one of them.
var (
	durationBuckets = []float64{.025, .05, .1, .25, .5, 1, 2, 2.5, 5, 7.5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600}
	ttftBuckets     = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 1.5, 2, 2.5, 5, 7.5, 10, 20, 40, 60, 80, 160, 300, 600}
	tpotBuckets     = []float64{.005, .01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5}
	queueBuckets    = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2, 2.5, 5, 10, 20, 30, 60, 120, 300, 600}
	overheadBuckets = []float64{1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, .01, .025, .05, .1}
	sizeBuckets     = []float64{16, 64, 128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 65536, 131072}
	estimateBuckets = []float64{-.9, -.5, -.3, -.25, -.1, -.05, 0, .05, .1, .25, .3, .5, 1, 2, 4}
)

// labels are those of a latency.
type labels struct {
	route string
	class router.Class
	pool  string
}

// latencies are the histograms of one route, class and pool, found once.
type latencies struct {
	duration, ttft, tpot, queue prometheus.Observer
	prompt, output              prometheus.Observer
	estimateError               prometheus.Observer
}

// metrics are those that count or measure one thing at a time. What must
// balance with something else is in the ledger.
type metrics struct {
	duration, ttft, tpot, queue *prometheus.HistogramVec
	prompt, output              *prometheus.HistogramVec
	overhead                    [phases]prometheus.Observer
	estimateError               *prometheus.HistogramVec
	tokens                      tokens
	silent                      *prometheus.CounterVec
	continued                   *prometheus.CounterVec
	accepts                     prometheus.Counter
	rejected                    *prometheus.CounterVec
	reloads                     *prometheus.CounterVec
	reloadOK, reloadAt          prometheus.Gauge

	all []prometheus.Collector
}

// tokens are the counters of tokens_total by type, and of answers without usage.
type tokens struct {
	input, cached, output, unknown prometheus.Counter
}

func newMetrics(b Build) *metrics {
	m := &metrics{}
	m.latency()
	m.traffic()
	m.operation(b)
	return m
}

func (m *metrics) latency() {
	by := []string{"route", "class", "pool"}
	m.duration = m.histogram("request_duration_seconds", "Arrival to the last byte, completed requests.", durationBuckets, by...)
	m.ttft = m.histogram("time_to_first_token_seconds", "Arrival to the first token-bearing event of a stream.", ttftBuckets, by...)
	m.tpot = m.histogram("time_per_output_token_seconds", "Time per token of one sequence after its first, streams.", tpotBuckets, by...)
	m.queue = m.histogram("queue_wait_seconds", "Wait in the gateway's own queue.", queueBuckets, by...)
	overhead := m.histogram("overhead_seconds", "The gateway's own time on a request, by phase.", overheadBuckets, "phase")
	for p := range phases {
		m.overhead[p] = overhead.WithLabelValues(p.String())
	}
}

func (m *metrics) traffic() {
	by := []string{"route", "class", "pool"}
	m.prompt = m.histogram("prompt_tokens", "Prompt tokens of a request, as its replica told.", sizeBuckets, by...)
	m.output = m.histogram("output_tokens", "Generated tokens of one sequence, as its replica told.", sizeBuckets, by...)
	m.estimateError = m.histogram("token_estimate_error_ratio", "(estimated - actual) / actual prompt tokens.", estimateBuckets, "pool")
	byType := m.counters("tokens_total", "Tokens that the replicas accounted for; cached_input is a part of input.", "type")
	m.tokens = tokens{
		input:  byType.WithLabelValues("input"),
		cached: byType.WithLabelValues("cached_input"),
		output: byType.WithLabelValues("output"),
	}
	m.tokens.unknown = m.counters("usage_missing_total", "Completed requests whose replica told no usage.").WithLabelValues()
	m.silent = m.counters("silent_failures_total", "Failures that would have looked like success or endless waiting.", "kind")
	for _, k := range faultNames {
		m.silent.WithLabelValues(k)
	}
	m.continued = m.counters("broken_answers_total", "Streamed answers that broke half-way where another replica may go on, by what became of them.", "result")
	for _, name := range continuationNames {
		m.continued.WithLabelValues(name)
	}
}

func (m *metrics) operation(b Build) {
	m.accepts = m.counters("accept_errors_total", "Failures to accept a client's connection.").WithLabelValues()
	m.rejected = m.counters("rejected_requests_total", "Requests that are in no account: they could not be read, or named nothing that is served.", "code")
	m.reloads = m.counters("config_reloads_total", "Attempts to load the configuration.", "result")
	m.reloads.WithLabelValues("success")
	m.reloads.WithLabelValues("failure")
	m.reloadOK = m.gauge("config_last_reload_success", "1 if the newest attempt to load the configuration succeeded.")
	m.reloadAt = m.gauge("config_last_reload_timestamp_seconds", "When the configuration in force was loaded.")
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sluice_build_info", Help: "1, labelled with the build that runs.",
	}, []string{"version", "revision", "goversion"})
	info.WithLabelValues(b.Version, b.Revision, runtime.Version()).Set(1)
	m.all = append(m.all, info)
}

// lostLines tells of lines that the access log could not take.
func (m *metrics) lostLines(lost func() uint64) {
	m.all = append(m.all, prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "sluice_access_log_lines_lost_total", Help: "Lines dropped because the access log was stuck or full.",
	}, func() float64 { return float64(lost()) }))
}

func (m *metrics) histogram(name, help string, buckets []float64, by ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "sluice_" + name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, by)
	m.all = append(m.all, v)
	return v
}

func (m *metrics) counters(name, help string, by ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_" + name, Help: help}, by)
	m.all = append(m.all, v)
	return v
}

func (m *metrics) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "sluice_" + name, Help: help})
	m.all = append(m.all, g)
	return g
}

func (m *metrics) register(r *prometheus.Registry) { r.MustRegister(m.all...) }

// latencies finds, or creates, the histograms with these labels.
func (m *metrics) latencies(l labels) *latencies {
	class := l.class.String()
	return &latencies{
		duration:      m.duration.WithLabelValues(l.route, class, l.pool),
		ttft:          m.ttft.WithLabelValues(l.route, class, l.pool),
		tpot:          m.tpot.WithLabelValues(l.route, class, l.pool),
		queue:         m.queue.WithLabelValues(l.route, class, l.pool),
		prompt:        m.prompt.WithLabelValues(l.route, class, l.pool),
		output:        m.output.WithLabelValues(l.route, class, l.pool),
		estimateError: m.estimateError.WithLabelValues(l.pool),
	}
}

// forget ends the series of removed routes and pools.
func (m *metrics) forget(routes, pools map[string]bool) {
	byRoute := []*prometheus.HistogramVec{m.duration, m.ttft, m.tpot, m.queue, m.prompt, m.output}
	for name := range routes {
		for _, v := range byRoute {
			v.DeletePartialMatch(prometheus.Labels{"route": name})
		}
	}
	for name := range pools {
		for _, v := range append(byRoute, m.estimateError) {
			v.DeletePartialMatch(prometheus.Labels{"pool": name})
		}
	}
}
