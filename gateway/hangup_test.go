package gateway

import (
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// A client that hangs up when it has read the whole answer has not left: OpenAI's
// clients do so at [DONE], before the body's end.
func TestHangUpAfterTheLastEventIsNoDeparture(t *testing.T) {
	f := func(path, body string, events ...string) {
		t.Helper()
		rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(events...), gatewaytest.Stall())
		r := start(t, onePool(1, rep)+"timeouts: {release_after_cancel: 1m}\n")
		c := gatewaytest.Connect(t, r.data)
		if err := c.Send(gatewaytest.Request("POST", path, body)); err != nil {
			t.Fatal(err)
		}
		readUpTo(t, c, events[len(events)-1])
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		r.quiet() // nothing is held as closing
		if n := r.outcomes(router.Completed); n != 1 {
			t.Errorf("%s: %d completed, want 1", path, n)
		}
	}
	f("/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true), gatewaytest.ChatEvents("a", "b")...)
	f("/v1/messages", `{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"hi"}]}`,
		gatewaytest.TypedEvent("message_start", `{"type":"message_start","message":{"id":"1","type":"message","role":"assistant","content":[]}}`),
		gatewaytest.TypedEvent("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`),
		gatewaytest.TypedEvent("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`),
		gatewaytest.TypedEvent("message_stop", `{"type":"message_stop"}`))
}
