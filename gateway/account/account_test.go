package account

import (
	"errors"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
