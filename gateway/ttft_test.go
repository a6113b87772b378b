package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

// delta is a chat event with this delta.
func delta(members string) string {
	return gatewaytest.Data(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":[{"index":0,"delta":{` + members + `},"logprobs":null,"finish_reason":null}]}`)
}

// text is a completions event.
func text(s string) string {
	return gatewaytest.Data(`{"id":"cmpl-1","object":"text_completion","created":1760000000,"model":"m","choices":[{"index":0,"text":"` + s + `","logprobs":null,"finish_reason":null}]}`)
}

// The time to the first token is that of the first event that bears one, of
// whatever kind; what comes before it isn't one, and later ones don't count.
func TestTimeToFirstToken(t *testing.T) {
	const early = 60 * time.Millisecond // before the first token at least
	for _, tc := range []struct {
		name, path string
		before     []string // at once
		first      string   // after a pause: the first token
		rest       []string // when the client has seen that
	}{
		{"reasoning", "/v1/chat/completions", []string{gatewaytest.Role, ": ping\n\n"}, delta(`"reasoning_content":"Hm"`), gatewaytest.ChatEvents("a")[1:]},
		{"reasoning, new name", "/v1/chat/completions", []string{gatewaytest.Role}, delta(`"reasoning":"Hm"`), gatewaytest.ChatEvents("a")[1:]},
		{"content", "/v1/chat/completions", []string{": ping\n\n", gatewaytest.Role}, gatewaytest.Content("a"), gatewaytest.ChatEvents("b")[1:]},
		{"role and content in one", "/v1/chat/completions", []string{": ping\n\n"}, delta(`"role":"assistant","content":"a"`), gatewaytest.ChatEvents("b")[1:]},
		{"tool call", "/v1/chat/completions", []string{gatewaytest.Role, ": ping\n\n"},
			delta(`"tool_calls":[{"id":"c","type":"function","index":0,"function":{"name":"f","arguments":""}}]`), gatewaytest.ChatEvents("")[1:]},
		{"completions", "/v1/completions", []string{text(""), ": ping\n\n"}, text("a"), []string{strings.Replace(text("b"), `"finish_reason":null`, `"finish_reason":"stop"`, 1), gatewaytest.Done}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			seen := make(chan struct{})
			rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(tc.before...), gatewaytest.Pause(early), gatewaytest.Chunks(tc.first),
				gatewaytest.Wait(seen), gatewaytest.Pause(early), gatewaytest.Chunks(tc.rest...), gatewaytest.Send(gatewaytest.FinalChunk))
			r := start(t, onePool(2, rep))
			c := gatewaytest.Connect(t, r.data)
			body := `{"model":"m","stream":true,"prompt":"hi"}`
			if tc.path == "/v1/chat/completions" {
				body = gatewaytest.ChatBody("m", "hi", true)
			}
			sent := time.Now()
			if err := c.Send(gatewaytest.Request("POST", tc.path, body)); err != nil {
				t.Fatal(err)
			}
			readUpTo(t, c, tc.first)
			most := time.Since(sent)
			close(seen)
			if _, ending := c.Timeline(); ending != gatewaytest.Whole {
				t.Errorf("the stream ended %v", ending)
			}
			r.quiet()
			logged, known := r.lastTTFT(t)
			m := r.metrics()
			measured := time.Duration(sum(m, "sluice_time_to_first_token_seconds_sum") * float64(time.Second))
			if n := sum(m, "sluice_time_to_first_token_seconds_count"); n != 1 || !known || measured < early || measured > most || (logged-measured).Abs() > time.Millisecond { // the log rounds
				t.Errorf("%v samples, %v by the metrics, %v by the log; want one from %v to %v", n, measured, logged, early, most)
			}
			if total := sum(m, "sluice_request_duration_seconds_sum"); total < 2*early.Seconds() {
				t.Errorf("the whole took %v s, want at least %v", total, 2*early)
			}
		})
	}
}

