package vllmsim

import (
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

func TestParseRelease(t *testing.T) {
	for _, r := range Releases() {
		if got, err := ParseRelease(string(r)); got != r || err != nil {
			t.Errorf("%s: got %q, %v", r, got, err)
		}
	}
	if _, err := ParseRelease("0.1"); err == nil || !strings.Contains(err.Error(), "0.10.0") {
		t.Errorf("got %v", err)
	}
	if err := (Options{Release: "0.1"}).Check(); err == nil {
		t.Error("an unknown release starts")
	}
}

// What 0.10.0 answers to requests that it refuses, to the byte.
func TestFlatErrors(t *testing.T) {
	_, address := start(t, Options{Release: V0100, MaxModelLen: 1024, MaxNumSeqs: 8})
	f := func(path, body string, status int, want string) {
		t.Helper()
		if got := post(t, address, path, body); got.Status != status || string(got.Body) != want {
			t.Errorf("%s %.80s: got status %d, %s\nwant %s", path, body, got.Status, got.Body, want)
		}
	}
	flat := func(message, kind, code string) string {
		return `{"object":"error","message":"` + message + `","type":"` + kind + `","param":null,"code":` + code + `}`
	}
	const chat, text = "/v1/chat/completions", "/v1/completions"
	const hello = `"messages":[{"role":"user","content":"hi"}]` // 10 tokens
	f(chat, `{"model":"x",`+hello+`}`, 404, flat("The model `x` does not exist.", "NotFoundError", "404"))
	f(chat, `{"model":"m"}`, 400, flat("[{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required'}]", "Bad Request", "400"))
	f(chat, `[]`, 400, flat("[{'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should be a valid dictionary or object to extract fields from'}]", "Bad Request", "400"))
	f(chat, `{"model":"m"]`, 400, flat("[{'type': 'json_invalid', 'loc': ('body', 13), 'msg': 'JSON decode error'}]", "Bad Request", "400"))
	f(chat, `{`+hello+`,"temperature":-1}`, 400, flat("temperature must be non-negative, got -1.", "BadRequestError", "400"))
	f(chat, `{`+hello+`,"max_tokens":0}`, 400, flat("max_tokens must be at least 1, got 0.", "BadRequestError", "400"))
	f(chat, `{`+hello+`,"max_tokens":1015}`, 400, flat("This model's maximum context length is 1024 tokens. However, you requested 1025 tokens (10 in the messages, 1015 in the completion). Please reduce the length of the messages or completion. None", "BadRequestError", "400"))
	f(chat, `{"messages":[{"role":"assistant","content":"hi"}]}`, 400, flat("Conversation roles must alternate user/assistant/user/assistant/... None", "BadRequestError", "400"))
	long := strings.Repeat("long", 1023) // and <bos>: 1,024 tokens
	f(text, `{"prompt":"`+long+`"}`, 400, flat("This model's maximum context length is 1024 tokens. However, you requested 1040 tokens (1024 in the messages, 16 in the completion). Please reduce the length of the messages or completion.", "BadRequestError", "400"))
	f(chat, `{"messages":[{"role":"user","content":"`+long+`"}]}`, 400, flat("This model's maximum context length is 1024 tokens. However, you requested 1032 tokens in the messages, Please reduce the length of the messages. None", "BadRequestError", "400"))
	f("/tokenize", `{"model":"x","prompt":"hi"}`, 404, flat("The model `x` does not exist.", "NotFoundError", "404"))
	f("/v1/messages", `{`+hello+`,"max_tokens":5}`, 404, `{"detail":"Not Found"}`)
	f("/v1/messages/count_tokens", `{"model":"m",`+hello+`}`, 404, `{"detail":"Not Found"}`)
	raw := gatewaytest.Request("POST", chat, "", "Content-Type: text/plain", "Content-Length: 2") + "{}"
	got := (gatewaytest.Target{Address: address}).Fetch(t, raw)
	if want := flat(`[\"Unsupported Media Type: Only 'application/json' is allowed\"]`, "Bad Request", "400"); string(got.Body) != want {
		t.Errorf("got %s\nwant %s", got.Body, want)
	}
}

// A stream that fails says in 0.10.0 that the request was bad, whatever it was.
func TestFlatEvents(t *testing.T) {
	f := func(path, body, fault, want string) {
		t.Helper()
		_, address := start(t, Options{Release: V0100, Speed: 100})
		got := gatewaytest.Post(t, address, path, body, "X-Sim-Fault: "+fault)
		if !strings.HasSuffix(string(got.Body), want) || got.Status != 200 {
			t.Errorf("%s %s: got status %d, %s\nwant %s", path, body, got.Status, got.Body, want)
		}
	}
	event := func(message string) string {
		return `data: {"error": {"object": "error", "message": "` + message + `", "type": "BadRequestError", "param": null, "code": 400}}` + "\n\ndata: [DONE]\n\n"
	}
	const stream = `"stream":true,"max_tokens":900,"ignore_eos":true` // more than is made before the fault strikes
	f("/v1/completions", `{"prompt":"hi","seed":1,`+stream+`}`, "hang:after=100", event("JAX does not support per-request seed."))
	f("/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}],`+stream+`}`, "error-event:after=2", event(generationFailed.message))
	f("/v1/completions", `{"prompt":"hi",`+stream+`}`, "engine-dead:after=2", event(engineDead.message))
}

// An engine that has died leaves 0.10.0 without words.
func TestFlatDeath(t *testing.T) {
	_, address := start(t, Options{Release: V0100, Speed: 100})
	got := gatewaytest.Post(t, address, "/v1/completions", `{"prompt":"hi","max_tokens":900,"ignore_eos":true}`, "X-Sim-Fault: engine-dead:after=1")
	if got.Status != 500 || len(got.Body) > 0 || got.Header.Get("Content-Length") != "0" {
		t.Errorf("got status %d, %v, %q", got.Status, got.Header, got.Body)
	}
}

// The answers of 0.10.0 lack what came later.
func TestOlderAnswers(t *testing.T) {
	_, address := start(t, Options{Release: V0100, Speed: 100})
	f := func(path, body, want string) {
		t.Helper()
		if got := fixed(post(t, address, path, body).Body); got != want {
			t.Errorf("%s %s: got\n%s\nwant\n%s", path, body, got, want)
		}
	}
	const chat = `data: {"id":"chatcmpl-r1","object":"chat.completion.chunk","created":1,"model":"m","choices":[`
	const text = `data: {"id":"cmpl-r1","object":"text_completion","created":1,"model":"m","choices":[`
	const usage = `"usage":{"prompt_tokens":10,"total_tokens":11,"completion_tokens":1`
	const one = `,"max_tokens":1,"guided_choice":["yes"],"stream":true,"stream_options":{"include_usage":true}}`
	f("/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}]`+one,
		chat+`{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`+"\n\n"+
			chat+`{"index":0,"delta":{"content":"yes"},"logprobs":null,"finish_reason":"stop","stop_reason":null}]}`+"\n\n"+
			chat+`],`+usage+"}}\n\ndata: [DONE]\n\n")
	f("/v1/completions", `{"prompt":"12345678901234567890123456789012345"`+one,
		text+`{"index":0,"text":"yes","logprobs":null,"finish_reason":"stop","stop_reason":null}],"usage":null}`+"\n\n"+
			text+`],`+usage+"}}\n\ndata: [DONE]\n\n")
	f("/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}],"guided_choice":["yes"],"max_tokens":1}`,
		`{"id":"chatcmpl-r1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes","refusal":null,"annotations":null,"audio":null,"function_call":null,"tool_calls":[],"reasoning_content":null},"logprobs":null,"finish_reason":"stop","stop_reason":null}],"service_tier":null,"system_fingerprint":null,`+
			usage+`,"prompt_tokens_details":null},"prompt_logprobs":null,"kv_transfer_params":null}`)
	f("/v1/completions", `{"prompt":"12345678901234567890123456789012345","guided_choice":["yes"],"max_tokens":1}`,
		`{"id":"cmpl-r1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"yes","logprobs":null,"finish_reason":"stop","stop_reason":null,"prompt_logprobs":null}],"service_tier":null,"system_fingerprint":null,`+
			usage+`,"prompt_tokens_details":null},"kv_transfer_params":null}`)
	f("/version", "", `{"detail":"Method Not Allowed"}`)
	if got := string(gatewaytest.Get(t, address, "/version").Body); got != `{"version":"0.10.0"}` {
		t.Errorf("got %s", got)
	}
}

// New releases take guided_choice and its kin and don't look at them; structured_outputs is
// new to 0.10.0.
func TestWhoReadsGuided(t *testing.T) {
	f := func(release Release, member string, obeyed bool) {
		t.Helper()
		_, address := start(t, Options{Release: release, Speed: 100})
		got := post(t, address, "/v1/completions", `{"prompt":"hi","max_tokens":5,`+member+`}`)
		if strings.Contains(string(got.Body), `"text":"aye"`) != obeyed || got.Status != 200 {
			t.Errorf("%s %s: got status %d, %s", release, member, got.Status, got.Body)
		}
	}
	f(V0100, `"guided_choice":["aye"]`, true)
	f(V0320, `"guided_choice":["aye"]`, false)
	f(V0100, `"guided_regex":"aye"`, true)
	f(V0100, `"structured_outputs":{"choice":["aye"]}`, false)
	f(V0320, `"structured_outputs":{"choice":["aye"]}`, true)
}
