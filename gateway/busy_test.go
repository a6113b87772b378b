package gateway

import (
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// overloaded is a replica's own refusal, with what its client needs to know.
const overloaded = `{"error":{"message":"too many requests","type":"RateLimitError","param":null,"code":429,"inner":{"x":1.0}}}`

var overloadedLines = []string{"Retry-After: 7", "x-ratelimit-remaining-requests: 0", "x-ratelimit-reset-requests: 7s", "X-Odd-Case: Kept"}

// A busy replica's answer passes as it is where no other can be tried, to clients
// of streams too, and the replica isn't blamed.
func TestBusyAnswerPassesUnchanged(t *testing.T) {
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.JSON(429, overloaded, overloadedLines...)))
			r := start(t, onePool(2, rep))
			answer := r.post(gatewaytest.ChatBody("m", "hi", stream), "Accept: text/event-stream")
			checkOverloaded(t, answer)
			r.quiet()
			r.notBlamed(t)
			if n := r.outcomes(router.Busy); n != 1 || len(rep.Calls()) != 1 {
				t.Errorf("busy %d, calls %d; want 1 of each", n, len(rep.Calls()))
			}
		})
	}
}

func checkOverloaded(t *testing.T, answer *gatewaytest.Response) {
	t.Helper()
	if answer.Status != 429 || string(answer.Body) != overloaded || answer.Ending != gatewaytest.Whole {
		t.Errorf("status %d, %v: %s", answer.Status, answer.Ending, answer.Body)
	}
	for _, line := range append(overloadedLines, "content-type: application/json") {
		name, value, _ := strings.Cut(line, ": ")
		if got := answer.Header.Values(name); len(got) != 1 || got[0] != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	if got := answer.Header.Get("x-should-retry"); got != "" {
		t.Errorf("x-should-retry: %q; it has not run, so it may be sent again", got)
	}
}

// Where both replicas are busy the second's answer is the client's.
func TestBothBusy(t *testing.T) {
	p := newPair(t, "")
	p.next.Next(gatewaytest.Send(gatewaytest.Error(503, "ServiceUnavailable", "full")), gatewaytest.Close())
	p.other.Next(gatewaytest.Send(gatewaytest.JSON(429, overloaded, overloadedLines...)), gatewaytest.Close())
	checkOverloaded(t, p.post(gatewaytest.ChatBody("m", "hi", false)))
	p.quiet()
	p.notBlamed(t)
	if n := p.outcomes(router.Busy); n != 1 || p.attempts(router.Busy) != 2 {
		t.Errorf("busy %d in %d attempts, want 1 in 2", n, p.attempts(router.Busy))
	}
}

// A busy answer that doesn't say when to come back says it here.
func TestBusyAnswerGetsRetryAfter(t *testing.T) {
	for _, status := range []int{429, 503} {
		rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.Error(status, "ServiceUnavailable", "full")))
		r := start(t, onePool(2, rep))
		answer := r.post(gatewaytest.ChatBody("m", "hi", true))
		if answer.Status != status || answer.Header.Get("Retry-After") != "1" {
			t.Errorf("status %d, Retry-After %q; want %d and 1", answer.Status, answer.Header.Get("Retry-After"), status)
		}
		r.quiet()
	}
}

// What the gateway itself refuses is as usable, whatever the client accepts, and
// is counted apart from what replicas refuse.
func TestRefusalsAreUsable(t *testing.T) {
	rep := gatewaytest.NewReplica(t, gatewaytest.Stall())
	r := start(t, strings.ReplaceAll(onePool(1, rep), "max_waiting: 1000", "max_waiting: 0")+"timeouts: {release_after_cancel: 20ms}\n")
	occupant := gatewaytest.Connect(t, r.data)
	sendChat(t, occupant, true)
	rep.Call(0)
	for i := range 50 {
		answer := r.post(gatewaytest.ChatBody("m", "hi", i%2 == 0), []string{"Accept: text/event-stream", "Accept: */*"}[i%2])
		checkRefusal(t, answer, "routes.m.decode.queue.max_waiting=0")
	}
	occupant.Close()
	r.quiet()
	if refused, busy := r.outcomes(router.QueueFull), r.outcomes(router.Busy); refused != 50 || busy != 0 {
		t.Errorf("queue_full %d, busy %d; want 50 and 0", refused, busy)
	}
}
