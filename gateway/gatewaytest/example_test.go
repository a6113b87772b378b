package gatewaytest_test

import (
	"testing"

	"sluice/gateway/gatewaytest"
)

// How a test uses the bench: here the "gateway" is missing, the client talks to
// the replica directly.
func TestHowToUseTheBench(t *testing.T) {
	// A replica that says two tokens, holds until the test lets go, then cuts
	// the stream behind correct framing.
	release := make(chan struct{})
	replica := gatewaytest.NewReplica(t,
		gatewaytest.Send(gatewaytest.SSEHead),
		gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("Hello"), gatewaytest.Content(" world")),
		gatewaytest.Wait(release),
		gatewaytest.Send(gatewaytest.FinalChunk))

	client := gatewaytest.Connect(t, replica.Address())
	if err := client.Send(gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true))); err != nil {
		t.Fatal(err)
	}
	head, err := client.ReadHead()
	if err != nil || head.Status != 200 {
		t.Fatalf("got %+v, %v", head, err)
	}
	for _, want := range []string{gatewaytest.Role, gatewaytest.Content("Hello"), gatewaytest.Content(" world")} {
		if event, err := client.ReadEvent(); err != nil || event.Raw != want {
			t.Fatalf("got event %q, %v; want %q", event.Raw, err, want)
		}
	}
	replica.WaitRunning(1)
	close(release)
	if events, ending := client.Timeline(); len(events) != 0 || ending != gatewaytest.Whole {
		t.Errorf("got %d more events and ending %v, want a whole body without [DONE]", len(events), ending)
	}

	call := replica.Call(0)
	if call.Path != "/v1/chat/completions" || string(call.Body) != gatewaytest.ChatBody("m", "hi", true) {
		t.Errorf("the replica received %s with %q", call.Path, call.Body)
	}
	client.Close()
	call.WaitDone(t)
}
