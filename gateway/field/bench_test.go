package field

import (
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	gt "sluice/gateway/gatewaytest"
)

// bench is the usual set-up: two pools of two replicas, one route over both,
// few places, and short times. What a test changes it changes before it starts.
type bench struct {
	short, long []*gt.Replica
	caps        int    // per replica
	queue       string // of the route, each class
	timeouts    map[string]string
	health      map[string]string
	more        string // further configuration
}

// newBench makes the replicas, all with the same script.
func newBench(t testing.TB, script ...gt.Step) *bench {
	t.Helper()
	var replicas []*gt.Replica
	for i := range 4 {
		replicas = append(replicas, gt.NewReplicaAt(t, ownAddress(t, i), script...))
	}
	return &bench{short: replicas[:2:2], long: replicas[2:], caps: 2, queue: "{max_waiting: 4, max_wait: 10s}",
		timeouts: map[string]string{
			"connect": "1s", "first_event": "10s", "first_event_per_4k": "0s", "per_token_unstreamed": "1ns", "between_events": "5s",
			"idle_replica": "500ms", "release_after_cancel": "20ms",
		},
		health: map[string]string{"interval": "200ms", "timeout": "5s", "failures_open": "3", "open_for": "1s"},
	}
}

// ownAddress is one that nobody else in this process, or beside it, listens on, with
// any port: while a replica refuses connections no other takes its port. Where the
// system has only one loopback address it is that.
func ownAddress(t testing.TB, i int) string {
	sum := fnv.New32a()
	fmt.Fprint(sum, os.Getpid(), t.Name(), i)
	n := sum.Sum32()
	host := fmt.Sprintf("127.%d.%d.%d", 1+n%254, n>>8&255, 1+n>>16%254)
	ln, err := net.Listen("tcp", host+":0")
	if err != nil {
		return "127.0.0.1:0"
	}
	ln.Close()
	return host + ":0"
}

// all are the replicas of both pools.
func (b *bench) all() []*gt.Replica { return append(append([]*gt.Replica(nil), b.short...), b.long...) }

// policy is the configuration. The route "m" prefers the short pool; each pool
// is a route by its own name too, "served-short" and "served-long". A pool
// without replicas is left out.
func (b *bench) policy() string {
	var pools, order []string
	for _, p := range []struct {
		name     string
		replicas []*gt.Replica
		context  int
	}{{"short", b.short, 4096}, {"long", b.long, 32768}} {
		if len(p.replicas) == 0 {
			continue
		}
		urls := make([]string, len(p.replicas))
		for i, rep := range p.replicas {
			urls[i] = strconv.Quote(rep.URL())
		}
		pools = append(pools, fmt.Sprintf("  %s: {model: served-%s, replicas: [%s], cap: {total: %d}, engine: {max_model_len: %d}}\n",
			p.name, p.name, strings.Join(urls, ", "), b.caps, p.context))
		order = append(order, "{pool: "+p.name+"}")
	}
	side := func(slo string) string {
		return fmt.Sprintf("{pools: [%s], queue: %s, slo: %s}", strings.Join(order, ", "), b.queue, slo)
	}
	return "pools:\n" + strings.Join(pools, "") + "routes:\n" +
		"  m: {prefill: " + side("{ttft: 1h}") + ", decode: " + side("{ttft: 1h, tpot: 1m}") + "}\n" + // caps alone decide
		"timeouts: " + flow(b.timeouts) + "\nhealth: " + flow(b.health) + "\n" + b.more
}

// flow is a YAML mapping in one line.
func flow(m map[string]string) string {
	var parts []string
	for k, v := range m {
		parts = append(parts, k+": "+v)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// start runs a gateway over all of it, and waits for all replicas.
func (b *bench) start(t testing.TB) *rig {
	t.Helper()
	return start(t, b.policy(), len(b.short)+len(b.long))
}

// script replaces the script of all replicas.
func (b *bench) script(steps ...gt.Step) {
	for _, rep := range b.all() {
		rep.Script(steps...)
	}
}

// calls is how many requests the replicas have got.
func calls(replicas ...*gt.Replica) (n int) {
	for _, rep := range replicas {
		n += len(rep.Calls())
	}
	return n
}

// TestTheBench tries the bench itself: it is filled to its caps and its queue,
// and goes back to nothing.
func TestTheBench(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	b := newBench(t, gt.Wait(goOn), gt.Send(gt.ChatAnswer("a", "stop", 1, 1)))
	r := b.start(t)
	const places, queue = 8, 4
	answers := make(chan int, places+queue+1)
	for range places + queue {
		go func() { answers <- r.post(whole).Status }()
	}
	eventually(t, "all places are taken and the queue is full", func() bool { return r.held() == places && r.waiting() == queue })
	if answer := r.post(whole); answer.Status != 429 {
		t.Errorf("one too many: status %d: %s", answer.Status, answer.Body)
	}
	for _, rep := range b.all() {
		rep.WaitRunning(2)
	}
	close(goOn)
	for range places + queue {
		if status := <-answers; status != 200 {
			t.Errorf("status %d", status)
		}
	}
	for _, rep := range b.all() {
		if rep.Peak() != 2 {
			t.Errorf("%s: %d at once, want 2", rep.URL(), rep.Peak())
		}
	}
	r.zero(b.all()...)
}
