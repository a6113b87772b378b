package chaos

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"
)

// condition is how a replica is, whoever asks.
type condition uint8

const (
	up       condition = iota
	refusing           // its port is closed
	hanging            // connections are neither accepted nor refused
	departs            // /health says 503
	sick               // /health says 500

	conditions
)

var conditionNames = [conditions]string{"up", "refusing", "hanging", "departs", "sick"}

// machine is a replica: it counts for itself what it works on.
type machine struct {
	w        *world
	address  string
	muteLoad bool // has no /metrics

	mu      sync.Mutex // guards the rest
	is      condition
	ends    map[*end]bool
	running int // sequences, by its own count
	jobs    map[*job]bool
}

func newMachine(w *world, address string) *machine {
	return &machine{w: w, address: address, ends: map[*end]bool{}, jobs: map[*job]bool{}}
}

// job is one attempt as the replica sees it.
type job struct {
	v       *visit
	plan    plan
	attempt int
	at      *machine
	slots   int
	from    int // words of a plain answer that the client has already
	came    time.Time
	expect  string // the bytes of its answer, as the client may see them
	enough  int    // how many of them say that the answer is whole; 0: it never does
	status  int

	// The world's mutex guards these.
	before  string // what the client has of another replica
	visible int    // bytes of expect that the client must have by now
	said    bool   // all of it has been written
	broke   bool   // it ended otherwise than well
	gone    bool   // its client went away, or the machine crashed

	// And the machine's these.
	left  bool // its client went away, and the engine hasn't noticed yet
	shown int  // readings of the metrics that have counted it since then
}

// dial is the network to the replicas.
func (w *world) dial(ctx context.Context, _, address string) (net.Conn, error) {
	m := w.machines["http://"+address]
	if m == nil {
		return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
	}
	switch m.condition() {
	case refusing:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case hanging:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	client, server := connection(at(2000), at(8000))
	m.mu.Lock()
	m.ends[server] = true
	m.mu.Unlock()
	w.all.Go(func() { m.serve(server) })
	return client, nil
}

// set changes the condition.
func (m *machine) set(is condition) {
	m.mu.Lock()
	m.is = is
	m.mu.Unlock()
}

func (m *machine) condition() condition {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.is
}

// crash resets all connections and forgets all work.
func (m *machine) crash() {
	m.mu.Lock()
	ends, jobs := slices.Collect(maps.Keys(m.ends)), slices.Collect(maps.Keys(m.jobs))
	clear(m.jobs)
	m.running, m.is = 0, refusing
	m.mu.Unlock()
	m.w.book(func() {
		for _, j := range jobs {
			j.gone = true
		}
		m.losesWords()
	})
	for _, e := range ends {
		e.reset()
	}
}

// losesWords: what it has said and a slow client hasn't taken yet is lost. The caller
// holds the world's mutex.
func (m *machine) losesWords() {
	for _, v := range m.w.visits {
		if j := v.last(); j != nil && j.at == m && !v.over {
			j.gone = true
		}
	}
}

func (m *machine) serve(c *end) {
	defer func() {
		c.Close()
		m.mu.Lock()
		delete(m.ends, c)
		m.mu.Unlock()
	}()
	in := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		if req.Method == http.MethodGet {
			m.probe(c, req.URL.Path)
			return
		}
		if !m.work(&line{end: c, in: in}, req, string(body)) {
			return
		}
	}
}

// probe answers health checks and scrapes.
func (m *machine) probe(c *end, path string) {
	m.mu.Lock()
	is, running := m.is, m.running
	for j := range m.jobs {
		if path == "/metrics" && j.left {
			j.shown++
		}
	}
	m.mu.Unlock()
	status, body := 200, "ok"
	switch {
	case path == "/metrics" && m.muteLoad:
		status = 404
	case path == "/metrics":
		body = fmt.Sprintf("vllm:num_requests_running{model_name=\"m\"} %d\nvllm:num_requests_waiting 0\nvllm:kv_cache_usage_perc 0.1\n", running)
	case is == departs:
		status = 503
	case is == sick:
		status = 500
	}
	fmt.Fprintf(c, "HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(body), body)
}

// begin books a request that has arrived.
func (m *machine) begin(v *visit, attempt int, body string) *job {
	j := &job{v: v, attempt: attempt, at: m, came: time.Now(), from: v.o.askedFrom(m.w.servedBy(m.address), body), plan: planOf(m.w.seed, v.o.n, attempt, m.w.isCalm())}
	if v.o.at.slots {
		j.slots = v.o.sequences
	}
	m.w.arrived(j, body)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs[j] = true
	m.running += j.slots
	if n := m.running - m.doubtful(); j.slots > 0 && n > m.w.capSince(m.address, v.sentAt()) {
		m.w.fault("%s: %d sequences are more than its cap%s", m.address, n, m.list())
	}
	return j
}

// list is what it works on. The caller holds the mutex.
func (m *machine) list() (list string) {
	for j := range m.jobs {
		list += fmt.Sprintf("\n%s-%d, %d sequences, left %t, shown %d, %+v", j.v.o.id(), j.attempt, j.slots, j.left, j.shown, j.plan)
	}
	return list
}

// doubtful is the sequences that were cancelled, still run, and were counted twice in
// the metrics since: of an answer on its way that the engine has finished, the gateway
// takes a cancelled sequence to be that one. The caller holds the mutex.
func (m *machine) doubtful() (n int) {
	for j := range m.jobs {
		if j.shown > 1 {
			n += j.slots
		}
	}
	return n
}

// finish takes a request out of the machine's own count.
func (m *machine) finish(j *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.jobs[j] {
		delete(m.jobs, j)
		m.running -= j.slots
	}
}

// abandon: the engine notices a departure with its next step.
func (m *machine) abandon(j *job) {
	m.w.book(func() { j.gone = true })
	m.mu.Lock()
	j.left = true
	m.mu.Unlock()
	m.w.all.Go(func() {
		<-time.After(j.plan.lingers + 1)
		m.finish(j)
	})
}

// count is the sequences that it works on, without the doubtful ones.
func (m *machine) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running - m.doubtful()
}

// report is list, for others.
func (m *machine) report() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list()
}
