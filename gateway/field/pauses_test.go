package field

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// TestFirstRequestAfterAPause: a replica closes connections that have been idle
// for a while, at the very moment in which the next request comes. No client
// notices, and no request is run twice: what had been sent on the dying
// connection is sent again only if no byte of an answer came.
func TestFirstRequestAfterAPause(t *testing.T) {
	t.Parallel()
	for name, resets := range map[string]bool{"FIN": false, "RST": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const idle, lanes, each = 500 * time.Millisecond, 60, 5
			replicas := make([]*gt.Replica, lanes)
			for i := range replicas {
				replicas[i] = gt.NewReplica(t, gt.Send(gt.ChatAnswer("a", "stop", 1, 1)))
			}
			// Below the replicas' limit there would be no race: see the configuration's default.
			r := start(t, lanePolicy(replicas)+"timeouts: {idle_replica: 1m, release_after_cancel: 20ms}\nhealth: {interval: 1h, timeout: 10s}\n", lanes)
			for _, rep := range replicas {
				rep.KeepAlive(idle, resets)
			}
			var all sync.WaitGroup
			for i := range replicas {
				all.Go(func() {
					for n := range each {
						body := fmt.Sprintf(`{"model":"lane-%d","messages":[{"role":"user","content":"%d of %d"}]}`, i, n, i)
						if answer := r.post(body); answer.Status != 200 || answer.Ending != gt.Whole {
							t.Errorf("request %d of lane %d: status %d, %v: %s", n, i, answer.Status, answer.Err, answer.Body)
						}
						// From 30 ms before the replica's limit to 20 ms behind it.
						<-time.After(idle - 30*time.Millisecond + time.Duration(n*lanes+i)*50*time.Millisecond/(lanes*each))
					}
				})
			}
			all.Wait()
			reused := 0
			for i, rep := range replicas {
				seen := make(map[string]int)
				for n, call := range rep.Calls() {
					seen[string(call.Body)]++
					if n > 0 && call.Conn == rep.Calls()[n-1].Conn {
						reused++
					}
				}
				if len(seen) != each || len(rep.Calls()) != each {
					t.Errorf("replica %d got %d requests, %d of them different, want %d", i, len(rep.Calls()), len(seen), each)
				}
			}
			r.quiet()
			r.ended(map[router.Outcome]int{router.Completed: lanes * each})
			t.Logf("%d of %d requests came on a connection that had been idle", reused, lanes*each)
		})
	}
}

// lanePolicy gives each replica a pool and a route of its own, lane-0, lane-1, …
func lanePolicy(replicas []*gt.Replica) string {
	var pools, routes strings.Builder
	for i, rep := range replicas {
		fmt.Fprintf(&pools, "  lane-%d: {model: served-%d, replicas: [%q], cap: {total: 2}, engine: {max_model_len: 8192}}\n", i, i, rep.URL())
		fmt.Fprintf(&routes, "  lane-%d: {class: decode, decode: {pools: [{pool: lane-%d}]}}\n", i, i)
	}
	return "pools:\n" + pools.String() + "routes:\n" + routes.String()
}
