package gateway

import (
	"maps"
	"strings"
	"testing"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// TestAnswersThatContradictThemselves: an answer that ended in good order and can't
// be what it says is the client's as the replica made it; the metrics tell the
// operator.
func TestAnswersThatContradictThemselves(t *testing.T) {
	stream := func(events ...string) gt.Script {
		return gt.Script{gt.Send(gt.SSEHead), gt.Chunks(append(events, gt.Done)...), gt.Send(gt.FinalChunk)}
	}
	for _, tc := range []struct {
		name   string
		script gt.Script
		stream bool
		hidden string // kind; "": the answer is in order
	}{
		{"in order", stream(gt.Role, gt.Content("a"), gt.Finish("", "stop"), gt.Usage(3, 2)), true, ""},
		{"ends at once", stream(gt.Role, gt.Finish("", "stop"), gt.Usage(3, 1)), true, ""},
		{"says nothing", stream(gt.Role, gt.Finish("", "stop"), gt.Usage(3, 0)), true, "no_token"},
		{"says nothing and counts nothing", stream(gt.Role, gt.Finish("", "length")), true, "no_token"},
		{"counts nothing", stream(gt.Role, gt.Content("a"), gt.Content("b"), gt.Finish("", "stop"), gt.Usage(3, 0)), true, "usage_contradicts"},
		{"counts too few", stream(gt.Role, gt.Content("a"), gt.Content("b"), gt.Finish("", "stop"), gt.Usage(3, 1)), true, "usage_contradicts"},
		{"counts too many", stream(gt.Role, gt.Content("a"), gt.Finish("", "stop"), gt.Usage(3, 10)), true, "usage_contradicts"},
		{"in order, as a whole", gt.Script{gt.Send(gt.ChatAnswer("a", "stop", 3, 2))}, false, ""},
		{"ends at once, as a whole", gt.Script{gt.Send(gt.ChatAnswer("", "stop", 3, 1))}, false, ""},
		{"says nothing, as a whole", gt.Script{gt.Send(gt.ChatAnswer("", "stop", 3, 0))}, false, "no_token"},
		{"counts nothing, as a whole", gt.Script{gt.Send(gt.ChatAnswer("a", "stop", 3, 0))}, false, "usage_contradicts"},
		{"counts too many, as a whole", gt.Script{gt.Send(gt.ChatAnswer("a", "stop", 3, 10))}, false, "usage_contradicts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rep := gt.NewReplica(t, tc.script...)
			r := start(t, poolPolicyYAML(2, rep.URL()))
			body := `{"model":"served","messages":[{"role":"user","content":"hi"}],"max_tokens":9,"stream":false}`
			if tc.stream {
				body = strings.Replace(body, `false}`, `true,"stream_options":{"include_usage":true}}`, 1)
			}
			got := r.post(body)
			want := gt.Post(t, strings.TrimPrefix(rep.URL(), "http://"), "/v1/chat/completions", body)
			if got.Status != 200 || got.Ending != gt.Whole || string(got.Body) != string(want.Body) {
				t.Errorf("status %d, ending %v:\n%s\nwant, as without the gateway,\n%s", got.Status, got.Ending, got.Body, want.Body)
			}
			r.quiet()
			if n := r.outcomes(router.Completed); n != 1 {
				t.Errorf("%d completed", n)
			}
			m := r.metrics()
			hidden := hiddenIn(m)
			maps.DeleteFunc(hidden, func(_ string, n float64) bool { return n == 0 })
			if tc.hidden == "" && len(hidden) > 0 || tc.hidden != "" && (len(hidden) != 1 || hidden[tc.hidden] != 1) {
				t.Errorf("silent failures %v, want %q", hidden, tc.hidden)
			}
		})
	}
}
