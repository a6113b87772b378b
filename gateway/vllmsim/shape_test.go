package vllmsim

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/gatewaytest"
)

// Streams to the byte, but for times of day. A gateway's tests lean on these.
func TestStreamShapes(t *testing.T) {
	_, address := start(t, Options{Speed: 50})
	f := func(path, body string, want ...string) {
		t.Helper()
		got := post(t, address, path, body)
		if got.Status != 200 || got.Ending != gatewaytest.Whole || got.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
			t.Fatalf("%s: got status %d, ending %v, %v", path, got.Status, got.Ending, got.Header)
		}
		if text, all := fixed(got.Body), strings.Join(want, ""); text != all {
			t.Errorf("%s: got\n%s\nwant\n%s", path, text, all)
		}
	}
	chat := `data: {"id":"chatcmpl-r1","object":"chat.completion.chunk","created":1,"model":"m","choices":[`
	f("/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":1,"ignore_eos":true}`,
		chat+`{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}`+"\n\n",
		chat+`{"index":0,"delta":{"content":"see"},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}],"system_fingerprint":"`+fingerprint+`"}`+"\n\n",
		"data: [DONE]\n\n")
	f("/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}],"stream":true,"structured_outputs":{"choice":["yes"]},"stream_options":{"include_usage":true}}`,
		chat+`{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}`+"\n\n",
		chat+`{"index":0,"delta":{"content":"yes"},"logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":null}]}`+"\n\n",
		chat+`],"usage":{"prompt_tokens":10,"total_tokens":11,"completion_tokens":1},"system_fingerprint":"`+fingerprint+`"}`+"\n\n",
		"data: [DONE]\n\n")
	text := `data: {"id":"cmpl-r1","object":"text_completion","created":1,"model":"m","choices":[`
	f("/v1/completions", `{"model":"m","prompt":"hi","stream":true,"max_tokens":1,"ignore_eos":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
		text+`{"index":0,"text":"number","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_token_ids":null,"token_ids":null}],"usage":{"prompt_tokens":2,"total_tokens":3,"completion_tokens":1}}`+"\n\n",
		text+`],"usage":{"prompt_tokens":2,"total_tokens":3,"completion_tokens":1},"system_fingerprint":"`+fingerprint+`"}`+"\n\n",
		"data: [DONE]\n\n")
	f("/v1/messages", `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":1,"ignore_eos":true}`,
		gatewaytest.TypedEvent("message_start", `{"type":"message_start","message":{"id":"chatcmpl-r1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":0}}}`),
		gatewaytest.TypedEvent("content_block_start", `{"type":"content_block_start","content_block":{"type":"text","text":""},"index":0}`),
		gatewaytest.TypedEvent("content_block_delta", `{"type":"content_block_delta","delta":{"type":"text_delta","text":"see"},"index":0}`),
		gatewaytest.TypedEvent("content_block_stop", `{"type":"content_block_stop","index":0}`),
		gatewaytest.TypedEvent("message_delta", `{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"input_tokens":10,"output_tokens":1}}`),
		gatewaytest.TypedEvent("message_stop", `{"type":"message_stop"}`))
}

func TestResponsesStreamIsNumberedAndComplete(t *testing.T) {
	_, address := start(t, Options{Speed: 50})
	got := post(t, address, "/v1/responses", `{"model":"m","input":"hi","stream":true,"max_output_tokens":3,"ignore_eos":true}`)
	var names []string
	for i, e := range got.Events() {
		if n := len(names); n == 0 || names[n-1] != e.Name() {
			names = append(names, e.Name())
		}
		if number := regexp.MustCompile(`"sequence_number":(\d+)`).FindStringSubmatch(e.Data()); len(number) != 2 || number[1] != itoa(i) {
			t.Errorf("event %d is numbered %v", i, number)
		}
	}
	want := "response.created response.in_progress response.output_item.added response.content_part.added response.output_text.delta " +
		"response.output_text.done response.content_part.done response.output_item.done response.completed"
	if strings.Join(names, " ") != want {
		t.Errorf("got events %v", names)
	}
	if last := got.Events()[len(got.Events())-1].Data(); !strings.Contains(last, `"status":"incomplete"`) || !strings.Contains(last, `"output_tokens":3`) {
		t.Errorf("got last event %s", last)
	}
}

func TestHeadComesBeforePrefill(t *testing.T) {
	s, address := start(t, Options{Speed: 0.001}) // the prompt alone takes tens of seconds
	c := gatewaytest.Connect(t, address)
	c.Send(gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true)))
	if head, err := c.ReadHead(); err != nil || head.Status != 200 || head.Header.Get("Transfer-Encoding") != "chunked" {
		t.Fatalf("got %+v, %v", head, err)
	}
	waitHeld(t, s, 1)
}

// writes is when an answer was written.
type writes struct {
	*httptest.ResponseRecorder
	at []time.Time
}

func (w *writes) Write(p []byte) (int, error) {
	w.at = append(w.at, time.Now())
	return w.ResponseRecorder.Write(p)
}

// A stream arrives token by token, an event for each step of the engine, and an
// idle replica keeps the modelled times.
func TestStreamArrivesTokenByToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Size: "gemma-3-12b", Model: "m"}.withDefaults()
		s := New(o)
		defer s.Shutdown(t.Context())
		r := httptest.NewRequest("POST", "/v1/completions", strings.NewReader(`{"prompt":"hi","stream":true,"max_tokens":10,"ignore_eos":true}`))
		r.Header.Set("Content-Type", "application/json")
		w, start := &writes{ResponseRecorder: httptest.NewRecorder()}, time.Now()
		s.Handler().ServeHTTP(w, r)
		if len(w.at) != 10 || strings.Count(w.Body.String(), "data: ") != 11 {
			t.Fatalf("got %d writes: %s", len(w.at), w.Body)
		}
		for i, at := range w.at {
			got, want := at.Sub(start), expectedTime(t, o, 2, i+1)
			if (got - want).Abs() > time.Millisecond {
				t.Errorf("token %d came after %v, want %v", i+1, got, want)
			}
		}
	})
}

func TestSeedInAStreamFailsAfterThe200(t *testing.T) {
	_, address := start(t, Options{})
	got := post(t, address, "/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}],"stream":true,"seed":1}`)
	want := `data: {"error": {"message": "JAX does not support per-request seed.", "type": "BadRequestError", "param": null, "code": 400}}` + "\n\ndata: [DONE]\n\n"
	if got.Status != 200 || string(got.Body) != want {
		t.Errorf("got status %d, %s", got.Status, got.Body)
	}
}
