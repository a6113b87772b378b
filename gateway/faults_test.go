package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// fault is one way for a replica to go wrong, and what must come of it.
type fault struct {
	name    string
	script  func(tr *trial) gt.Script
	pad     int            // bytes of the request's body besides the prompt
	outcome router.Outcome // its row of the table
	status  int            // that the client sees
	hidden  string         // silent_failures_total{kind}; "": not counted there

	// Of a stream that began, and so has status 200.
	cut    bool // ends with an error event and without the last chunk; else as a whole
	theirs bool // the error event is the replica's own
	hold   int  // the replica waits until the client has so many events
}

// trial is one fault put to one endpoint.
type trial struct {
	fault
	*dialect
	stream bool
	id     string // x-request-id
	lane   *lane
	goOn   chan struct{} // lets a replica that waits for the client go on

	answer *gt.Response // what the client got: head and body
	events []gt.Event   // or head and events
	err    error
}

// lane is a route, a pool and a replica, for one trial at a time.
type lane struct {
	name    string
	replica *gt.Replica
}

// trials are all of them, those that take long first.
func trials() []*trial {
	var long, short []*trial
	add := func(to []*trial, d *dialect, stream bool, faults []fault) []*trial {
		for _, f := range faults {
			to = append(to, &trial{fault: f, dialect: d, stream: stream, goOn: make(chan struct{})})
		}
		return to
	}
	for _, d := range dialects() {
		long = add(long, d, true, streamSilence())
		long = add(long, d, false, plainSilence())
		short = add(short, d, true, streamFaults())
		short = add(short, d, false, plainFaults())
	}
	return append(long, short...)
}

// lanes makes n lanes, and the policy for them and the stream beside.
func lanes(t *testing.T, n int, beside *bystander) (free chan *lane, policy string) {
	var pools, routes strings.Builder
	add := func(name string, rep *gt.Replica) {
		fmt.Fprintf(&pools, "  %s: {model: served-%s, replicas: [%q], cap: {total: 4}, engine: {max_model_len: 8192}}\n", name, name, rep.URL())
		side := fmt.Sprintf("{pools: [{pool: %s}], queue: {max_wait: 30s}}", name)
		fmt.Fprintf(&routes, "  %s: {prefill: %s, decode: %s}\n", name, side, side)
	}
	free = make(chan *lane, n)
	for i := range n {
		l := &lane{name: fmt.Sprint("lane-", i), replica: gt.NewReplica(t)}
		add(l.name, l.replica)
		free <- l
	}
	add("good", beside.Replica)
	return free, "pools:\n" + pools.String() + "routes:\n" + routes.String() + `
health: {interval: 1m, timeout: 10s, failures_open: 1000}
timeouts: {connect: 10s, first_event: 3s, first_event_per_4k: 0s, per_token_unstreamed: 0s, between_events: 3s, release_after_cancel: 20ms}
`
}

// TestFaults puts each fault to each endpoint, streamed and not, all on one
// gateway: none may disturb another. It isn't parallel, as limits on silence
// don't get along with a crowd in the same process.
func TestFaults(t *testing.T) {
	all, beside := trials(), newBystander(t)
	free, policy := lanes(t, 56, beside)
	r := start(t, policy)
	beside.begin(t, r.data)
	runAll(t, r.data, all, free)
	beside.goesOn(t)
	r.quietBut(1)
	lines := r.lines(t)
	hidden := make(map[string]float64)
	for _, tr := range all {
		hidden[tr.hidden]++
		t.Run(fmt.Sprintf("%s/stream=%t/%s", tr.dialect.name, tr.stream, tr.fault.name), func(t *testing.T) {
			tr.check(t)
			tr.checkLine(t, lines[tr.id])
		})
	}
	for kind, n := range hiddenIn(r.metrics()) {
		if n != hidden[kind] {
			t.Errorf("silent_failures_total of kind %s: %v, want %v", kind, n, hidden[kind])
		}
	}
	beside.ends(t)
	r.quiet()
}

// runAll sends all requests, each when a lane is free, and takes the answers.
func runAll(t *testing.T, address string, all []*trial, free chan *lane) {
	var clients sync.WaitGroup
	for i, tr := range all {
		tr.id = fmt.Sprint("trial-", i)
		tr.lane = <-free
		tr.lane.replica.Script(tr.script(tr)...)
		c := gt.Connect(t, address)
		clients.Go(func() {
			tr.hear(c)
			free <- tr.lane
		})
	}
	clients.Wait()
}

