package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/gateway/vllmsim"
	"sluice/router"
)

const (
	generations     = 300
	classifications = 300
	cap27B          = 64
	cap12B          = 128
	prefill12B      = 32
)

// twoPools is the demo's policy: two replicas of each model. prefill and decode
// are lists of pools, first choice first.
func twoPools(prefill, decode string, maxWaiting int, large, small []string) string {
	const engine = "max_model_len: 32768, max_num_batched_tokens: 8192, padding_gap: 128"
	return fmt.Sprintf(`
pools:
  gemma-27b:
    {model: google/gemma-3-27b-it, size: gemma-3-27b, accelerator: v6e-2x2, replicas: [%s], engine: {max_num_seqs: 64, %s}}
  gemma-12b:
    {model: google/gemma-3-12b-it, size: gemma-3-12b, accelerator: v6e-2x2, replicas: [%s], engine: {max_num_seqs: 128, %s}}
routes:
  gemma-3:
    prefill: {pools: [%s], queue: {max_waiting: %d, max_wait: 60s}}
    decode: {pools: [%s], queue: {max_waiting: %d, max_wait: 60s}}
health: {interval: 1s, timeout: 30s}
timeouts: {idle_replica: 300ms}
`, strings.Join(large, ", "), engine, strings.Join(small, ", "), engine, prefill, maxWaiting, decode, maxWaiting)
}

const (
	prefer27B = "{pool: gemma-27b}, {pool: gemma-12b}"
	prefer12B = "{pool: gemma-12b}, {pool: gemma-27b}"
)

// generation asks for a long answer, every other time as a stream.
func generation(i int) string {
	return fmt.Sprintf(`{"model":"gemma-3","max_tokens":24,"stream":%t,"messages":[{"role":"user","content":"Tell me story %d of a lock keeper."}]}`, i%2 == 0, i)
}

// classification asks for a label, every third time as a stream.
func classification(i int) string {
	return fmt.Sprintf(`{"model":"gemma-3","max_tokens":4,"stream":%t,"messages":[{"role":"user","content":"Classify review %d: the lamp broke after two days. One word."}]}`, i%3 == 0, i)
}

// crowd sends n requests at once and waits for all answers.
func (r *rig) crowd(n int, body func(int) string) []*gatewaytest.Response {
	answers := make([]*gatewaytest.Response, n)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = r.post(body(i)) })
	}
	all.Wait()
	return answers
}

// mixedCrowd sends both kinds of requests at once; each has to complete.
func (r *rig) mixedCrowd(generations, classifications int) (sent int) {
	r.t.Helper()
	var generated, classified []*gatewaytest.Response
	var both sync.WaitGroup
	both.Go(func() { generated = r.crowd(generations, generation) })
	both.Go(func() { classified = r.crowd(classifications, classification) })
	both.Wait()
	for i, a := range append(generated, classified...) {
		if !complete(a) {
			r.t.Errorf("request %d: status %d, %v, %q, %v", i, a.Status, a.Ending, a.Body, a.Err)
		}
	}
	return generations + classifications
}

// complete tells whether an answer is a whole one, streamed or not.
func complete(a *gatewaytest.Response) bool {
	if a.Status != 200 || a.Ending != gatewaytest.Whole {
		return false
	}
	return bytes.HasSuffix(a.Body, []byte("data: [DONE]\n\n")) != json.Valid(a.Body)
}