// lastTTFT is ttft_ms of the access log's last line.
func (r *rig) lastTTFT(t *testing.T) (d time.Duration, known bool) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.access.String()), "\n")
	var line struct {
		TTFT *float64 `json:"ttft_ms"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		t.Fatal(err)
	}
	if line.TTFT == nil {
		return 0, false
	}
	return time.Duration(*line.TTFT * float64(time.Millisecond)), true
}

// No token, no time to it: neither for a stream that ends without one nor for an
// answer that isn't streamed. Both have a duration.
func TestNoTimeToFirstTokenWithoutOne(t *testing.T) {
	for name, tc := range map[string]struct {
		stream bool
		script gatewaytest.Script
	}{
		"empty stream": {true, gatewaytest.ChatStream()},
		"whole":        {false, gatewaytest.Script{gatewaytest.Send(gatewaytest.ChatAnswer("a", "stop", 1, 1))}},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, onePool(2, gatewaytest.NewReplica(t, tc.script...)))
			if answer := r.post(gatewaytest.ChatBody("m", "hi", tc.stream)); answer.Status != 200 || answer.Ending != gatewaytest.Whole {
				t.Fatalf("status %d, %v", answer.Status, answer.Ending)
			}
			r.quiet()
			m := r.metrics()
			samples, durations := sum(m, "sluice_time_to_first_token_seconds_count"), sum(m, "sluice_request_duration_seconds_count")
			if _, known := r.lastTTFT(t); samples != 0 || durations != 1 || known {
				t.Errorf("%v samples of TTFT, %v of the duration; want 0 and 1", samples, durations)
			}
		})
	}
}

// The queue is a part of the time to the first token, and is reported apart.
func TestQueueIsAPartOfTheTimeToFirstToken(t *testing.T) {
	const least = 80 * time.Millisecond
	rep := gatewaytest.NewReplica(t, gatewaytest.ChatStream("a")...)
	rep.Next(gatewaytest.Pause(least), gatewaytest.Send(gatewaytest.ChatAnswer("a", "stop", 1, 1)))
	r := start(t, onePool(1, rep))
	first := gatewaytest.Connect(t, r.data)
	sendChat(t, first, false)
	rep.Call(0)
	second := gatewaytest.Connect(t, r.data)
	sendChat(t, second, true)
	eventually(t, "the second waits", func() bool { return r.waiting() == 1 || len(rep.Calls()) == 2 })
	if _, err := second.ReadAnswer(); err != nil {
		t.Fatal(err)
	}
	r.quiet()
	m := r.metrics()
	queued, ttft := sum(m, "sluice_queue_wait_seconds_sum"), sum(m, "sluice_time_to_first_token_seconds_sum")
	if queued == 0 || ttft < queued {
		t.Errorf("queued for %v s, first token after %v s; want the queue in the latter", queued, ttft)
	}
}

// Slow calls fall into different finite buckets, up to 600 s; quick first tokens
// are told apart below 100 ms.
func TestBucketsReachSlowCalls(t *testing.T) {
	rep := gatewaytest.NewReplica(t, gatewaytest.ChatStream("a")...)
	r := start(t, onePool(1, rep))
	r.post(gatewaytest.ChatBody("m", "hi", true))
	r.quiet()
	m := r.metrics()
	has := func(name string, seconds ...float64) {
		for _, s := range seconds {
			if !hasSeries(m, name+"_bucket", fmt.Sprintf(`le="%v"`, s)) {
				t.Errorf("%s has no bucket up to %v s", name, s)
			}
		}
	}
	has("sluice_request_duration_seconds", 90, 300, 600) // 90 s and 400 s apart
	has("sluice_time_to_first_token_seconds", 0.01, 0.04, 0.08, 60, 600)
	has("sluice_queue_wait_seconds", 0.01, 60)
}

func hasSeries(m map[string]float64, name, label string) bool {
	for s := range m {
		if strings.HasPrefix(s, name+"{") && strings.Contains(s, label) {
			return true
		}
	}
	return false
}
