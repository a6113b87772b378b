package field

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

const (
	chatPath = "/v1/chat/completions"
	// streamed and whole are the usual requests.
	streamed = `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}`
	whole    = `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":false}`
)

// rig is a running gateway under test and what it was like before the test.
type rig struct {
	*process
	file   string // its configuration
	scrape *http.Client
	before series // when it had just become ready
}

const loopbackDoors = "listeners: {data: {address: \"127.0.0.1:0\"}, ops: {address: \"127.0.0.1:0\"}, control: {address: \"127.0.0.1:0\"}}\n"

// start runs a gateway on a configuration (its listeners are loopback ones,
// unless it names some) and waits until so many replicas are ready.
func start(t testing.TB, policy string, ready int, env ...string) *rig {
	t.Helper()
	r := &rig{file: filepath.Join(t.TempDir(), "sluice.yaml"), scrape: &http.Client{Transport: &http.Transport{}, Timeout: gt.Patience}}
	t.Cleanup(r.scrape.CloseIdleConnections)
	r.write(t, policy)
	r.process = launch(t, r.file, env...)
	eventually(t, fmt.Sprintf("%d replicas are ready", ready), func() bool { return r.ready() >= ready })
	r.before = r.metrics()
	return r
}

// write replaces the configuration's file in one step.
func (r *rig) write(t testing.TB, policy string) {
	t.Helper()
	if !strings.Contains(policy, "listeners:") {
		policy = loopbackDoors + policy
	}
	if err := os.WriteFile(r.file+".new", []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.file+".new", r.file); err != nil {
		t.Fatal(err)
	}
}

// reload puts another configuration in force.
func (r *rig) reload(policy string) {
	r.t.Helper()
	const done = `sluice_config_reloads_total{result="success"}`
	before := r.metrics()[done]
	r.write(r.t, policy)
	r.signal(syscall.SIGHUP)
	eventually(r.t, "the new configuration is in force", func() bool { return r.metrics()[done] > before })
}

// post sends a chat request and reads the whole answer; from any goroutine.
func (r *rig) post(body string, lines ...string) *gt.Response {
	return gt.Post(r.t, r.data, chatPath, body, lines...)
}

// send opens a connection, sends a chat request and leaves the answer to be read.
// It is closed at the end of the test; r.zero wants it closed before.
func (r *rig) send(body string, lines ...string) *gt.Client {
	r.t.Helper()
	c := gt.Connect(r.t, r.data)
	if err := c.Send(gt.Request("POST", chatPath, body, lines...)); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// series is one scrape: each series, as written, and its value.
type series map[string]float64

func (r *rig) metrics() series {
	r.t.Helper()
	answer, err := r.scrape.Get("http://" + r.ops + "/metrics")
	if err != nil {
		r.t.Fatalf("scrape: %v\n%s", err, tail(r.log.String()))
	}
	defer answer.Body.Close()
	all := make(series)
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if at < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		value, err := strconv.ParseFloat(lines.Text()[at+1:], 64)
		if err != nil {
			r.t.Fatalf("metrics line %q: %v", lines.Text(), err)
		}
		all[lines.Text()[:at]] = value
	}
	return all
}

// sum adds up all series of a name whose labels contain each part.
func (s series) sum(name string, parts ...string) (total float64) {
next:
	for id, v := range s {
		if id != name && !strings.HasPrefix(id, name+"{") {
			continue
		}
		for _, part := range parts {
			if !strings.Contains(id, part) {
				continue next
			}
		}
		total += v
	}
	return total
}

// outcomes is how many requests ended so; attempts, how many attempts at replicas.
func (r *rig) outcomes(o router.Outcome) int {
	r.t.Helper()
	return int(r.metrics().sum("sluice_requests_finished_total", `outcome="`+o.String()+`"`))
}

func (r *rig) attempts(o router.Outcome) int {
	r.t.Helper()
	return int(r.metrics().sum("sluice_attempts_total", `outcome="`+o.String()+`"`))
}

// ended checks how requests ended: the outcomes told, so many of each, and no other.
func (r *rig) ended(want map[router.Outcome]int) {
	r.t.Helper()
	m := r.metrics()
	for _, o := range router.Outcomes() {
		if n := int(m.sum("sluice_requests_finished_total", `outcome="`+o.String()+`"`)); n != want[o] {
			r.t.Errorf("%d requests ended as %s, want %d", n, o, want[o])
		}
	}
}

// hidden is silent_failures_total of a kind.
func (r *rig) hidden(kind string) int {
	r.t.Helper()
	return int(r.metrics().sum("sluice_silent_failures_total", `kind="`+kind+`"`))
}

// ready is how many replicas are ready; held the sequences they hold for us,
// those whose cancel isn't confirmed yet included; waiting who waits for room.
func (r *rig) ready() int {
	r.t.Helper()
	return int(r.metrics().sum("sluice_replica_state", `state="ready"`))
}

