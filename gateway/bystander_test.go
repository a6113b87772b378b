package gateway

import (
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

// bystander is a stream that says something every few milliseconds, until it is
// told to come to its end.
type bystander struct {
	*gatewaytest.Replica
	client *gatewaytest.Client
	pulse  chan struct{}
	over   chan struct{}
	sent   atomic.Int64
	seen   int64
}

const beats = 300 // events of a bystander

func newBystander(t *testing.T) *bystander {
	b := &bystander{pulse: make(chan struct{}), over: make(chan struct{})}
	script := gatewaytest.Script{gatewaytest.Send(gatewaytest.SSEHead)}
	for range beats {
		script = append(script, gatewaytest.Wait(b.pulse), gatewaytest.Chunks(gatewaytest.Content("a")))
	}
	script = append(script, gatewaytest.Chunks(gatewaytest.Finish("", "stop"), gatewaytest.Done), gatewaytest.Send(gatewaytest.FinalChunk))
	b.Replica = gatewaytest.NewReplica(t, script...)
	return b
}

func (b *bystander) begin(t *testing.T, address string) {
	t.Helper()
	b.client = gatewaytest.Connect(t, address)
	if err := b.client.Send(gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("good", "hi", true))); err != nil {
		t.Fatal(err)
	}
	b.Call(0)
	go b.beat()
	if head, err := b.client.ReadHead(); err != nil || head.Status != 200 {
		t.Fatalf("the stream beside: %v, %v", head, err)
	}
}

// beat lets the replica say something, again and again; in the end all at once.
func (b *bystander) beat() {
	defer close(b.pulse)
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for range beats {
		select {
		case <-ticks.C:
			b.pulse <- struct{}{}
			b.sent.Add(1)
		case <-b.over:
			return
		}
	}
}

// goesOn reads until there is something that was sent after the call.
func (b *bystander) goesOn(t *testing.T) {
	t.Helper()
	for sent := b.sent.Load(); b.seen <= sent && b.seen < beats; b.seen++ {
		if _, err := b.client.ReadEvent(); err != nil {
			t.Fatalf("the stream beside has ended: %v", err)
		}
	}
}

// ends lets the stream come to its end and checks that it is whole.
func (b *bystander) ends(t *testing.T) {
	t.Helper()
	close(b.over)
	rest, ending := b.client.Timeline()
	if n := int(b.seen) + len(rest); n != beats+2 || ending != gatewaytest.Whole {
		t.Errorf("the stream beside had %d events, ending %v, want %d, whole", n, ending, beats+2)
	}
}
