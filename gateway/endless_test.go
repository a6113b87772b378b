package gateway

import (
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// Answers of the calls that don't generate are whole or they are none, too: by what
// they hold, where that tells, and by their framing where it doesn't.
func TestCallsThatGenerateNothingAreWhole(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t)
	r := start(t, "relay: {extra_paths: [/custom]}\n"+strings.Replace(onePool(4, rep), "failures_open: 3", "failures_open: 100", 1))
	const whole, vectors = `{"count":2,"tokens":[1,2],"prompt":"x"}`, "application/octet-stream"
	asks := map[string]string{
		"/tokenize": `"prompt":"x"`, "/detokenize": `"tokens":[1]`, "/v1/messages/count_tokens": `"messages":[{"role":"user","content":"x"}]`,
		"/v1/chat/completions/render": `"messages":[{"role":"user","content":"x"}]`, "/v1/completions/render": `"prompt":"x"`,
		"/v1/embeddings": `"input":"x"`, "/custom": `"x":1`,
	}
	length := func(kind, body string, lines ...string) string {
		return gatewaytest.Head(200, append(lines, "content-type: "+kind, fmt.Sprint("content-length: ", len(body)))...) + body
	}
	unframed := func(kind, body string) string { return gatewaytest.Head(200, "content-type: "+kind) + body }
	f := func(path, answers string, want router.Outcome) {
		t.Helper()
		status, before := 502, r.outcomes(want)
		if want == router.Completed {
			status = 200
		}
		rep.Script(gatewaytest.Send(answers), gatewaytest.Close())
		got := gatewaytest.Post(t, r.data, path, `{"model":"m",`+asks[path]+"}")
		if got.Status != status || got.Ending != gatewaytest.Whole {
			t.Errorf("%s, %q: answer %d, ending %v: %s", path, answers, got.Status, got.Ending, got.Body)
		}
		eventually(t, "it is accounted for", func() bool { return r.outcomes(want) == before+1 })
	}
	const json = "application/json"
	for path := range asks {
		f(path, length(json, whole), router.Completed)
		if path == "/custom" {
			continue
		}
		f(path, unframed(json, whole), router.Completed)
		for _, bad := range []string{whole[:20], ""} {
			f(path, length(json, bad), router.Truncated)
			f(path, unframed(json, bad), router.Truncated)
		}
		f(path, length(json, whole, "content-encoding: identity", "content-encoding: gzip"), router.ReplicaError)
	}
	f("/v1/embeddings", length(vectors, "\x00\x01"), router.Completed)
	f("/v1/embeddings", length(vectors, ""), router.Truncated)
	f("/v1/embeddings", unframed(vectors, "\x00\x01"), router.ReplicaError)
	f("/custom", length(json, ""), router.Completed)
	f("/custom", unframed(json, whole), router.ReplicaError)
	f("/custom", unframed("text/event-stream", gatewaytest.Content("a")), router.ReplicaError)
	r.quiet()
}
