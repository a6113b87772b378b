package vllmsim

import (
	"testing"

	"sluice/gateway/gatewaytest"
)

// An answer that isn't streamed tells the load, where it is asked for.
func TestLoadHeader(t *testing.T) {
	f := func(release Release, path, more, format, want string) {
		t.Helper()
		_, address := start(t, Options{Speed: 100, Release: release})
		got := gatewaytest.Post(t, address, path, `{"prompt":"hi","messages":[{"role":"user","content":"hi"}],"max_tokens":1`+more+`}`, "endpoint-load-metrics-format: "+format)
		if header := got.Header.Get("endpoint-load-metrics"); header != want || got.Status != 200 {
			t.Errorf("%s %s: got status %d, %q", path, format, got.Status, header)
		}
	}
	const text, object = "TEXT named_metrics.num_requests_waiting=0.0, named_metrics.kv_cache_usage_perc=0.0", `JSON {"named_metrics": {"num_requests_waiting": 0.0, "kv_cache_usage_perc": 0.0}}`
	f(V0320, "/v1/completions", "", "TEXT", text)
	f(V0320, "/v1/chat/completions", "", "json", object)
	f(V0320, "/v1/chat/completions", `,"stream":true`, "JSON", "")
	f(V0320, "/v1/messages", "", "JSON", "")
	f(V0320, "/v1/completions", "", "BINARY", "")
	f(V0100, "/v1/completions", "", "TEXT", "")
}

// The request's id comes back only where that is switched on, and then always.
func TestRequestIDHeader(t *testing.T) {
	f := func(on bool, path, id, want string) {
		t.Helper()
		_, address := start(t, Options{RequestIDHeaders: on})
		var lines []string
		if id != "" {
			lines = []string{"X-Request-Id: " + id}
		}
		got := gatewaytest.Post(t, address, path, `{"prompt":"hi","max_tokens":1}`, lines...).Header.Get("X-Request-Id")
		if got != want && (want != "*" || got == "") {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	f(false, "/v1/completions", "r1", "")
	f(true, "/v1/completions", "r1", "r1")
	f(true, "/v1/completions", "", "*")
	f(true, "/v1/nothing", "r1", "r1")
}
