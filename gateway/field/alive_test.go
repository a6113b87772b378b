//go:build unix

package field

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// TestLooksAliveServesNothing: a replica whose health checks are good but which
// serves nothing loses its traffic, holds up nobody who is served elsewhere, and is
// taken back when it is cured.
func TestLooksAliveServesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script  gt.Script // nil: its backlog is full
		pad     int       // bytes of a body besides the prompt
		clients int
		status  int // of those who met it
	}{
		"its engine is dead":     {gt.Script{gt.Send(gt.Error(500, "EngineDeadError", "dead"))}, 0, 50, 502},
		"it is silent":           {gt.Script{gt.Stall()}, 0, 50, 504},
		"it reads no large body": {gt.Script{gt.NeverRead()}, 2 << 20, 6, 504},
		"its backlog is full":    {nil, 0, 50, 502},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good, bad := gt.NewReplica(t, gt.ChatStream("a", "b")...), gt.NewReplica(t, c.script...)
			url, fill := bad.URL(), func() {}
			if c.script == nil {
				address, full := gt.Filling(t)
				url, fill = "http://"+address, full
			}
			r := start(t, alivePolicy(good.URL(), url), 2)
			fill()
			body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"pad":%q}`, strings.Repeat("x", c.pad))
			began := time.Now()
			got, slowest := r.rush(c.clients, 4, body, good.URL())
			took := time.Since(began)
			r.quiet()
			met := r.outcomes(router.Silent) + r.outcomes(router.ReplicaError) + r.outcomes(router.ConnectFailed)
			if got[200] != 4*c.clients-met || got[c.status] != met {
				t.Errorf("%d met the bad replica; answers: %v", met, got)
			}
			// Those that were there when the third failed, and one for each trial since.
			if most := 3 + c.clients + int(took/(200*time.Millisecond)); met > most || c.script != nil && met < 3 {
				t.Errorf("%d met the bad replica, want 3 to %d", met, most)
			}
			// Whoever went straight to the good one waited for no limit of the other's.
			if c.script != nil && slowest > aliveLimit {
				t.Errorf("an answer of the good replica took %v", slowest)
			}
			t.Logf("%d of %d met the bad replica; the good one's slowest answer took %v", met, 4*c.clients, slowest)
			if c.script == nil {
				return // nobody accepts there any more
			}
			bad.Script(gt.ChatStream("a", "b")...)
			before := calls(bad)
			eventually(t, "the cured replica is tried, taken back, and has shown that it serves", func() bool {
				return r.post(streamed).Status == 200 && calls(bad) > before+8 && r.breakerOf(bad) == "closed" && r.ready() == 2
			})
			if c.pad > 0 { // who never reads doesn't see its peer go, and can't count
				r.zero()
				return
			}
			r.zero(good, bad)
		})
	}
}

// aliveLimit is how long a replica may be silent.
const aliveLimit = 5 * time.Second

func alivePolicy(urls ...string) string {
	side := "{pools: [{pool: p}], queue: {max_waiting: 1000, max_wait: 30s}, slo: {ttft: 1h}}"
	return fmt.Sprintf(`
pools:
  p: {model: served, replicas: [%s], cap: {total: 64}, engine: {max_model_len: 8192}}
routes:
  m: {class: prefill, prefill: %s}
health: {interval: 200ms, timeout: 1s, failures_open: 3, open_for: 200ms}
timeouts: {connect: 2s, first_event: %v, first_event_per_4k: 0s, release_after_cancel: 50ms, idle_replica: 500ms}
`, strings.Join(urls, ", "), side, aliveLimit)
}

// rush lets clients send requests one after the other; it gives the answers by
// status, and how long the slowest of the good replica took. None may take longer
// than the limits allow.
func (r *rig) rush(clients, each int, body, good string) (count map[int]int, slowest time.Duration) {
	var all sync.WaitGroup
	var mu sync.Mutex // guards what follows
	count = make(map[int]int)
	var took []time.Duration
	for range clients {
		all.Go(func() {
			for range each {
				began := time.Now()
				answer := r.post(body)
				spent := time.Since(began)
				if spent > 2*aliveLimit+5*time.Second || answer.Ending != gt.Whole {
					r.t.Errorf("answer %d after %v, ending %v, %v", answer.Status, spent, answer.Ending, answer.Err)
				}
				mu.Lock()
				count[answer.Status]++
				if answer.Header.Get("x-sluice-replica") == good {
					took = append(took, spent)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return count, slices.Max(took)
}
