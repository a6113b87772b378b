package gateway

import (
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

// What a client asks for reaches the decision, and its tenant's ceiling applies.
func TestPriorityOfAClient(t *testing.T) {
	f := func(ceiling, want string, lines ...string) {
		t.Helper()
		rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("hi", "stop", 1, 1)))
		r := start(t, onePool(20, rep)+"tenants: {us: {key_sha256: ["+keyDigest+"], priority: "+ceiling+"}}\n")
		answer := r.post(gatewaytest.ChatBody("m", "hi", false), append(lines, "x-api-key: key", "x-sluice-decision: 1")...)
		if got := answer.Header.Get("x-sluice-decision"); answer.Status != 200 || !strings.Contains(got, `"priority":"`+want+`"`) {
			t.Errorf("ceiling %s, %v: status %d, decision %s, want priority %s", ceiling, lines, answer.Status, got, want)
		}
	}
	f("interactive", "interactive")
	f("interactive", "batch", "x-sluice-priority: batch")
	f("interactive", "interactive", "x-sluice-priority: interactive")
	f("batch", "batch")
	f("batch", "batch", "x-sluice-priority: interactive")
}
