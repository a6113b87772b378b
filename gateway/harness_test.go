package gateway

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/config"
	"sluice/gateway/gatewaytest"
	"sluice/gateway/vllmsim"
	"sluice/router"
)

// rig is a running gateway under test, on loopback sockets.
type rig struct {
	t       testing.TB
	g       *Gateway
	data    string // host:port
	ops     string
	control string
	access  *accessLog
	log     *lockedBuffer
	stop    context.CancelFunc // SIGTERM
	hurry   chan struct{}      // closed: the second signal
	done    chan error         // Serve's result
}

// lockedBuffer collects a log.
type lockedBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// accessLog is the lines of all requests that have ended.
type accessLog struct {
	lockedBuffer
	flush func()
}

// String waits for no lines that are still being gathered.
func (l *accessLog) String() string {
	l.flush()
	return l.lockedBuffer.String()
}

const loopbackDoors = "listeners: {data: {address: \"127.0.0.1:0\"}, ops: {address: \"127.0.0.1:0\"}, control: {address: \"127.0.0.1:0\"}}\n"

// start runs a gateway on a configuration without listeners, and waits until as
// many replicas are ready as the configuration has (or as many as are given).
func start(t testing.TB, policy string, ready ...int) *rig {
	t.Helper()
	return startWith(t, Options{Config: parse(t, loopbackDoors+policy)}, ready...)
}

func parse(t testing.TB, yaml string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("test.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func startWith(t testing.TB, o Options, ready ...int) *rig {
	t.Helper()
	r := &rig{t: t, access: &accessLog{}, log: &lockedBuffer{}, hurry: make(chan struct{}), done: make(chan error, 1)}
	o.Log, o.AccessLog = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})), r.access
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.access.flush = g.account.FlushLog
	ls, err := Listen(o.Config.Listeners)
	if err != nil {
		t.Fatal(err)
	}
	r.g, r.data, r.ops, r.control = g, ls.Data.Addr().String(), ls.Ops.Addr().String(), ls.Control.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.done <- g.Serve(ctx, ls, r.hurry) }()
	t.Cleanup(r.end)
	want := 0
	for _, p := range o.Config.Pools {
		want += len(p.Replicas)
	}
	if len(ready) > 0 {
		want = ready[0]
	}
	eventually(t, fmt.Sprintf("%d replicas are ready", want), func() bool { return r.ready() >= want })
	return r
}

// end stops the gateway without grace.
func (r *rig) end() {
	r.stop()
	select {
	case <-r.hurry:
	default:
		close(r.hurry)
	}
	select {
	case err := <-r.done:
		if err != nil {
			r.t.Errorf("serve: %v", err)
		}
		r.done <- nil
	case <-time.After(gatewaytest.Patience):
		r.t.Error("the gateway does not stop")
	}
}

func (r *rig) ready() int {
	n := 0
	r.eachReplica(func(s router.ReplicaReport) {
		if s.State == router.Ready {
			n++
		}
	})
	return n
}

// held is the sequences that the router holds, active and closing.
func (r *rig) held() int {
	n := 0
	r.eachReplica(func(s router.ReplicaReport) { n += s.Active.Total() + s.Closing.Total() })
	return n
}

func (r *rig) eachReplica(see func(router.ReplicaReport)) {
	for _, p := range r.g.gate.State().Pools {
		for _, s := range p.Replicas {
			see(s)
		}
	}
}

// eventually waits until a condition holds; what doesn't within Patience fails.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	within(t, gatewaytest.Patience, what, holds)
}

// within waits until something holds, for so long.
func within(t testing.TB, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// post sends a chat request for the route "m" and reads the whole answer.
func (r *rig) post(body string, lines ...string) *gatewaytest.Response {
	r.t.Helper()
	return gatewaytest.Post(r.t, r.data, "/v1/chat/completions", body, lines...)
}

// metrics scrapes once: series, as written, to value.
func (r *rig) metrics() map[string]float64 {
	r.t.Helper()
	resp, err := http.Get("http://" + r.ops + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	series := make(map[string]float64)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if at < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		value, err := strconv.ParseFloat(lines.Text()[at+1:], 64)
		if err != nil {
			r.t.Fatalf("metrics line %q: %v", lines.Text(), err)
		}
		series[lines.Text()[:at]] = value
	}
	return series
}

// sum adds up all series of a name whose labels contain each part.
func sum(series map[string]float64, name string, parts ...string) float64 {
	total := 0.0
next:
	for s, v := range series {
		if s != name && !strings.HasPrefix(s, name+"{") {
			continue
		}
		for _, part := range parts {
			if !strings.Contains(s, part) {
				continue next
			}
		}
		total += v
	}
	return total
}

// outcomes is how many requests ended so.
func (r *rig) outcomes(o router.Outcome) int {
	return int(sum(r.metrics(), "sluice_requests_finished_total", `outcome="`+o.String()+`"`))
}

// balanced checks that received = Σ finished + Σ in flight in one scrape.
func (r *rig) balanced() {
	r.t.Helper()
	m := r.metrics()
	received, finished := sum(m, "sluice_requests_received_total"), sum(m, "sluice_requests_finished_total")
	if inFlight := sum(m, "sluice_requests_in_flight"); received != finished+inFlight {
		r.t.Errorf("the ledger does not balance: received %v, finished %v, in flight %v", received, finished, inFlight)
	}
}

// quiet waits until nothing is held, waits or runs any more, and checks the ledger.
func (r *rig) quiet() {
	r.t.Helper()
	eventually(r.t, "everything is given back", func() bool {
		return r.held() == 0 && sum(r.metrics(), "sluice_requests_in_flight") == 0
	})
	r.balanced()
}

// onePool is a policy with one pool, "p", of scripted replicas, and the route "m".
func onePool(total int, replicas ...*gatewaytest.Replica) string {
	urls := make([]string, len(replicas))
	for i, rep := range replicas {
		urls[i] = "http://" + rep.Address()
	}
	return poolPolicyYAML(total, urls...)
}

func poolPolicyYAML(total int, urls ...string) string {
	return fmt.Sprintf(`
pools:
  p: {model: served, replicas: [%s], cap: {total: %d}, engine: {max_model_len: 8192}}
routes:
  m:
    prefill: {pools: [{pool: p}], queue: {max_waiting: 1000, max_wait: 30s}}
    decode: {pools: [{pool: p}], queue: {max_waiting: 1000, max_wait: 30s}}
health: {interval: 20ms, timeout: 1s, failures_open: 3, open_for: 200ms}
`, strings.Join(urls, ", "), total)
}

// simulate runs a simulated replica and gives its URL.
func simulate(t testing.TB, o vllmsim.Options) (*vllmsim.Server, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s := vllmsim.New(o)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Shutdown(ctx) // what is left is aborted
		<-served
	})
	return s, "http://" + ln.Addr().String()
}
