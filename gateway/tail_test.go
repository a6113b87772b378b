package gateway

import (
	"strings"
	"testing"

	gt "sluice/gateway/gatewaytest"
)

// TestHalfAnEventAfterTheEnd: when all has been said and then silence falls in the
// middle of an event, such as of the usage that only the gateway asked for, the
// answer is whole and the half isn't passed on. At a proper end of the body every
// byte is.
func TestHalfAnEventAfterTheEnd(t *testing.T) {
	f := func(want string, steps ...gt.Step) {
		t.Helper()
		said := gt.Content("a") + gt.Finish("", "stop")
		script := append(gt.Script{gt.Send(gt.SSEHead), gt.Chunks(said, `data: {"choices":[],"us`)}, steps...)
		r := start(t, onePool(1, gt.NewReplica(t, script...))+"timeouts: {between_events: 50ms}\n")
		answer := r.post(gt.ChatBody("m", "hi", true))
		if got, found := strings.CutPrefix(string(answer.Body), said); !found || got != want || answer.Ending != gt.Whole {
			t.Errorf("got %q after what was said, %s, want %q", got, answer.Ending, want)
		}
	}
	f("", gt.Stall())
	f(`data: {"choices":[],"us`, gt.Send(gt.FinalChunk))
}
