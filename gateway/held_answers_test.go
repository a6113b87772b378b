package gateway

import (
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// The slots of an answer that isn't streamed are free when the replica has given it,
// its memory only when the client has taken it. So clients that don't take theirs are
// bounded by limits.held_answers, and small answers go on beside them.
func TestAnswersThatNobodyTakesAreBounded(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer(strings.Repeat("x", 8<<20), "stop", 1, 1)))
	r := start(t, onePool(2, rep)+"limits: {answer: 10MiB, held_answers: 20MiB}\n")
	ask := gatewaytest.Request("POST", "/v1/chat/completions", plainBody)
	var idle []*gatewaytest.Client
	for range 2 { // together 16 MiB
		c := gatewaytest.Connect(t, r.data)
		if err := c.Send(ask); err != nil {
			t.Fatal(err)
		}
		if answer, err := c.ReadHead(); err != nil || answer.Status != 200 {
			t.Fatalf("%v, %v", answer, err)
		}
		idle = append(idle, c)
	}
	answer := r.post(plainBody)
	if answer.Status != 503 || !strings.Contains(string(answer.Body), "limits.held_answers=20971520") || answer.Header.Get("x-should-retry") != "false" {
		t.Errorf("answer %d, %v: %.300s", answer.Status, answer.Header, answer.Body)
	}
	if n := r.outcomes(router.Internal); n != 1 {
		t.Errorf("%d ended as internal, want 1", n)
	}
	rep.Script(gatewaytest.Send(gatewaytest.ChatAnswer(strings.Repeat("x", 60<<10), "stop", 1, 1)))
	if answer := r.post(plainBody); answer.Status != 200 {
		t.Errorf("a small answer beside them: %d: %.300s", answer.Status, answer.Body)
	}
	for _, c := range idle {
		c.Close()
	}
	eventually(t, "the memory is given back", func() bool { return r.g.handler.answers.held.Load() == 0 })
	rep.Script(gatewaytest.Send(gatewaytest.ChatAnswer(strings.Repeat("x", 8<<20), "stop", 1, 1)))
	if answer := r.post(plainBody); answer.Status != 200 || len(answer.Body) < 8<<20 {
		t.Errorf("a large answer after them: %d, %d bytes", answer.Status, len(answer.Body))
	}
	r.quiet()
}
