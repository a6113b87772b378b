package gateway

import (
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// What stands at a replica's address may be no vLLM: a proxy's welcome page under
// 200 is no answer, and half an answer is none under any content type.
func TestImpostorsAnswers(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	policy := strings.Replace(onePool(4, rep), "failures_open: 3", "failures_open: 100", 1)
	r := start(t, "relay: {extra_paths: [/custom]}\n"+policy)
	f := func(path, answer string, status int, outcome router.Outcome) {
		t.Helper()
		rep.Next(gatewaytest.Send(answer))
		before := r.outcomes(outcome)
		got := gatewaytest.Post(t, r.data, path, gatewaytest.ChatBody("m", "hi", false))
		if got.Status != status {
			t.Errorf("%s, answered %.60q: status %d, want %d", path, answer, got.Status, status)
		}
		eventually(t, fmt.Sprint("it counts as ", outcome), func() bool { return r.outcomes(outcome) == before+1 })
	}
	const (
		page    = "<html>Welcome!</html>"
		half    = `{"choices":[{"index":0,"message":{"content":"Hel`
		vectors = "\x00\x01\x02"
	)
	say := func(kind, body string) string {
		return gatewaytest.Head(200, "content-type: "+kind, fmt.Sprint("content-length: ", len(body))) + body
	}
	f("/v1/chat/completions", say("text/html", page), 502, router.Truncated)
	f("/v1/chat/completions", say("text/plain", half), 502, router.Truncated)
	f("/v1/completions", gatewaytest.Head(204), 502, router.Truncated)
	f("/v1/responses", say("text/html", page), 502, router.Truncated)
	f("/v1/messages", say("text/html", page), 502, router.Truncated)
	f("/v1/embeddings", say("application/octet-stream", vectors), 200, router.Completed)
	f("/custom", say("text/html", page), 200, router.Completed)
	f("/custom", gatewaytest.Head(204), 204, router.Completed)
	r.quiet()
}
