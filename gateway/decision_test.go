package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

// decision is the part of the header that these tests read.
type decision struct {
	Words      string
	Then       string
	Request    struct{ Route string }
	Choice     struct{ Replica, Refused string }
	Candidates []string
}

func decisionOf(t *testing.T, answer *gatewaytest.Response) decision {
	t.Helper()
	text := answer.Header.Get("x-sluice-decision")
	var d decision
	if err := json.Unmarshal([]byte(text), &d); err != nil || len(text) > maxDecision {
		t.Fatalf("status %d, %d bytes, error %v: %q", answer.Status, len(text), err, text)
	}
	return d
}

func answering(t *testing.T) *gatewaytest.Replica {
	return gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("yes", "stop", 1, 1)))
}

func TestDecisionOnDemand(t *testing.T) {
	r := start(t, onePool(1, answering(t)))
	answer := r.post(gatewaytest.ChatBody("m", "hi", false), "x-sluice-decision: 1")
	d := decisionOf(t, answer)
	if d.Choice.Replica != answer.Header.Get("x-sluice-replica") || d.Request.Route != "m" || len(d.Candidates) != 1 || d.Then != "" {
		t.Errorf("got %+v", d)
	}
	if !strings.Contains(d.Words, "of pool p, choice 1, the only one willing") || !strings.Contains(r.log.String(), d.Words) {
		t.Errorf("got %q, log\n%s", d.Words, r.log)
	}
	if unasked := r.post(gatewaytest.ChatBody("m", "hi", false)); unasked.Header.Get("x-sluice-decision") != "" {
		t.Errorf("nobody asked, and yet: %q", unasked.Header.Get("x-sluice-decision"))
	}
}

// A conversation that grows past the border of its class keeps it; another request
// of the same size and instructions doesn't.
func TestDecisionOfAConversation(t *testing.T) {
	r := start(t, onePool(1, answering(t)))
	f := func(said, why string) {
		t.Helper()
		body := `{"model":"m","max_tokens":20,"messages":[{"role":"system","content":"be brief"},` + said + `]}`
		if d := decisionOf(t, r.post(body, "x-sluice-decision: 1")); !strings.HasPrefix(d.Words, why) {
			t.Errorf("got %q, want %q", d.Words, why)
		}
	}
	long := `{"role":"user","content":"` + strings.Repeat("word ", 1000) + `"}`
	f(`{"role":"user","content":"hi"}`, "class decode by ratio")
	f(`{"role":"user","content":"hi"},{"role":"assistant","content":"yes"},`+long, "class decode by conversation (keeps the class of its conversation: ")
	f(long, "class prefill by ratio")
	f(`{"role":"user","content":"ho"},{"role":"assistant","content":"yes"},`+long, "class prefill by ratio")
}

func TestDecisionOfARefusal(t *testing.T) {
	r := start(t, onePool(1, answering(t)))
	body := `{"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 100000}`
	if d := decisionOf(t, r.post(body, "x-sluice-decision: 1")); d.Choice.Refused != "too_long" || len(d.Candidates) != 1 {
		t.Errorf("got %+v", d)
	}
}

// A request that waited first hears of the wait, and of what came of it.
func TestDecisionAfterAWait(t *testing.T) {
	rep := answering(t)
	free := make(chan struct{})
	rep.Next(gatewaytest.Wait(free), gatewaytest.Send(gatewaytest.ChatAnswer("first", "stop", 1, 1)))
	r := start(t, onePool(1, rep))
	first := gatewaytest.Connect(t, r.data)
	sendChat(t, first, false)
	rep.Call(0)
	second := gatewaytest.Connect(t, r.data)
	body := gatewaytest.ChatBody("m", "hi", false)
	if err := second.Send(gatewaytest.Request("POST", "/v1/chat/completions", body, "x-sluice-decision: 1")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second waits", func() bool { return r.waiting() == 1 })
	close(free)
	answer, err := second.ReadAnswer()
	if err != nil {
		t.Fatal(err)
	}
	if d := decisionOf(t, answer); !strings.Contains(d.Words, "waits at most 30s, 0 ahead") || !strings.Contains(d.Then, "; waited ") {
		t.Errorf("got %+v", d)
	}
}

func TestDecisionsMayBeOff(t *testing.T) {
	r := start(t, onePool(1, answering(t))+"relay: {decision_headers: false}\n")
	if answer := r.post(gatewaytest.ChatBody("m", "hi", false), "x-sluice-decision: 1"); answer.Header.Get("x-sluice-decision") != "" {
		t.Errorf("got %q", answer.Header.Get("x-sluice-decision"))
	}
}
