package account

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"sluice/router"
)

// at is a moment of a test, in seconds from its start.
func at(seconds float64) time.Time {
	return time.Unix(1_700_000_000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

func newTestAccount(o Options) *Account {
	o.Endpoints = []string{"chat_completions"}
	o.Routes = append(o.Routes, "gemma-3")
	o.Pools = append(o.Pools, "large", "small")
	return New(o)
}

// gather scrapes, by metric name.
func gather(t *testing.T, a *Account) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := a.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]*dto.MetricFamily)
	for _, f := range families {
		byName[f.GetName()] = f
	}
	return byName
}

// series counts a family's series that have all these label values.
func series(f *dto.MetricFamily, values ...string) []*dto.Metric {
	var found []*dto.Metric
	for _, m := range f.GetMetric() {
		has := func(v string) bool {
			return slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == v })
		}
		if !slices.ContainsFunc(values, func(v string) bool { return !has(v) }) {
			found = append(found, m)
		}
	}
	return found
}

// sum adds up the counters, gauges, or histogram counts of such series.
func sum(f *dto.MetricFamily, values ...string) float64 {
	total := 0.0
	for _, m := range series(f, values...) {
		total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return total
}

// imbalance is 0 when the ledger of a scrape balances.
func imbalance(scrape map[string]*dto.MetricFamily) float64 {
	return sum(scrape["sluice_requests_received_total"]) -
		sum(scrape["sluice_requests_finished_total"]) - sum(scrape["sluice_requests_in_flight"])
}

func TestLedgerBalancesInEveryScrape(t *testing.T) {
	a := newTestAccount(Options{})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() { live(a, 500) })
	}
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	for scrapes := 0; ; scrapes++ {
		if d := imbalance(gather(t, a)); d != 0 {
			t.Fatalf("scrape %d: received - finished - in flight = %v, want 0", scrapes, d)
		}
		select {
		case <-done:
			end := gather(t, a)
			if n := sum(end["sluice_requests_in_flight"]); n != 0 {
				t.Fatalf("%v requests in flight at the end, want 0", n)
			}
			if n := sum(end["sluice_requests_finished_total"]); n != 8*500 {
				t.Fatalf("%v requests finished, want %d", n, 8*500)
			}
			return
		default:
		}
	}
}

// live is the life of n requests that end in all sorts of ways, while reloads
// take routes and pools away and bring them back.
func live(a *Account, n int) {
	all := router.Outcomes()
	for i := range n {
		e := a.Begin("chat_completions", at(0))
		for s := range State(rand.IntN(int(states))) {
			e.Set(s)
		}
		e.Finish(at(1), Record{
			Route: "gemma-3", Pool: "large", Class: router.Decode, Attempts: 1,
			Outcome: all[rand.IntN(len(all))],
		})
		if i%50 == 0 {
			a.Reconfigure([]string{"other"}, nil)
			a.Reconfigure([]string{"gemma-3"}, []string{"large"})
		}
	}
}

func TestMisuseOfAnEntryPanics(t *testing.T) {
	f := func(name string, misuse func(e *Entry)) {
		t.Helper()
		defer func() {
			if text, _ := recover().(string); !strings.HasPrefix(text, "BUG: ") {
				t.Errorf("%s: recovered %q, want a BUG", name, text)
			}
		}()
		misuse(newTestAccount(Options{}).Begin("chat_completions", at(0)))
	}
	record := Record{Outcome: router.Completed}
	f("finished twice", func(e *Entry) { e.Finish(at(1), record); e.Finish(at(1), record) })
	f("moved when finished", func(e *Entry) { e.Finish(at(1), record); e.Set(Streaming) })
	f("finished undecided", func(e *Entry) { e.Finish(at(1), Record{}) })
}

func TestMisuseLeavesTheAccountUsable(t *testing.T) {
	a := newTestAccount(Options{})
	e := a.Begin("chat_completions", at(0))
	e.Finish(at(1), Record{Outcome: router.Completed})
	func() {
		defer func() { _ = recover() }()
		e.Finish(at(1), Record{Outcome: router.Lost})
	}()
	if d := imbalance(gather(t, a)); d != 0 {
		t.Errorf("the ledger is off by %v after a caught misuse", d)
	}
}

func TestStatesAreAPartition(t *testing.T) {
	a := newTestAccount(Options{})
	e := a.Begin("chat_completions", at(0))
	for _, s := range []State{Reading, Queued, Waiting, Waiting, Streaming} {
		e.Set(s)
		inFlight := gather(t, a)["sluice_requests_in_flight"]
		if sum(inFlight) != 1 || sum(inFlight, s.String()) != 1 {
			t.Errorf("in %s: %v in flight, %v of them there, want 1 and 1", s, sum(inFlight), sum(inFlight, s.String()))
		}
	}
}

