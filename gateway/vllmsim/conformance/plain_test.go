package conformance

import (
	"testing"

	"sluice/gateway/gatewaytest"
)

var plainChecks = []check{
	{"models", "the list has max_model_len, the only in-band word of the context limit", func(t *testing.T, s *server) {
		got := gatewaytest.Get(t, s.address, "/v1/models")
		s.matches(t, string(got.Body), `{"object":"list","data":[{"id":MODEL,"object":"model","created":«n»,"owned_by":"vllm","root":«s»,"parent":null,"max_model_len":«n»,"permission":[«any»]}]}`)
		if s.limit < 512 {
			t.Errorf("max_model_len is %d; the checks need 512", s.limit)
		}
	}},
	{"health", "/health is 200 with an empty body; /ping is the same by GET and POST", func(t *testing.T, s *server) {
		for _, got := range []*gatewaytest.Response{
			gatewaytest.Get(t, s.address, "/health"), gatewaytest.Get(t, s.address, "/ping"), gatewaytest.Post(t, s.address, "/ping", ""),
		} {
			if got.Status != 200 || len(got.Body) > 0 || got.Header.Get("Content-Length") != "0" {
				t.Errorf("got status %d, %v, %q", got.Status, got.Header, got.Body)
			}
		}
	}},
	{"version", "/version tells the release", func(t *testing.T, s *server) {
		s.matches(t, string(gatewaytest.Get(t, s.address, "/version").Body), `{"version":«s»}`)
	}},
	{"load", "/load counts nothing unless it is told to", func(t *testing.T, s *server) {
		s.matches(t, string(gatewaytest.Get(t, s.address, "/load").Body), `{"server_load":0}`)
	}},
	{"what there isn't", "an unknown path is 404, the wrong method 405, HEAD and OPTIONS among them, with the methods that are allowed", func(t *testing.T, s *server) {
		f := func(method, path string, status int, allow, body string) {
			t.Helper()
			got := (gatewaytest.Target{Address: s.address}).Fetch(t, gatewaytest.Request(method, path, ""))
			if got.Status != status || string(got.Body) != body || got.Header.Get("Allow") != allow {
				t.Errorf("%s %s: got status %d, Allow %q, %q", method, path, got.Status, got.Header.Get("Allow"), got.Body)
			}
		}
		const notAllowed = `{"detail":"Method Not Allowed"}`
		f("GET", "/v1/nothing", 404, "", `{"detail":"Not Found"}`)
		f("POST", "/v1/completions/nothing", 404, "", `{"detail":"Not Found"}`)
		f("GET", "/v1/chat/completions", 405, "POST", notAllowed)
		f("OPTIONS", "/v1/chat/completions", 405, "POST", notAllowed)
		f("PUT", "/v1/completions", 405, "POST", notAllowed)
		f("POST", "/v1/models", 405, "GET", notAllowed)
		f("HEAD", "/health", 405, "GET", "")
	}},
	{"control routes are off", "sleep, pause and their kin exist in development mode only", func(t *testing.T, s *server) {
		for _, path := range []string{"/sleep", "/wake_up", "/reset_prefix_cache", "/collective_rpc", "/start_profile", "/v1/load_lora_adapter"} {
			if got := gatewaytest.Post(t, s.address, path, "{}"); got.Status != 404 {
				t.Errorf("%s: got status %d", path, got.Status)
			}
		}
	}},
}
