package gateway

import (
	"slices"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// A header that the gateway adds to a replica's answer is there once, however
// the replica writes its own.
func TestHeadersComeOnce(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := start(t, onePool(4, rep)+"retry: {budget: 0, budget_min: 0}\n")
	f := func(line, name, want string) {
		t.Helper()
		rep.Script(gatewaytest.Send(gatewaytest.Error(503, "Busy", "full", line)))
		answer := r.post(gatewaytest.ChatBody("m", "hi", false), "x-request-id: mine")
		if got := answer.Header.Values(name); answer.Status != 503 || !slices.Equal(got, []string{want}) {
			t.Errorf("%s: status %d, %s is %q, want %q once", line, answer.Status, name, got, want)
		}
	}
	f("retry-after: 7", "Retry-After", "7")
	f("Retry-After: 7", "Retry-After", "7")
	f("X-Other: 1", "Retry-After", "1")
	f("X-Request-Id: theirs", "x-request-id", "mine")
	f("x-request-id: theirs", "x-request-id", "mine")
}

// vLLM's reports of what is wrong with a body may repeat it. A long one passes
// like any other, and says nothing of the replica.
func TestLongErrorIsTheClientsOwn(t *testing.T) {
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.Error(400, "BadRequestError", strings.Repeat("prompt ", 300_000))))
	r := start(t, onePool(4, rep))
	answer := r.post(gatewaytest.ChatBody("m", "hi", false))
	if answer.Status != 400 || len(answer.Body) < 2_000_000 {
		t.Errorf("status %d, %d bytes: %.200s", answer.Status, len(answer.Body), answer.Body)
	}
	r.quiet()
	if n := r.outcomes(router.ClientError); n != 1 {
		t.Errorf("%d client errors, want 1", n)
	}
}

func TestLongestAnswer(t *testing.T) {
	f := func(bound, context, want int) {
		t.Helper()
		if got := longestAnswer(bound, context); got != want {
			t.Errorf("a bound of %d in a context of %d: %d tokens, want %d", bound, context, got, want)
		}
	}
	f(0, 4096, 0) // embeddings
	f(100, 4096, 100)
	f(5000, 4096, 4096)
	f(-1, 4096, 4096)
	f(2000, 0, 2000) // the file doesn't tell the context
	f(-1, 0, 32768)
}

// The client hears what was wrong with its words; the log doesn't repeat them.
func TestLogsDontQuote(t *testing.T) {
	r := start(t, onePool(4, gatewaytest.NewReplica(t)))
	const private = "sk-private"
	f := func(model string, status int, lines ...string) {
		t.Helper()
		answer := r.post(gatewaytest.ChatBody(model, private, false), lines...)
		if answer.Status != status || !strings.Contains(string(answer.Body), private) {
			t.Errorf("%v: status %d, want %d and the words: %s", lines, answer.Status, status, answer.Body)
		}
	}
	f(private, 404)
	f("m", 400, "x-sluice-class: "+private)
	f("m", 400, "x-sluice-timeout-ms: "+private)
	f("m", 400, "x-sluice-priority: "+private)
	f("m", 415, "Content-Encoding: "+private)
	r.quiet()
	if log := r.access.String() + r.log.String(); strings.Contains(log, private) || strings.Count(log, `"detail"`) != 5 {
		t.Errorf("want five lines without the client's words, got\n%s", log)
	}
}

// An answer doesn't wait for that of the request which the client has sent behind it.
func TestAnswersBeforePipelinedRequests(t *testing.T) {
	letGo := make(chan struct{})
	rep := gatewaytest.NewReplica(t, gatewaytest.Wait(letGo), gatewaytest.Send(gatewaytest.ChatAnswer("second", "stop", 1, 1)))
	rep.Next(gatewaytest.Send(gatewaytest.ChatAnswer("first", "stop", 1, 1)))
	r := start(t, onePool(4, rep))
	c := gatewaytest.Connect(t, r.data)
	request := gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", false))
	if err := c.Send(request + request); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first", "second"} {
		if answer := wantAnswer(t, c, 200); !strings.Contains(string(answer.Body), want) {
			t.Errorf("got %s, want the %s answer", answer.Body, want)
		}
		if want == "first" {
			close(letGo)
		}
	}
	r.quiet()
}
