package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// fault is one way for a replica to go wrong, and what must come of it.
type fault struct {
	name    string
	script  func(b *bench, d *dialect) gatewaytest.Script
	pad     int            // bytes of the request's body besides the prompt
	outcome router.Outcome // its row of the table
	status  int            // that the client sees
	hidden  string         // silent_failures_total{kind}; "": not counted there

	// Of a stream that began, and so has status 200.
	cut    bool // ends with an error event and without the last chunk; else as a whole
	theirs bool // the error event is the replica's own
	hold   int  // the replica waits until the client has so many events
}

// bench is a gateway with a replica that goes wrong, and beside it a stream from
// another replica, which must not be disturbed.
type bench struct {
	*rig
	bad    *gatewaytest.Replica
	series map[string]float64 // the newest scrape
	goOn   chan struct{}      // lets a replica that waits for the client go on
	beside *bystander
}

// newBench starts one. With silence the limits on it are short.
func newBench(t *testing.T, silence time.Duration) *bench {
	t.Helper()
	b := &bench{bad: gatewaytest.NewReplica(t), goOn: make(chan struct{}, 1), beside: newBystander(t)}
	b.rig = start(t, fmt.Sprintf(`
pools:
  p: {model: served, replicas: [%q], cap: {total: 4}, engine: {max_model_len: 8192}}
  q: {model: other, replicas: [%q], cap: {total: 4}, engine: {max_model_len: 8192}}
routes:
  m: {prefill: {pools: [{pool: p}], queue: {max_wait: 5s}}, decode: {pools: [{pool: p}], queue: {max_wait: 5s}}}
  good: {prefill: {pools: [{pool: q}]}, decode: {pools: [{pool: q}]}}
health: {interval: 1s, timeout: 5s, failures_open: 1000}
timeouts: {first_event: %v, first_event_per_4k: 0s, per_token_unstreamed: 0s, between_events: %v, release_after_cancel: 20ms}
`, b.bad.URL(), b.beside.URL(), silence, silence))
	b.beside.begin(t, b.data)
	return b
}

// TestFaults puts each fault to each endpoint, streamed and not.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		for _, stream := range []bool{true, false} {
			quick, slow := plainFaults, plainSilence
			if stream {
				quick, slow = streamFaults, streamSilence
			}
			t.Run(fmt.Sprintf("%s/stream=%t", d.name, stream), func(t *testing.T) {
				t.Parallel()
				newBench(t, 30*time.Second).run(t, d, stream, quick())
			})
			t.Run(fmt.Sprintf("%s/stream=%t/silence", d.name, stream), func(t *testing.T) {
				t.Parallel()
				newBench(t, 600*time.Millisecond).run(t, d, stream, slow())
			})
		}
	}
}

func (b *bench) run(t *testing.T, d *dialect, stream bool, faults []fault) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) { b.put(t, d, stream, f) })
		b.beside.goesOn(t)
	}
	b.beside.ends(t)
	b.quiet()
}

// put puts one fault to the gateway and checks all that it must lead to.
func (b *bench) put(t *testing.T, d *dialect, stream bool, f fault) {
	b.bad.Script(f.script(b, d)...)
	lines, hidden := b.lines(), hiddenIn(b.series)
	c := gatewaytest.Connect(t, b.data)
	if err := c.Send(gatewaytest.Request("POST", d.path, d.body(stream, f.pad))); err != nil {
		t.Fatal(err)
	}
	answer, err := c.ReadHead()
	if err != nil {
		t.Fatal(err)
	}
	var seen []gatewaytest.Event
	for range f.hold {
		event, _ := c.ReadEvent()
		seen = append(seen, event)
	}
	if f.hold > 0 {
		b.goOn <- struct{}{}
	}
	if answer.Status != f.status {
		body, _ := c.ReadBody()
		t.Fatalf("status %d, want %d: %s", answer.Status, f.status, body)
	}
	if stream && f.status == 200 {
		rest, ending := c.Timeline()
		checkStream(t, d, f, append(seen, rest...), ending)
	} else {
		checkWhole(t, d, f, answer, c)
	}
	b.checkLine(t, d, stream, f, lines)
	b.series = b.metrics()
	checkHidden(t, f, hidden, hiddenIn(b.series))
	b.quietButOne(t)
}

