package field

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// wayOut is one of the ways in which the requests of TestSlotsAndMemoryLeak end:
// what the replica does, and what the client.
type wayOut struct {
	outcome router.Outcome
	script  gt.Script
	route   string        // "": m
	body    string        // "": the usual one
	leaves  time.Duration // after which the client has gone; 0: it reads all
}

// waysOut are all exits that a request has. Their index is their prompt.
func waysOut() []wayOut {
	const soon = 20 * time.Millisecond
	first := gt.Chunks(gt.Role, gt.Content("a"))
	head := gt.Send(gt.SSEHead)
	return []wayOut{
		{outcome: router.Completed, script: gt.ChatStream("a", "b")},
		{outcome: router.Completed, script: gt.Script{gt.Send(gt.ChatAnswer("a", "stop", 1, 1))}},
		{outcome: router.Completed, script: gt.Script{gt.Send(gt.ChatAnswer("a", "stop", 1, 1)), gt.Reset()}}, // or truncated: bytes are lost
		{outcome: router.ReplicaError, script: gt.Script{gt.Send(gt.Error(500, "EngineDead", "dead"))}},
		{outcome: router.Truncated, script: gt.Script{head, first, gt.Reset()}},
		{outcome: router.Truncated, script: gt.Script{head, first, gt.Close()}},
		{outcome: router.Lost, script: gt.Script{gt.Close()}},
		{outcome: router.Silent, script: gt.Script{gt.Stall()}},
		{outcome: router.Stalled, script: gt.Script{head, first, gt.Stall()}},
		{outcome: router.ClientGoneQueued, route: "line", leaves: soon},
		{outcome: router.ClientGoneWaiting, script: gt.Script{gt.Stall()}, leaves: soon},
		{outcome: router.ClientGoneStreaming, script: gt.Script{head, first, gt.Stall()}, leaves: soon},
		{outcome: router.Invalid, body: `{"model":"m","messages":[`},
		{outcome: router.TooLarge, body: strings.Repeat("x", 65<<10)},
		{outcome: router.QueueFull, route: "full"},
	}
}

// TestSlotsAndMemoryLeak: thousands of requests that end in all ways leave
// nothing behind: no slot, no goroutine, no descriptor, no memory.
func TestSlotsAndMemoryLeak(t *testing.T) {
	t.Parallel()
	rounds, each := 5, 1000
	if testing.Short() {
		rounds, each = 3, 300
	}
	ways := waysOut()
	act := gt.Choose(func(c *gt.Call) gt.Script {
		var i int
		_, prompt, _ := strings.Cut(string(c.Body), `"content":"`)
		if _, err := fmt.Sscanf(prompt, "way %d", &i); err != nil {
			return gt.Script{gt.Send(gt.ChatAnswer("a", "stop", 1, 1))}
		}
		return ways[i].script
	})
	work, other, held := gt.NewReplica(t, act), gt.NewReplica(t, act), gt.NewReplica(t, gt.Stall())
	r := start(t, leakPolicy(work, other, held), 3)
	occupant := r.send(gt.ChatBody("occupied", strings.Repeat("a long prompt may take long; ", 1500), true))
	held.Call(0)
	var before, after footprint
	for round := range rounds {
		storm(r, ways, each)
		eventually(t, "the storm is over", func() bool { return r.metrics().sum("sluice_requests_in_flight") == 1 && r.held() == 1 })
		if after = r.footprint(); round == 0 {
			before = after
		}
		t.Logf("after %d requests: %+v", (round+1)*each, after)
	}
	// A record of 100 bytes for each request would show.
	if grown := after.heap - before.heap; grown > 100*float64((rounds-1)*each)+64<<10 {
		t.Errorf("%v bytes more are in use than after the first round", grown)
	}
	if grown := after.resident - before.resident; grown > before.resident/20+memorySlack {
		t.Errorf("resident memory has grown by %v bytes", grown)
	}
	occupant.Close()
	r.zero(work, other)
	m := r.metrics()
	for _, way := range ways {
		if m.sum("sluice_requests_finished_total", `outcome="`+way.outcome.String()+`"`) == 0 {
			t.Errorf("no request ended as %s", way.outcome)
		}
	}
}

func leakPolicy(work, other, held *gt.Replica) string {
	side := "{pools: [{pool: work}], queue: {max_waiting: 100, max_wait: 10s}, slo: {ttft: 1h}}"
	return fmt.Sprintf(`
pools:
  work: {model: served, replicas: [%s, %s], cap: {total: 32}, engine: {max_model_len: 8192}}
  one: {model: occupied, replicas: [%s], cap: {total: 1}, engine: {max_model_len: 32768}}
routes:
  m: {class: prefill, prefill: %s}
  full: {class: prefill, prefill: {pools: [{pool: one}], queue: {max_waiting: 0}}}
  line: {class: prefill, prefill: {pools: [{pool: one}], queue: {max_waiting: 1000, max_wait: 60s}}}
limits: {body: 64KiB}
health: {interval: 1h, failures_open: 1000000}
timeouts: {first_event: 1s, first_event_per_4k: 60s, per_token_unstreamed: 1ns, between_events: 300ms, release_after_cancel: 20ms, idle_replica: 500ms}
`, work.URL(), other.URL(), held.URL(), side)
}

// storm sends n requests that end in random ways, 64 at a time.
func storm(r *rig, ways []wayOut, n int) {
	var all sync.WaitGroup
	next := make(chan int)
	for range 64 {
		all.Go(func() {
			for i := range next {
				ways[i].take(r, i)
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		if i < len(ways) {
			next <- i // each at least once
		} else {
			next <- random.IntN(len(ways))
		}
	}
	close(next)
	all.Wait()
}

// take sends one request that is to end so.
func (w wayOut) take(r *rig, i int) {
	route, body := w.route, w.body
	if route == "" {
		route = "m"
	}
	if body == "" {
		body = fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"way %d"}],"stream":%t}`, route, i, i != 1 && i != 2)
	}
	if w.leaves == 0 {
		r.post(body)
		return
	}
	conn, err := net.DialTimeout("tcp", r.data, gt.Patience)
	if err != nil {
		r.t.Error(err)
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, gt.Request("POST", chatPath, body)); err == nil {
		<-time.After(w.leaves)
	}
}

// footprint is what a process holds after garbage collections.
type footprint struct{ heap, resident, goroutines, descriptors float64 }

func (r *rig) footprint() (f footprint) {
	r.t.Helper()
	var profile []byte
	for range 3 { // pools let go of what they keep at the second
		answer, err := r.scrape.Get("http://" + r.control + "/debug/pprof/heap?gc=1&debug=1")
		if err != nil {
			r.t.Fatal(err)
		}
		profile, _ = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	_, heap, _ := strings.Cut(string(profile), "# HeapAlloc = ")
	if _, err := fmt.Sscan(heap, &f.heap); err != nil {
		r.t.Errorf("the size of the heap: %v", err)
	}
	m := r.metrics()
	f.resident, f.goroutines, f.descriptors = m["process_resident_memory_bytes"], m["go_goroutines"], m["process_open_fds"]
	return f
}
