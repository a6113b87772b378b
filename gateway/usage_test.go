package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

// meter is a replica that tells its usage as vLLM does: in a chunk of its own
// where a stream's request asked for it, in every chunk too where it asked for
// that besides, and always in an answer that isn't streamed.
type meter struct{ bodies chan string }

func (m meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		return // a health check
	}
	raw, err := io.ReadAll(r.Body)
	var asked struct {
		Stream  bool
		Options struct {
			Include    bool `json:"include_usage"`
			Continuous bool `json:"continuous_usage_stats"`
		} `json:"stream_options"`
	}
	if err != nil || json.Unmarshal(raw, &asked) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	select {
	case m.bodies <- string(raw):
	default: // asked directly: nobody listens
	}
	if !asked.Stream {
		answerWhole(w)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, meterStream(asked.Options.Include, asked.Options.Continuous)) // the client may have gone
}

func meterStream(include, continuous bool) string {
	events := gatewaytest.ChatEvents("a", "b", "c")
	done := len(events) - 1
	if include && continuous {
		for i := range events[:done] {
			events[i] = strings.TrimSuffix(events[i], "}\n\n") + fmt.Sprintf(`,"usage":{"prompt_tokens":11,"total_tokens":%d,"completion_tokens":%d}}`, 11+i, i) + "\n\n"
		}
	}
	if include {
		events = append(events[:done:done], gatewaytest.Usage(11, 3), events[done])
	}
	return strings.Join(events, "")
}

// A client sees exactly the usage that it would see without the gateway, which
// counts the tokens all the same.
func TestUsageIsNeitherForcedNorTaken(t *testing.T) {
	for _, tc := range []struct {
		name, options string // members of the body
		body          string // at the replica, where it isn't the client's
	}{
		{"a: no options", `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`},
		{"b: asked for", `"stream":true,"stream_options":{"include_usage":true}`, ""},
		{"c: not wanted", `"stream":true,"stream_options":{"include_usage":false}`, `"stream":true,"stream_options":{"include_usage":true}`},
		{"d: asked for in every chunk", `"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`, ""},
		{"e: null", `"stream":true,"stream_options":null`, `"stream":true,"stream_options":{"include_usage":true}`},
		{"f: not streamed", `"stream":false`, ""},
		{"g: empty options", `"stream":true,"stream_options":{}`, `"stream":true,"stream_options":{"include_usage":true}`},
		{"h: another option", `"stream":true,"stream_options":{"include_obfuscation":false}`, `"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}`},
		{"i: in every chunk, but not asked for", `"stream":true,"stream_options":{"continuous_usage_stats":true}`, ""},
		{"j: stream is null", `"stream":null,"stream_options":null`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := meter{bodies: make(chan string, 1)}
			server := httptest.NewServer(m)
			defer server.Close()
			r := start(t, poolPolicyYAML(2, server.URL))
			body := func(options string) string {
				return `{"model":"served",` + options + `,"messages":[{"role":"user","content":"hi"}]}`
			}
			want := gatewaytest.Post(t, strings.TrimPrefix(server.URL, "http://"), "/v1/chat/completions", body(tc.options))
			<-m.bodies
			got := r.post(body(tc.options))
			if got.Status != 200 || string(got.Body) != string(want.Body) {
				t.Errorf("status %d, got\n%s\nwant, as without the gateway,\n%s", got.Status, got.Body, want.Body)
			}
			if sent := <-m.bodies; tc.body == "" && sent != body(tc.options) || tc.body != "" && !sameJSON(t, sent, body(tc.body)) {
				t.Errorf("the replica got %s", sent)
			}
			r.quiet()
			checkTokens(t, r, strings.HasPrefix(tc.name, "i"), strings.Contains(tc.options, `"stream":true`))
		})
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Errorf("%s: %v", a, err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Errorf("%s: %v", b, err)
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// checkTokens checks that the tokens were counted, or that it is said that they
// are unknown.
func checkTokens(t *testing.T, r *rig, unknown, stream bool) {
	t.Helper()
	in, out := 3.0, 1.0 // of answerWhole
	switch {
	case unknown:
		in, out = 0, 0
	case stream:
		in, out = 11, 3
	}
	m := r.metrics()
	if gotIn, gotOut := m[`sluice_tokens_total{type="input"}`], m[`sluice_tokens_total{type="output"}`]; gotIn != in || gotOut != out {
		t.Errorf("%v tokens in, %v out; want %v and %v", gotIn, gotOut, in, out)
	}
	if missing := m["sluice_usage_missing_total"]; (missing == 1) != unknown {
		t.Errorf("usage_missing_total is %v", missing)
	}
	if line := r.access.String(); strings.Contains(line, `"tokens_out":null`) != unknown {
		t.Errorf("the access log says %s", line)
	}
}

// A replica that doesn't tell its usage although asked: it is unknown, not 0.
func TestUsageThatIsNotToldIsUnknown(t *testing.T) {
	rep := gatewaytest.NewReplica(t, gatewaytest.ChatStream("a", "b")...)
	r := start(t, onePool(2, rep))
	if answer := r.post(gatewaytest.ChatBody("m", "hi", true)); answer.Status != 200 {
		t.Fatalf("status %d", answer.Status)
	}
	r.quiet()
	checkTokens(t, r, true, true)
}
