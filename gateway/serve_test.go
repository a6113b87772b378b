package gateway

import (
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

func TestStreamArrivesByteForByte(t *testing.T) {
	events := gatewaytest.ChatEvents("Hel", "lo")
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(events...), gatewaytest.Send(gatewaytest.FinalChunk))
	r := start(t, onePool(2, rep))
	answer := r.post(gatewaytest.ChatBody("m", "hi", true))
	want := ""
	for _, e := range events {
		want += e
	}
	if got := string(answer.Body); answer.Status != 200 || got != want || answer.Ending != gatewaytest.Whole {
		t.Errorf("status %d, ending %v, got\n%s\nwant\n%s", answer.Status, answer.Ending, got, want)
	}
	r.quiet()
	if n := r.outcomes(router.Completed); n != 1 {
		t.Errorf("completed %d, want 1", n)
	}
}