// 300 generations and 300 classifications at once all complete where the queue
// has room for them, and no replica ever holds more than its cap by its own
// count. Where that was too quick for 100 scrapes, more come, fewer at a time.
func TestSixHundredAtOnceComplete(t *testing.T) {
	zero := gatewaytest.ZeroCheck(t, ownGoroutines(), gatewaytest.Descriptors())
	t.Run("load", func(t *testing.T) {
		sims, large, small := simulatedFleet(t)
		r := start(t, twoPools(prefer27B, prefer12B, 1024, large, small))
		scrapes, end := r.scrapeAllTheTime()
		sent := r.mixedCrowd(generations, classifications)
		for scrapes.Load() < 100 {
			sent += r.mixedCrowd(10, 10)
		}
		end()
		r.quiet()
		if n := r.outcomes(router.Completed); n != sent {
			t.Errorf("completed %d, want all of %d", n, sent)
		}
		for i, s := range sims {
			if limit := capOfSim(i); s.Peak() > limit || s.Held() != 0 {
				t.Errorf("replica %d held %d at once, cap %d; %d are left", i, s.Peak(), limit, s.Held())
			}
		}
		t.Logf("%d requests, %d scrapes, peaks %d %d %d %d", sent, scrapes.Load(), sims[0].Peak(), sims[1].Peak(), sims[2].Peak(), sims[3].Peak())
	})
	zero()
}

// ownGoroutines counts the goroutines but those with which fasthttp tidies up its
// workers: they end up to 10 s after their server, so those of other tests would
// disturb the count.
func ownGoroutines() gatewaytest.Gauge {
	g := gatewaytest.Goroutines()
	g.Read = func() int {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return bytes.Count(stacks, []byte("\n\ngoroutine ")) - bytes.Count(stacks, []byte("created by github.com/valyala/fasthttp.(*workerPool).Start"))
	}
	return g
}

func capOfSim(i int) int {
	if i < 2 {
		return cap27B
	}
	return cap12B
}

// simulatedFleet is two 27B replicas, then two of 12B.
func simulatedFleet(t *testing.T) (sims []*vllmsim.Server, large, small []string) {
	for range 2 {
		s, url := simulate(t, vllmsim.Options{Size: "gemma-3-27b", Model: "google/gemma-3-27b-it", MaxModelLen: 32768, MaxNumSeqs: 64, Speed: 0.5})
		sims, large = append(sims, s), append(large, url)
	}
	for range 2 {
		s, url := simulate(t, vllmsim.Options{Size: "gemma-3-12b", Model: "google/gemma-3-12b-it", MaxModelLen: 32768, MaxNumSeqs: 128, Speed: 0.5})
		sims, small = append(sims, s), append(small, url)
	}
	return sims, large, small
}

// scrapeAllTheTime reads the metrics over and over and checks each scrape: the
// ledger balances, and no replica holds more than its caps. end stops it.
func (r *rig) scrapeAllTheTime() (scrapes *atomic.Int64, end func()) {
	scrapes = new(atomic.Int64)
	stop := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			r.checkScrape()
			scrapes.Add(1)
		}
	})
	return scrapes, func() { close(stop); reading.Wait() }
}

func (r *rig) checkScrape() {
	m := r.metrics()
	received, finished := sum(m, "sluice_requests_received_total"), sum(m, "sluice_requests_finished_total")
	if inFlight := sum(m, "sluice_requests_in_flight"); received != finished+inFlight {
		r.t.Errorf("the ledger does not balance: received %v, finished %v, in flight %v", received, finished, inFlight)
	}
	for series, limit := range m {
		labels, isCap := strings.CutPrefix(series, "sluice_replica_cap{")
		if !isCap {
			continue
		}
		_, replica, _ := strings.Cut(strings.TrimSuffix(labels, "}"), ",")
		if held := sum(m, "sluice_replica_sequences", replica); held > limit {
			r.t.Errorf("%s holds %v sequences, cap %v", replica, held, limit)
		}
		if held := sum(m, "sluice_replica_sequences", replica, `pool="gemma-12b"`, `class="prefill"`); held > prefill12B {
			r.t.Errorf("%s holds %v prefill sequences, cap %d", replica, held, prefill12B)
		}
	}
}

