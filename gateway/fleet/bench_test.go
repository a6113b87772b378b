package fleet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sluice/config"
	"sluice/router"
)

// mood is how a replica of the bench answers its health check.
type mood int

const (
	up      mood = 200
	leaving mood = 503
	broken  mood = 500
	closed  mood = 0 // nothing listens
	hung    mood = 1 // accepts, then silence
)

// bench is a fleet over an in-memory network, in a synctest bubble.
type bench struct {
	t     *testing.T
	fleet *Fleet
	once  sync.Once
	end   func() // ends Run and waits for it

	mu        sync.Mutex // guards the rest
	moods     map[string]mood
	metrics   map[string]string // no entry: 404
	checks    map[string]int    // health checks that reached the replica
	keys      map[string]string // Authorization, as last seen
	published [][]router.Replica
	loads     map[string]router.Load
}

// start makes a fleet of these replicas, all in pool "large" and all closed. It
// runs from the first call of after to the end of the test.
func start(t *testing.T, addresses ...string) *bench {
	t.Helper()
	b := &bench{
		t: t, moods: make(map[string]mood), metrics: make(map[string]string),
		checks: make(map[string]int), keys: make(map[string]string), loads: make(map[string]router.Load),
	}
	b.fleet = New(Options{Publish: b.publish, Observe: b.observe, Dial: b.dial})
	if err := b.fleet.Apply(configOf(addresses...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.stop)
	return b
}

// ready runs a fleet of one replica, "a", that is up.
func ready(t *testing.T) *bench {
	t.Helper()
	b := start(t, "http://a")
	b.becomes("a", up)
	b.after(0)
	b.is("a", "ready")
	return b
}

func (b *bench) run() {
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan struct{})
	go func() { b.fleet.Run(ctx); close(done) }()
	b.end = func() { cancel(); <-done }
}

func (b *bench) stop() {
	b.once.Do(b.run)
	b.end()
}

// configOf has 1 s between checks of 1 s, and a breaker of 3 failures and 5 s.
func configOf(addresses ...string) *config.Config {
	cfg := config.Default()
	cfg.Health = config.Health{Interval: time.Second, Timeout: time.Second, FailuresOpen: 3, OpenFor: 5 * time.Second}
	cfg.Pools = map[string]config.Pool{"large": {Model: "gemma-3-27b-it", Replicas: addresses}}
	return &cfg
}

func (b *bench) publish(list []router.Replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.published = append(b.published, list)
}

func (b *bench) observe(address string, l router.Load) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loads[address] = l
}

func (b *bench) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	if b.mood(host) == closed {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	near, far := net.Pipe()
	go b.answer(host, far)
	return near, nil
}

func (b *bench) answer(host string, c net.Conn) {
	defer c.Close()
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	status, body := b.reply(host, req)
	if status == int(hung) {
		_, _ = io.Copy(io.Discard, c) // until the fleet hangs up
		return
	}
	fmt.Fprintf(c, "HTTP/1.1 %d x\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

func (b *bench) reply(host string, req *http.Request) (status int, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys[host] = req.Header.Get("Authorization")
	if req.URL.Path == "/metrics" {
		text, there := b.metrics[host]
		if !there {
			return 404, ""
		}
		return 200, text
	}
	b.checks[host]++
	return int(b.moods[host]), ""
}

func (b *bench) mood(host string) mood {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.moods[host]
}

// becomes changes how a replica answers.
func (b *bench) becomes(host string, m mood) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.moods[host] = m
}

// after lets time pass and everything settle.
func (b *bench) after(d time.Duration) {
	b.once.Do(b.run)
	time.Sleep(d) // of the bubble: costs nothing
	synctest.Wait()
}

// is checks the state that was published last for a replica; "" is not listed.
func (b *bench) is(host, want string) {
	b.t.Helper()
	if got := b.state(host); got != want {
		b.t.Errorf("%s is %q, want %q", host, got, want)
	}
}

func (b *bench) state(host string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.published) == 0 {
		return "nothing published"
	}
	for _, r := range b.published[len(b.published)-1] {
		if r.Address == "http://"+host {
			return r.State.String()
		}
	}
	return ""
}

// begin takes a verdict on a replica that must be given.
func (b *bench) begin(host string) *Verdict {
	b.t.Helper()
	v, ok := b.fleet.Member("http://" + host).Begin()
	if !ok {
		b.t.Fatalf("the breaker of %s refuses", host)
	}
	return v
}

// fails lets attempts at a replica end in an outcome.
func (b *bench) fails(host string, times int, o router.Outcome) {
	b.t.Helper()
	for range times {
		b.begin(host).Ended(o)
	}
}