// TestStrangersMintNoSeries has names that clients make up.
func TestStrangersMintNoSeries(t *testing.T) {
	a := newTestAccount(Options{})
	finish := func(name string) {
		e := a.Begin(name, at(0))
		e.Finish(at(1), Record{
			Route: name, Pool: name, Tenant: name, RequestID: name, Replica: name, Detail: name,
			Class: router.Decode, Outcome: router.Completed, Stream: true, FirstToken: at(.5), Attempts: 1,
			UsageKnown: true, TokensIn: 10, TokensInEstimate: 9, TokensOut: 3, LastToken: at(.9),
		})
		a.Attempt(name, router.Busy)
	}
	finish("a stranger")
	before := countSeries(gather(t, a))
	for i := range 10_000 {
		finish(fmt.Sprintf("model-%d \"\n\xff%s", i, strings.Repeat("x", i%4096)))
	}
	scrape := gather(t, a)
	if after := countSeries(scrape); after != before {
		t.Errorf("%d series before the strangers, %d after", before, after)
	}
	if n := sum(scrape["sluice_requests_finished_total"], none, "completed"); n != 10_001 {
		t.Errorf("%v requests of strangers counted as none, want 10001", n)
	}
}

func countSeries(scrape map[string]*dto.MetricFamily) int {
	n := 0
	for name, f := range scrape {
		if strings.HasPrefix(name, "sluice_") {
			n += len(f.GetMetric())
		}
	}
	return n
}

// TestSeriesBudget bounds what a fleet of a likely size costs Prometheus, all
// outcomes, classes and pools used.
func TestSeriesBudget(t *testing.T) {
	a := newTestAccount(Options{Routes: []string{"gemma-3-12b", "gemma-3-27b"}})
	for _, route := range []string{"gemma-3", "gemma-3-12b", "gemma-3-27b"} {
		for _, class := range []router.Class{router.Prefill, router.Decode} {
			for _, pool := range []string{"large", "small"} {
				for _, o := range router.Outcomes() {
					a.Begin("chat_completions", at(0)).Finish(at(1), Record{Route: route, Class: class, Pool: pool, Outcome: o})
				}
			}
		}
	}
	if n := countSeries(gather(t, a)); n > 300 {
		t.Errorf("%d series for 3 routes and 2 pools, budget 300", n)
	}
}