// With 50 places in the queue exactly the excess is refused. The replicas hold
// on to what they have until everybody has come, so the number is no accident:
// what the caps hold and 50 more are let in.
func TestExactlyTheExcessIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name            string
		prefill, decode string // pools
		refusedDecode   int
		refusedPrefill  int
	}{
		// 256 generations run, 44 wait; 128 classifications run, 50 wait.
		{"each class in its own pool", "{pool: gemma-27b}", "{pool: gemma-12b}", 0, classifications - 2*cap27B - 50},
		// 256 generations run in their first choice and 44 spill; what they leave
		// of the 27B pool is 84, and 50 classifications wait.
		{"with spill, generations first", prefer27B, prefer12B, 0, classifications - (2*cap27B - (generations - 2*cap12B)) - 50},
		// Generations have the 27B pool alone: 128 run, 50 wait. Of the other, each
		// replica takes 32 classifications.
		{"pools swapped", "{pool: gemma-12b}", "{pool: gemma-27b}", generations - 2*cap27B - 50, classifications - 2*prefill12B - 50},
	} {
		t.Run(tc.name, func(t *testing.T) {
			release := make(chan struct{})
			large, small := heldPair(t, release), heldPair(t, release)
			r := start(t, twoPools(tc.prefill, tc.decode, 50, urlsOf(large), urlsOf(small)))
			answers := make(chan *gatewaytest.Response, generations+classifications)
			r.sendAll(answers, generations, generation)
			r.sendAll(answers, classifications, classification)
			close(release)
			refused, completed := 0, 0
			for range generations + classifications {
				switch a := <-answers; a.Status {
				case 200:
					completed++
				default:
					refused++
					checkRefusal(t, a, ".queue.max_waiting=50")
				}
			}
			r.quiet()
			if want := tc.refusedDecode + tc.refusedPrefill; refused != want || r.outcomes(router.QueueFull) != want || completed != r.outcomes(router.Completed) {
				t.Errorf("%d refused, %d completed; want %d refused", refused, completed, want)
			}
			for i, rep := range append(large, small...) {
				if rep.Peak() > capOfSim(i) {
					t.Errorf("replica %d held %d at once, cap %d", i, rep.Peak(), capOfSim(i))
				}
			}
			r.notBlamed(t)
		})
	}
}

// heldPair is two replicas that answer only when released.
func heldPair(t *testing.T, release <-chan struct{}) []*gatewaytest.Replica {
	script := gatewaytest.Script{gatewaytest.Wait(release), gatewaytest.Send(gatewaytest.ChatAnswer("a", "stop", 10, 1))}
	return []*gatewaytest.Replica{gatewaytest.NewReplica(t, script...), gatewaytest.NewReplica(t, script...)}
}

func urlsOf(replicas []*gatewaytest.Replica) (urls []string) {
	for _, rep := range replicas {
		urls = append(urls, rep.URL())
	}
	return urls
}

// sendAll sends n requests at once. It returns when each of them has been
// refused, is held by a replica or waits; the answers come later.
func (r *rig) sendAll(answers chan<- *gatewaytest.Response, n int, body func(int) string) {
	r.t.Helper()
	settled := func() int { return r.held() + r.waiting() + r.outcomes(router.QueueFull) }
	want := settled() + n
	for i := range n {
		go func() { answers <- r.post(body(i)) }()
	}
	eventually(r.t, fmt.Sprintf("%d requests are settled", want), func() bool { return settled() == want })
}

// checkRefusal checks that a client can use a refusal: it says when to come
// back, in the API's own words, and which setting refused it.
func checkRefusal(t *testing.T, a *gatewaytest.Response, setting string) {
	t.Helper()
	after, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if a.Status != 429 || err != nil || after < 1 || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("refused with status %d, header %v", a.Status, a.Header)
	}
	var body struct {
		Error struct {
			Message, Type, Code string
			Param               *string
		}
	}
	if err := json.Unmarshal(a.Body, &body); err != nil {
		t.Errorf("refused with %q: %v", a.Body, err)
	}
	e := body.Error
	if e.Type != "rate_limit_error" || e.Code != "queue_full" || !strings.Contains(e.Message, setting) {
		t.Errorf("refused with %+v", e)
	}
}
