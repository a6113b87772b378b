package field

import (
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// TestClientGoneReplicaGeneratesOn: a client that leaves takes its work with it,
// at any moment, and nobody is blamed. Bytes of a further request are no
// departure; the end of the client's sending side is one. (Package gateway tries
// more moments and ways of leaving, over TLS too.)
func TestClientGoneReplicaGeneratesOn(t *testing.T) {
	t.Parallel()
	begun := gt.Script{gt.Send(gt.SSEHead), gt.Chunks(gt.Role, gt.Content("a")), gt.Stall()}
	for _, c := range []struct {
		name    string
		script  gt.Script
		body    string
		reads   bool // the first events
		leave   func(*gt.Client) error
		outcome router.Outcome
	}{
		{"an answer that isn't streamed", gt.Script{gt.Stall()}, whole, false, (*gt.Client).Close, router.ClientGoneWaiting},
		{"a half of it is there", gt.Script{gt.Send(gt.ChatAnswer("a", "stop", 1, 1)[:150]), gt.Stall()}, whole, false, (*gt.Client).Close, router.ClientGoneWaiting},
		{"a stream before its first token", gt.Script{gt.Send(gt.SSEHead), gt.Chunks(gt.Role), gt.Stall()}, streamed, false, (*gt.Client).Close, router.ClientGoneWaiting},
		{"a stream in the middle", begun, streamed, true, (*gt.Client).Close, router.ClientGoneStreaming},
		{"a reset", begun, streamed, true, func(c *gt.Client) error { c.Reset(); return nil }, router.ClientGoneStreaming},
		{"a half-close", begun, streamed, true, (*gt.Client).CloseWrite, router.ClientGoneStreaming},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.script...)
			b.short = b.short[:1]
			b.health["failures_open"] = "1"
			r := b.start(t)
			client := r.send(c.body)
			call := b.short[0].Call(0)
			if c.reads {
				if _, err := client.ReadHead(); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if _, err := client.ReadEvent(); err != nil {
						t.Fatal(err)
					}
				}
			}
			left := time.Now()
			if err := c.leave(client); err != nil {
				t.Fatal(err)
			}
			if took := call.WaitGone(t).Sub(left); took > 2*time.Second {
				t.Errorf("the replica worked on for %v", took)
			}
			client.Close()
			r.quiet()
			r.ended(map[router.Outcome]int{c.outcome: 1})
			if state := r.breakerOf(b.short[0]); state != "closed" {
				t.Errorf("the breaker of the replica is %s", state)
			}
			r.zero(b.all()...)
		})
	}
}

// TestFurtherRequestIsNoDeparture: the bytes of a second request, sent before the
// first is answered, cancel nothing.
func TestFurtherRequestIsNoDeparture(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	b := newBench(t, gt.Wait(goOn), gt.Send(gt.ChatAnswer("a", "stop", 1, 1)))
	b.short = b.short[:1]
	r := b.start(t)
	c := r.send(whole)
	call := b.short[0].Call(0)
	if err := c.Send(gt.Request("POST", chatPath, whole)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-call.Gone():
		t.Error("the first request was cancelled")
	case <-time.After(500 * time.Millisecond):
	}
	close(goOn)
	for i := range 2 {
		if answer, err := c.ReadAnswer(); err != nil || answer.Status != 200 || answer.Ending != gt.Whole {
			t.Errorf("answer %d: %+v, %v", i, answer, err)
		}
	}
	c.Close()
	r.quiet()
	r.ended(map[router.Outcome]int{router.Completed: 2})
	r.zero(b.all()...)
}
