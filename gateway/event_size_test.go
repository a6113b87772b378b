package gateway

import (
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// limits.answer holds for one event of a stream to within 2 KiB, whatever the size of
// the buffer that it grows in: the next smaller event passes as it is.
func TestEventSizes(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t)
	r := start(t, onePool(4, rep)+"limits: {answer: 65KiB}\n")
	f := func(kib int, want router.Outcome) {
		t.Helper()
		before, large := r.outcomes(want), gatewaytest.Content(strings.Repeat("x", kib<<10))
		rep.Script(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Content("a"), large, gatewaytest.Finish("", "stop"), gatewaytest.Done),
			gatewaytest.Send(gatewaytest.FinalChunk))
		answer := gatewaytest.Post(t, r.data, "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true))
		body, whole := string(answer.Body), answer.Ending == gatewaytest.Whole
		if good := want == router.Completed; whole != good || strings.Contains(body, large) != good || strings.Contains(body, `"error"`) == good {
			t.Errorf("an event of %d KiB: ending %v, %d bytes, %.200q at the end", kib, answer.Ending, len(body), body[max(0, len(body)-200):])
		}
		eventually(t, "it is accounted for", func() bool { return r.outcomes(want) == before+1 })
	}
	f(1, router.Completed)
	f(64, router.Completed)
	f(68, router.Truncated)
	f(120, router.Truncated)
	r.quiet()
}