func TestMetricsFollowPrometheusConventions(t *testing.T) {
	a := newTestAccount(fullOptions())
	a.Begin("chat_completions", at(0)).Finish(at(1), Record{Route: "gemma-3", Outcome: router.Completed})
	problems, err := testutil.GatherAndLint(a.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "sluice_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestFixedNames(t *testing.T) {
	a := newTestAccount(fullOptions())
	a.Begin("chat_completions", at(0)).Finish(at(9), Record{
		Route: "gemma-3", Pool: "large", Class: router.Decode, Outcome: router.Completed, Stream: true, Attempts: 1,
		FirstToken: at(1), LastToken: at(9), UsageKnown: true, TokensIn: 10, TokensInEstimate: 9, TokensOut: 3,
	})
	scrape := gather(t, a)
	for _, name := range []string{
		"requests_received_total", "requests_finished_total", "requests_in_flight", "request_duration_seconds",
		"time_to_first_token_seconds", "time_per_output_token_seconds", "queue_wait_seconds", "overhead_seconds",
		"replica_sequences", "replica_cap", "replica_state", "breaker_state", "silent_failures_total",
		"token_estimate_error_ratio", "tokens_total", "build_info", "config_reloads_total",
		"config_last_reload_success", "config_last_reload_timestamp_seconds",
	} {
		if scrape["sluice_"+name] == nil {
			t.Errorf("sluice_%s isn't exposed", name)
		}
	}
}

// fullOptions have something to show for every gauge.
func fullOptions() Options {
	return Options{
		State: func() router.State {
			return router.State{
				Pools: []router.PoolReport{{Name: "large", Replicas: []router.ReplicaReport{{
					Address: "http://a", State: router.Trial, Cap: 64, Load: router.Load{At: at(0), Running: 5, Waiting: 2, KVUsage: .5},
					Active: router.Counts{Prefill: 1, Decode: 2}, Closing: router.Counts{Decode: 1},
				}}}},
				Queues: []router.QueueReport{{Route: "gemma-3", Class: router.Decode, Waiting: 3, Bytes: 99, Oldest: time.Second}},
			}
		},
		Breakers: func(each func(pool, replica, state string)) { each("large", "http://a", "half_open") },
		Checks:   func(each func(pool, replica, result string, n uint64)) { each("large", "http://a", "ok", 7) },
	}
}

func TestGaugesShowTheSnapshot(t *testing.T) {
	scrape := gather(t, newTestAccount(fullOptions()))
	f := func(name string, want float64, labels ...string) {
		t.Helper()
		if got := sum(scrape["sluice_"+name], labels...); got != want {
			t.Errorf("%s%v: got %v, want %v", name, labels, got, want)
		}
	}
	f("replica_sequences", 1, "prefill", "active")
	f("replica_sequences", 2, "decode", "active")
	f("replica_sequences", 1, "closing")
	f("replica_cap", 64, "large", "http://a")
	f("replica_state", 1, "trial")
	f("replica_state", 1) // one state, all others 0
	f("replica_engine_sequences", 5, "running")
	f("replica_kv_usage_ratio", .5)
	f("breaker_state", 1, "half_open")
	f("breaker_state", 1)
	f("replica_checks_total", 7, "ok")
	f("queue_requests", 3, "gemma-3", "decode", none)
	f("queue_bytes", 99)
	f("queue_oldest_seconds", 1)
}

func TestReconfigureEndsSeriesOfRemovedNames(t *testing.T) {
	a := newTestAccount(Options{})
	finish := func(route, pool string) {
		e := a.Begin("chat_completions", at(0))
		e.Finish(at(1), Record{Route: route, Pool: pool, Class: router.Decode, Outcome: router.Completed, Attempts: 1})
		a.Attempt(pool, router.Completed)
	}
	a.Reconfigure([]string{"stays", "goes"}, []string{"large", "small"})
	finish("stays", "large")
	finish("stays", "small")
	finish("goes", "large")
	running := a.Begin("chat_completions", at(0))
	a.Reconfigure([]string{"stays"}, []string{"large"})
	running.Finish(at(1), Record{Route: "goes", Pool: "large", Class: router.Decode, Outcome: router.Completed})

	scrape := gather(t, a)
	f := func(name string, want int, labels ...string) {
		t.Helper()
		if got := len(series(scrape["sluice_"+name], labels...)); got != want {
			t.Errorf("%s%v: got %d series, want %d", name, labels, got, want)
		}
	}
	f("request_duration_seconds", 1, "stays", "large")
	f("request_duration_seconds", 0, "goes")
	f("request_duration_seconds", 0, "small")
	f("attempts_total", 0, "small")
	f("attempts_total", 1, "large")
	if n := sum(scrape["sluice_requests_finished_total"], "goes"); n != 2 {
		t.Errorf("%v requests of the removed route in the ledger, want 2: it must balance", n)
	}
	if d := imbalance(scrape); d != 0 {
		t.Errorf("the ledger is off by %v", d)
	}
}

func TestReloads(t *testing.T) {
	a := newTestAccount(Options{})
	a.Reloaded(at(0), nil)
	a.Reloaded(at(5), errors.New("line 3"))
	scrape := gather(t, a)
	if got := sum(scrape["sluice_config_last_reload_success"]); got != 0 {
		t.Errorf("last reload: got %v, want 0", got)
	}
	if got, want := sum(scrape["sluice_config_last_reload_timestamp_seconds"]), float64(at(0).Unix()); got != want {
		t.Errorf("loaded at %v, want %v: that configuration is in force", got, want)
	}
}

func TestHandlerServesTextAndOpenMetrics(t *testing.T) {
	a := newTestAccount(Options{Build: Build{Version: "1.2.3", Revision: "abc"}})
	for accept, want := range map[string]string{
		"": `sluice_build_info{goversion=`,
		"application/openmetrics-text;version=1.0.0": "# EOF",
	} {
		req, rec := httptest.NewRequest("GET", "/metrics", nil), httptest.NewRecorder()
		req.Header.Set("Accept", accept)
		a.Handler().ServeHTTP(rec, req)
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("Accept %q: %q is missing", accept, want)
		}
	}
}

func BenchmarkFinish(b *testing.B) {
	a := New(Options{Endpoints: []string{"chat_completions"}, Routes: []string{"gemma-3"}, Pools: []string{"large"}})
	r := Record{
		Route: "gemma-3", Pool: "large", Class: router.Decode, Outcome: router.Completed, Attempts: 1, Stream: true,
		FirstToken: at(1), LastToken: at(2), UsageKnown: true, TokensIn: 1000, TokensInEstimate: 990, TokensOut: 100, Sequences: 1,
	}
	b.ReportAllocs()
	for b.Loop() {
		e := a.Begin("chat_completions", at(0))
		e.Set(Queued)
		e.Set(Waiting)
		e.Set(Streaming)
		e.Finish(at(2), r)
	}
}
