package account

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"sluice/router"
)

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