// hear sends the request and takes what comes back.
func (tr *trial) hear(c *gt.Client) {
	if tr.err = c.Send(gt.Request("POST", tr.path, tr.body(tr.lane.name, tr.stream, tr.pad), "x-request-id: "+tr.id)); tr.err != nil {
		return
	}
	if tr.answer, tr.err = c.ReadHead(); tr.err != nil {
		return
	}
	if !tr.stream || tr.answer.Status != 200 {
		tr.answer.Body, tr.answer.Err = c.ReadBody()
		return
	}
	for range tr.hold {
		event, _ := c.ReadEvent() // an error comes again with the rest
		tr.events = append(tr.events, event)
	}
	close(tr.goOn)
	rest, ending := c.Timeline()
	tr.events, tr.answer.Ending = append(tr.events, rest...), ending
}

func (tr *trial) check(t *testing.T) {
	switch {
	case tr.err != nil:
		t.Fatal(tr.err)
	case tr.answer.Status != tr.status:
		t.Fatalf("status %d, want %d: %s", tr.answer.Status, tr.status, tr.answer.Body)
	case tr.events == nil:
		tr.checkWhole(t)
	case tr.cut:
		tr.checkCut(t)
	case tr.answer.Ending != gt.Whole:
		t.Errorf("ending %v, want whole", tr.answer.Ending)
	}
}

// checkCut: a cut stream ends with an error event of its endpoint, with nothing that
// closes an answer in good order, and without the last chunk.
func (tr *trial) checkCut(t *testing.T) {
	if tr.answer.Ending != gt.Cut {
		t.Errorf("ending %v, want a cut", tr.answer.Ending)
	}
	want := tr.errorEvent
	if tr.theirs {
		want = tr.breaks
	}
	if last := tr.events[len(tr.events)-1].Raw; !strings.HasPrefix(last, want) {
		t.Errorf("the last event is %q, want %q", last, want)
	}
	for _, event := range tr.events {
		if strings.Contains(event.Raw, tr.closing) {
			t.Errorf("a cut stream closes as a whole one does: %q", event.Raw)
		}
	}
}

// checkWhole: a failure is told in the endpoint's own shape, and whether it can
// be sent again.
func (tr *trial) checkWhole(t *testing.T) {
	if tr.answer.Err != nil {
		t.Errorf("the answer is cut: %v", tr.answer.Err)
	}
	if tr.status < 500 || tr.outcome == router.Busy || tr.outcome == router.ClientError {
		return
	}
	if got := tr.answer.Header.Get("Content-Type"); got != "application/json" || !strings.HasPrefix(string(tr.answer.Body), tr.errorBody) {
		t.Errorf("the error is %s: %s", got, tr.answer.Body)
	}
	if again := tr.answer.Header.Get("x-should-retry"); again == "false" != tr.outcome.MayHaveRun() {
		t.Errorf("x-should-retry is %q", again)
	}
}

// accessLine is what a line of the access log says, in part.
type accessLine struct {
	ID, Endpoint, Route, Pool, Outcome string
	Status, Attempts                   int
	Stream                             bool
}

// lines is the access log by request id.
func (r *rig) lines(t *testing.T) map[string][]accessLine {
	t.Helper()
	byID := make(map[string][]accessLine)
	for text := range strings.Lines(r.access.String()) {
		var line accessLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		byID[line.ID] = append(byID[line.ID], line)
	}
	return byID
}

func (tr *trial) checkLine(t *testing.T, lines []accessLine) {
	want := accessLine{tr.id, tr.dialect.name, tr.lane.name, tr.lane.name, tr.outcome.String(), tr.status, 1, tr.stream}
	if len(lines) != 1 || lines[0] != want {
		t.Errorf("access log: got %+v, want %+v", lines, want)
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

// quietBut waits until nothing is held but by n requests, and checks the ledger.
func (r *rig) quietBut(n int) {
	r.t.Helper()
	eventually(r.t, "everything else is given back", func() bool {
		return r.held() == n && sum(r.metrics(), "sluice_requests_in_flight") == float64(n)
	})
	r.balanced()
}
