//go:build unix

package gateway

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// A replica whose health checks are good but which serves nothing loses its
// traffic, holds up nobody who is served elsewhere, and is taken back when cured.
func TestLooksAliveServesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script  gatewaytest.Script
		pad     int // bytes of a body besides the prompt
		clients int
		status  int // of those who met it
	}{
		"engine dead":    {gatewaytest.Script{gatewaytest.Send(gatewaytest.Error(500, "EngineDeadError", "dead"))}, 0, 50, 502},
		"silent":         {gatewaytest.Script{gatewaytest.Stall()}, 0, 50, 504},
		"reads no body":  {gatewaytest.Script{gatewaytest.NeverRead()}, 2 << 20, 6, 504},
		"backlog filled": {nil, 0, 50, 502},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := gatewaytest.NewReplica(t, gatewaytest.ChatStream("a", "b")...)
			url, fill := hollow(t)
			bad := gatewaytest.NewReplica(t, test.script...)
			if test.script != nil {
				url, fill = bad.URL(), func() {}
			}
			r := start(t, strings.Replace(poolPolicyYAML(64, good.URL(), url), "interval: 20ms", "interval: 200ms", 1)+
				"timeouts: {connect: 2s, first_event: 2s, first_event_per_4k: 0s, release_after_cancel: 50ms}\n")
			fill()
			body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"pad":%q}`, strings.Repeat("x", test.pad))
			began := time.Now()
			got := r.rush(test.clients, 4, body)
			took := time.Since(began)
			r.quiet()
			met := r.outcomes(router.Silent) + r.outcomes(router.ReplicaError) + r.outcomes(router.ConnectFailed)
			if got[200] != 4*test.clients-met || got[test.status] != met {
				t.Errorf("%d met the bad replica; answers: %v", met, got)
			}
			// Those that were there when the third failed, and one for each trial since.
			if most := 3 + test.clients + int(took/(200*time.Millisecond)); met > most || test.script != nil && met < 3 {
				t.Errorf("%d met the bad replica, want 3 to %d", met, most)
			}
			if test.script == nil {
				return // nobody accepts there any more
			}
			bad.Script(gatewaytest.ChatStream("a", "b")...)
			eventually(t, "the cured replica is tried and taken back", func() bool {
				return r.post(plainStream).Status == 200 && r.breaker(bad) == "closed" && r.ready() == 2
			})
			r.quiet()
		})
	}
}

// rush lets clients send requests one after the other, and gives the answers by
// status. None may take longer than the limits allow.
func (r *rig) rush(clients, each int, body string) map[int]int {
	var all sync.WaitGroup
	var mu sync.Mutex // guards count
	count := make(map[int]int)
	for range clients {
		all.Go(func() {
			for range each {
				began := time.Now()
				answer := r.post(body)
				if took := time.Since(began); took > 9*time.Second || answer.Ending != gatewaytest.Whole {
					r.t.Errorf("answer %d after %v, ending %v, %v", answer.Status, took, answer.Ending, answer.Err)
				}
				mu.Lock()
				count[answer.Status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return count
}