// checkStream: a complete stream ends properly; a cut one with an error event of
// its endpoint, with no [DONE], and without the last chunk.
func checkStream(t *testing.T, d *dialect, f fault, events []gatewaytest.Event, ending gatewaytest.Ending) {
	t.Helper()
	if !f.cut {
		if ending != gatewaytest.Whole {
			t.Errorf("ending %v, want whole", ending)
		}
		return
	}
	if ending != gatewaytest.Cut || len(events) == 0 {
		t.Fatalf("ending %v after %d events, want a cut", ending, len(events))
	}
	want := d.errorEvent
	if f.theirs {
		want = d.breaks
	}
	if last := events[len(events)-1].Raw; !strings.HasPrefix(last, want) {
		t.Errorf("the last event is %q, want %q", last, want)
	}
	for _, event := range events {
		if event.Data() == "[DONE]" {
			t.Error("a cut stream says [DONE]")
		}
	}
}

// checkWhole: a failure is told in the endpoint's own shape, and whether it can
// be sent again.
func checkWhole(t *testing.T, d *dialect, f fault, answer *gatewaytest.Response, c *gatewaytest.Client) {
	t.Helper()
	body, err := c.ReadBody()
	if err != nil {
		t.Errorf("the answer is cut: %v", err)
	}
	if f.status < 500 || f.outcome == router.Busy || f.outcome == router.ClientError {
		return
	}
	if got := answer.Header.Get("Content-Type"); got != "application/json" || !strings.HasPrefix(string(body), d.errorBody) {
		t.Errorf("the error is %s: %s", got, body)
	}
	if again := answer.Header.Get("x-should-retry"); again == "false" != f.outcome.MayHaveRun() {
		t.Errorf("x-should-retry is %q", again)
	}
}

func (b *bench) lines() int { return strings.Count(b.access.String(), "\n") }

// checkLine waits for the request's line in the access log.
func (b *bench) checkLine(t *testing.T, d *dialect, stream bool, f fault, before int) {
	t.Helper()
	eventually(t, "the request has its line in the access log", func() bool { return b.lines() > before })
	lines := strings.Split(strings.TrimSpace(b.access.String()), "\n")
	var line struct {
		Endpoint, Route, Pool, Outcome string
		Status, Attempts               int
		Stream                         bool
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil || len(lines) != before+1 {
		t.Fatalf("%d new lines: %v", len(lines)-before, err)
	}
	want := line
	want.Endpoint, want.Route, want.Pool, want.Outcome = d.name, "m", "p", f.outcome.String()
	want.Status, want.Attempts, want.Stream = f.status, 1, stream
	if line != want {
		t.Errorf("access log: got %+v, want %+v", line, want)
	}
}

// hiddenIn is silent_failures_total by kind.
func hiddenIn(series map[string]float64) map[string]float64 {
	kinds := make(map[string]float64)
	for name, n := range series {
		if kind, ok := strings.CutPrefix(name, "sluice_silent_failures_total{kind="); ok {
			kinds[strings.Trim(kind, "\"}")] = n
		}
	}
	return kinds
}

// checkHidden: the fault, and no other, was counted as hidden.
func checkHidden(t *testing.T, f fault, before, after map[string]float64) {
	t.Helper()
	for kind, n := range after {
		want := before[kind]
		if kind == f.hidden {
			want++
		}
		if n != want {
			t.Errorf("silent_failures_total of kind %s: %v, want %v", kind, n, want)
		}
	}
}

// quietButOne: after a fault nothing is held but the stream beside.
func (b *bench) quietButOne(t *testing.T) {
	t.Helper()
	received, finished := sum(b.series, "sluice_requests_received_total"), sum(b.series, "sluice_requests_finished_total")
	if inFlight := sum(b.series, "sluice_requests_in_flight"); received != finished+inFlight || inFlight != 1 {
		t.Errorf("received %v, finished %v, in flight %v, want 1", received, finished, inFlight)
	}
	eventually(t, "only the stream beside holds a slot", func() bool { return b.held() == 1 })
}
