package gateway

import (
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/gateway/vllmsim"
	"sluice/router"
)

// A stream of tool calls has no content, and is whole all the same: it arrives
// byte for byte and counts as completed.
func TestToolCallsAreWhole(t *testing.T) {
	const (
		flag  = `{"type":"object","properties":{"flag":{"type":"boolean"}},"required":["flag"]}`
		chat  = `"messages":[{"role":"user","content":"hi"}],"max_tokens":300`
		tools = `,"tools":[{"type":"function","function":{"name":"set","parameters":` + flag + `}}]`
	)
	requests := []struct{ path, body, want string }{
		{"/v1/chat/completions", chat + tools + `,"tool_choice":"required"`, `"finish_reason":"tool_calls"`},
		{"/v1/chat/completions", chat + tools + `,"tool_choice":{"type":"function","function":{"name":"set"}}`, `"tool_calls":[{"`},
		{"/v1/chat/completions", chat + `,"response_format":{"type":"json_schema","json_schema":{"name":"flag","schema":` + flag + `}}`, `"finish_reason":"stop"`},
		{"/v1/messages", chat + `,"tools":[{"name":"set","input_schema":` + flag + `}],"tool_choice":{"type":"any"}`, `"stop_reason":"tool_use"`},
		{"/v1/responses", `"input":"hi","tools":[{"type":"function","name":"set","parameters":` + flag + `}],"tool_choice":"required"`, `"function_call"`},
	}
	_, url := simulate(t, vllmsim.Options{Size: "gemma-3-4b", Model: "served", MaxModelLen: 8192, MaxNumSeqs: 8, Speed: 20})
	r := start(t, poolPolicyYAML(8, url))
	for _, stream := range []string{`}`, `,"stream":true}`} {
		for _, q := range requests {
			got := gatewaytest.Post(t, r.data, q.path, `{"model":"m",`+q.body+stream)
			if got.Status != 200 || got.Ending != gatewaytest.Whole || !strings.Contains(string(got.Body), q.want) {
				t.Errorf("%s %s: got status %d, ending %v, %s", q.path, stream, got.Status, got.Ending, got.Body)
			}
		}
	}
	r.quiet()
	if n := r.outcomes(router.Completed); n != 2*len(requests) {
		t.Errorf("%d requests ended %s, want %d", n, router.Completed, 2*len(requests))
	}
	if n := sum(r.metrics(), "sluice_time_to_first_token_seconds_count"); n != float64(len(requests)) {
		t.Errorf("a first token was seen in %v streams, want %d", n, len(requests))
	}
}
