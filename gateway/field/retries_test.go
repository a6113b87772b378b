package field

import (
	"fmt"
	"strings"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// TestOneClickSeveralGenerations: a request that a replica may have run is run
// again by nobody, unless the operator says so, and then once; its failure tells
// the clients' own retries that it may have run. What surely hasn't run moves on.
func TestOneClickSeveralGenerations(t *testing.T) {
	t.Parallel()
	const gone = 300 * time.Millisecond // how long it works before it fails
	for _, c := range []struct {
		name    string
		script  gt.Script // of the replica that is asked first; nil: it refuses connections
		outcome router.Outcome
		status  int  // that the client sees, unless it is served elsewhere
		moves   bool // always
		may     bool // where the operator allows
	}{
		{"refuses the connection", nil, router.ConnectFailed, 0, true, true},
		{"says that it is busy", gt.Script{gt.Send(gt.Error(503, "Busy", "full"))}, router.Busy, 0, true, true},
		{"takes it, and closes", gt.Script{gt.Pause(gone), gt.Close()}, router.Lost, 502, false, true},
		{"takes it, and resets", gt.Script{gt.Pause(gone), gt.Reset()}, router.Lost, 502, false, true},
		{"takes it, and fails", gt.Script{gt.Pause(gone), gt.Send(gt.Error(502, "BadGateway", "boom"))}, router.ReplicaError, 502, false, true},
		{"takes it, and is silent", gt.Script{gt.Stall()}, router.Silent, 504, false, true},
		{"says a token, and resets", gt.Script{gt.Send(gt.SSEHead), gt.Chunks(gt.Role, gt.Content("a")), gt.Pause(gone), gt.Reset()}, router.Truncated, 200, false, false},
	} {
		for _, allowed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after_dispatch=%t", c.name, allowed), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, gt.ChatStream("b")...)
				b.short = b.short[:1] // preferred: it is asked first
				b.timeouts["first_event"] = "1s"
				b.health["interval"] = "1h"
				b.more = fmt.Sprintf("retry: {after_dispatch: %t}\n", allowed)
				r := b.start(t)
				if b.short[0].Script(c.script...); c.script == nil {
					b.short[0].Crash()
				}
				id := "click " + t.Name()
				answer := r.post(gt.ChatBody("m", id, true))
				r.quiet()
				attempts, status := 1, c.status
				if c.moves || c.may && allowed {
					attempts, status = 2, 200 // a request is tried elsewhere once
				}
				if l := r.lines()[0]; answer.Status != status || l.Attempts != attempts || r.attempts(c.outcome) != 1 {
					t.Errorf("status %d after %d attempts, %d ended as %s; want %d after %d, and 1", answer.Status, l.Attempts, r.attempts(c.outcome), c.outcome, status, attempts)
				}
				if n := runs(b, id); c.script == nil && n != 1 || c.script != nil && n != attempts {
					t.Errorf("it reached replicas %d times in %d attempts", n, attempts)
				}
				if told := answer.Header.Get("x-should-retry"); (told == "false") != (status > 200) {
					t.Errorf("status %d says x-should-retry %q", status, told)
				}
			})
		}
	}
}

// runs is how often a request with these words reached a replica.
func runs(b *bench, words string) (n int) {
	for _, rep := range b.all() {
		for _, call := range rep.Calls() {
			if strings.Contains(string(call.Body), words) {
				n++
			}
		}
	}
	return n
}
