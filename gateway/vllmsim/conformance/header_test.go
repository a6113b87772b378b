package conformance

import (
	"testing"

	"sluice/gateway/gatewaytest"
)

// load is the pattern of a number as Python writes a float.
const load = `«n».«n»«?e-‹n›»`

var headerChecks = []check{
	{"the load in a header", "an answer of chat or completions that isn't streamed tells waiting requests and KV use, where the request asks for it", func(t *testing.T, s *server) {
		f := func(path, more, format, pattern string) {
			t.Helper()
			got := s.post(t, path, `{"model":MODEL,"prompt":"hello","messages":[{"role":"user","content":"hello"}],"max_tokens":1`+more+`}`, "endpoint-load-metrics-format: "+format)
			if got.Status != 200 {
				t.Errorf("%s: got status %d, %s", path, got.Status, got.Body)
			}
			s.matches(t, got.Header.Get("endpoint-load-metrics"), pattern)
		}
		const text = `TEXT named_metrics.num_requests_waiting=` + load + `, named_metrics.kv_cache_usage_perc=` + load
		const object = `JSON {"named_metrics": {"num_requests_waiting": ` + load + `, "kv_cache_usage_perc": ` + load + `}}`
		f("/v1/chat/completions", "", "TEXT", text)
		f("/v1/completions", "", "text", text)
		f("/v1/completions", "", "JSON", object)
		f("/v1/completions", "", "BINARY", "")
		f("/v1/completions", `,"stream":true`, "TEXT", "")
		f("/v1/messages", "", "TEXT", "")
	}},
	{"no request id in the header", "X-Request-Id names the answer, but comes back in its header only where that is switched on", func(t *testing.T, s *server) {
		for _, got := range []*gatewaytest.Response{
			s.post(t, "/v1/completions", `{"model":MODEL,"prompt":"hello","max_tokens":1}`), gatewaytest.Get(t, s.address, "/health", "X-Request-Id: "+requestID),
		} {
			if got.Status != 200 || got.Header.Get("X-Request-Id") != "" {
				t.Errorf("got status %d, %v", got.Status, got.Header)
			}
		}
	}},
	{"a rank that isn't one", "X-data-parallel-rank that is no number is ignored", func(t *testing.T, s *server) {
		if got := s.post(t, "/v1/completions", `{"model":MODEL,"prompt":"hello","max_tokens":1}`, "X-data-parallel-rank: first"); got.Status != 200 {
			t.Errorf("got status %d, %s", got.Status, got.Body)
		}
	}},
}