func (r *rig) held() int { r.t.Helper(); return int(r.metrics().sum("sluice_replica_sequences")) }

func (r *rig) waiting() int { r.t.Helper(); return int(r.metrics().sum("sluice_queue_requests")) }

// stateOf and breakerOf are the states of a replica and of its breaker; "" when
// the gateway doesn't know it.
func (r *rig) stateOf(rep *gt.Replica) string {
	r.t.Helper()
	return r.metrics().label("sluice_replica_state", rep.URL())
}

func (r *rig) breakerOf(rep *gt.Replica) string {
	r.t.Helper()
	return r.metrics().label("sluice_breaker_state", rep.URL())
}

func (s series) label(name, replica string) string {
	for id, n := range s {
		if n == 1 && strings.HasPrefix(id, name+"{") && strings.Contains(id, strconv.Quote(replica)) {
			_, state, _ := strings.Cut(id, `state="`)
			state, _, _ = strings.Cut(state, `"`)
			return state
		}
	}
	return ""
}

// line is what a line of the access log says, in part.
type line struct {
	ID, Endpoint, Route, Class, Pool, Replica, Outcome, Detail string
	Status, Attempts                                           int
	Estimate                                                   int `json:"tokens_in_estimate"`
	Stream                                                     bool
	TokensIn                                                   *int     `json:"tokens_in"`
	TokensOut                                                  *int     `json:"tokens_out"`
	TTFT                                                       *float64 `json:"ttft_ms"`
}

// lines is the access log, once as many lines are there as requests have ended.
func (r *rig) lines() []line {
	r.t.Helper()
	want := int(r.metrics().sum("sluice_requests_finished_total"))
	eventually(r.t, "the access log has a line for each request", func() bool {
		return strings.Count(r.access.String(), "\n") >= want
	})
	var all []line
	for text := range strings.Lines(r.access.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			r.t.Fatalf("access log %q: %v", text, err)
		}
		all = append(all, l)
	}
	return all
}

// quiet waits until nothing is held, waits or runs any more, and checks the ledger.
func (r *rig) quiet() {
	r.t.Helper()
	eventually(r.t, "everything is given back", func() bool {
		m := r.metrics()
		return m.sum("sluice_replica_sequences") == 0 && m.sum("sluice_requests_in_flight") == 0 && m.sum("sluice_queue_requests") == 0
	})
	m := r.metrics()
	if received, finished := m.sum("sluice_requests_received_total"), m.sum("sluice_requests_finished_total"); received != finished {
		r.t.Errorf("the ledger does not balance: received %v, finished %v", received, finished)
	}
	if n := len(r.lines()); n != int(m.sum("sluice_requests_finished_total")) {
		r.t.Errorf("%d lines in the access log for %v requests", n, m.sum("sluice_requests_finished_total"))
	}
}

// zero is the end of a test, when its clients have gone: after at most 3 s all is
// given back, no more goroutines and descriptors are there than before, and each of the replicas
// told can again be filled to its cap (2 on the bench), and no further.
func (r *rig) zero(replicas ...*gt.Replica) {
	r.t.Helper()
	r.quiet()
	for _, name := range []string{"go_goroutines", "process_open_fds"} {
		r.backTo(name, r.before[name])
	}
	r.fill(replicas)
}

// backTo waits up to 3 s for a gauge to be no more than 5 above what it was. Less is no
// leak: what was there before may have included checks of replicas under way.
func (r *rig) backTo(name string, before float64) {
	r.t.Helper()
	var now float64
	for late := time.Now().Add(3 * time.Second); time.Now().Before(late); {
		if now = r.metrics()[name]; now <= before+5 {
			return
		}
	}
	r.t.Errorf("%s is %v, want at most 5 above the %v before", name, now, before)
}

// fill holds as many requests in each replica as its cap allows, all at once.
func (r *rig) fill(replicas []*gt.Replica) {
	r.t.Helper()
	goOn := make(chan struct{})
	n := 0
	for _, rep := range replicas {
		rep.Script(gt.Wait(goOn), gt.Send(gt.ChatAnswer("a", "stop", 1, 1)))
		n += int(r.metrics().sum("sluice_replica_cap", strconv.Quote(rep.URL())))
	}
	answers := make(chan *gt.Response, n)
	for range n {
		go func() { answers <- r.post(whole) }()
	}
	for _, rep := range replicas {
		rep.WaitRunning(int(r.metrics().sum("sluice_replica_cap", strconv.Quote(rep.URL()))))
	}
	close(goOn)
	statuses := make([]int, n)
	for i := range n {
		statuses[i] = (<-answers).Status
	}
	if slices.ContainsFunc(statuses, func(s int) bool { return s != 200 }) {
		r.t.Errorf("afterwards the replicas, full to their caps, answer %v", statuses)
	}
}
