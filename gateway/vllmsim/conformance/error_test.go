package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

// wrong is a request that a server refuses.
type wrong struct {
	path, body string
	status     int
	kind       string // the error's type
	param      string // its param; "": null
	text       string // part of the message
}

const (
	invalid = "Bad Request"     // the body doesn't have the right form
	refused = "BadRequestError" // it has, but can't be served
	unknown = "NotFoundError"
)

var errorChecks = []check{
	{"errors of chat", "status, type, param and code of what is refused, streamed or not", func(t *testing.T, s *server) {
		const path = "/v1/chat/completions"
		const hello = `"model":MODEL,"messages":[{"role":"user","content":"hello"}]`
		s.refuses(t,
			wrong{path, `{"model":"other","messages":[{"role":"user","content":"x"}]}`, 404, unknown, "model", "The model `other` does not exist."},
			wrong{path, `{"model":"other","messages":[{"role":"user","content":"x"}],"stream":true}`, 404, unknown, "model", "does not exist"},
			wrong{path, `{"model":MODEL,`, 400, invalid, "body.*", "JSON decode error"},
			wrong{path, `[]`, 400, invalid, "body", "Input should be a valid dictionary"},
			wrong{path, `{"model":MODEL}`, 400, invalid, "body.messages", "Field required"},
			wrong{path, `{"model":MODEL,"messages":[]}`, 400, refused, "", ""},
			wrong{path, `{"model":MODEL,"messages":[{"role":"assistant","content":"x"}]}`, 400, refused, "", "Conversation roles must alternate"},
			wrong{path, `{"model":MODEL,"messages":[{"role":"user","content":"x"},{"role":"user","content":"x"}],"stream":true}`, 400, refused, "", "Conversation roles must alternate"},
			wrong{path, `{` + hello + `,"max_tokens":0}`, 400, refused, "max_tokens", "max_tokens must be at least 1, got 0."},
			wrong{path, `{` + hello + `,"max_tokens":-1}`, 400, refused, "max_tokens", "max_tokens must be at least 1, got -1."},
			wrong{path, `{` + hello + `,"max_tokens":"a"}`, 400, invalid, "body.max_tokens", "Input should be a valid integer"},
			wrong{path, `{` + hello + `,"temperature":-1}`, 400, refused, "temperature", "temperature must be non-negative"},
			wrong{path, `{` + hello + `,"tools":[]}`, 400, refused, "tools", "must not be an empty array"},
			wrong{path, `{` + hello + `,"n":0}`, 400, refused, "", "n must be at least 1, got 0."},
			wrong{path, `{` + hello + `,"n":20000}`, 400, refused, "", "n must be at most 16384, got 20000."},
			wrong{path, `{` + hello + `,"stream_options":{"include_usage":true}}`, 400, refused, "stream_options", "Stream options can only be defined when `stream=True`."},
		)
	}},
	{"errors of completions", "status, type, param and code of what is refused", func(t *testing.T, s *server) {
		const path = "/v1/completions"
		s.refuses(t,
			wrong{path, `{"model":"other","prompt":"x"}`, 404, unknown, "model", "does not exist"},
			wrong{path, `{"model":MODEL}`, 400, refused, "prompt", "must be provided and non-empty"},
			wrong{path, `{"model":MODEL,"prompt":""}`, 400, refused, "prompt", "must be provided and non-empty"},
			wrong{path, `{"model":MODEL,"prompt":[]}`, 400, refused, "", "You must pass at least one prompt"},
			wrong{path, `{"model":MODEL,"prompt":"x","max_tokens":0}`, 400, refused, "max_tokens", "max_tokens must be at least 1, got 0."},
			wrong{path, `{"model":MODEL,"prompt":"x","n":0}`, 400, refused, "", "n must be at least 1"},
			wrong{path, `{"model":MODEL,"prompt":"x","stream_options":{"include_usage":true}}`, 400, refused, "stream_options", "Stream options can only"},
		)
	}},
	{"errors of responses", "status, type, param and code of what is refused", func(t *testing.T, s *server) {
		const path = "/v1/responses"
		s.refuses(t,
			wrong{path, `{"model":"other","input":"x"}`, 404, unknown, "model", "does not exist"},
			wrong{path, `{"model":MODEL}`, 400, invalid, "body.input", "Field required"},
			wrong{path, `{"model":MODEL,"input":"x","max_output_tokens":0}`, 400, refused, "max_tokens", "must be at least 1, got 0."},
			wrong{path, `{"model":MODEL,"input":"x","previous_response_id":"resp_0"}`, 404, "invalid_request_error", "response_id", "Response with id 'resp_0' not found."},
		)
	}},
	{"errors of messages", "Anthropic's shape, but OpenAI's for a body of the wrong form", func(t *testing.T, s *server) {
		f := func(body string, status int, pattern string) {
			t.Helper()
			got := s.post(t, "/v1/messages", body)
			if got.Status != status {
				t.Errorf("%s: got status %d", body, got.Status)
			}
			s.matches(t, string(got.Body), pattern)
		}
		const hello = `"messages":[{"role":"user","content":"hello"}]`
		f(`{"model":"other",`+hello+`,"max_tokens":1}`, 404, `{"type":"error","error":{"type":"NotFoundError","message":"The model `+"`other`"+` does not exist.«any»"}}`)
		f(`{"model":MODEL,`+hello+`,"max_tokens":500000}`, 400, `{"type":"error","error":{"type":"BadRequestError","message":"max_completion_tokens=500000 cannot be greater than max_model_len«any»"}}`)
		f(`{"model":MODEL,`+hello+`}`, 400, `{"error":{"message":"1 validation error:«any»Field required«any»","type":"Bad Request","param":"body.max_tokens","code":400}}`)
		f(`{"model":MODEL,`, 400, `{"error":{"message":"1 validation error:«any»JSON decode error«any»","type":"Bad Request","param":«s»,"code":400}}`)
	}},
	{"too long", "400 whose message names max_model_len; the param tells a long prompt from a large bound", func(t *testing.T, s *server) {
		long := strings.Repeat("hello ", 3*s.limit/2) // more tokens than fit, in far fewer characters than the precheck allows
		huge := strings.Repeat("hello ", 40*s.limit)
		const chat, text = "/v1/chat/completions", "/v1/completions"
		hello := `{"model":MODEL,"messages":[{"role":"user","content":"hello"}]`
		limit := fmt.Sprint(s.limit)
		s.refuses(t,
			wrong{chat, `{"model":MODEL,"messages":[{"role":"user","content":"` + long + `"}]}`, 400, refused, "input_tokens", "maximum context length is " + limit + " tokens. However, your prompt contains at least"},
			wrong{text, `{"model":MODEL,"prompt":"` + long + `","stream":true}`, 400, refused, "input_tokens", "maximum context length is " + limit},
			wrong{text, `{"model":MODEL,"prompt":"` + long + `","max_tokens":7}`, 400, refused, "input_tokens", "maximum context length is " + limit},
			wrong{chat, `{"model":MODEL,"messages":[{"role":"user","content":"` + huge + `"}]}`, 400, refused, "input_text", "characters"},
			wrong{chat, hello + `,"max_tokens":500000}`, 400, refused, "max_tokens", "max_tokens=500000 cannot be greater than max_model_len=" + limit},
			wrong{text, fmt.Sprintf(`{"model":MODEL,"prompt":[%s5]}`, strings.Repeat("5,", s.limit-1)), 400, refused, "*", ""}, // input_tokens before 0.32, max_tokens since
		)
	}},
	{"a bound that the prompt leaves no room for", "up to 0.31 a 400 with param input_tokens; since 0.32 the answer may take what is left", func(t *testing.T, s *server) {
		body := fmt.Sprintf(`{"model":MODEL,"messages":[{"role":"user","content":"hello"}],"max_tokens":%d,"structured_outputs":{"choice":["yes"]}}`, s.limit)
		if got := s.post(t, "/v1/chat/completions", body); got.Status == 400 {
			s.refuses(t, wrong{"/v1/chat/completions", body, 400, refused, "input_tokens", "maximum context length is"})
		} else if text := decode[chunk](t, got).Choices[0].Message.Content; text != "yes" {
			t.Errorf("got %q", text)
		}
	}},
	{"only JSON", "any Content-Type but application/json is refused; parameters of it are fine", func(t *testing.T, s *server) {
		f := func(line string, status int) {
			t.Helper()
			body := s.body(`{"model":MODEL,"messages":[{"role":"user","content":"hello"}],"max_tokens":1}`)
			raw := gatewaytest.Request("POST", "/v1/chat/completions", "", line, fmt.Sprintf("Content-Length: %d", len(body))) + body
			got := (gatewaytest.Target{Address: s.address}).Fetch(t, raw)
			if got.Status != status || (status == 400 && !strings.Contains(string(got.Body), "Only 'application/json' is allowed")) {
				t.Errorf("%s: got status %d, %s", line, got.Status, got.Body)
			}
		}
		f("Content-Type: text/plain", 400)
		f("X-None: 1", 400)
		f("Content-Type: application/json; charset=utf-8", 200)
	}},
}

// apiError is an error object; Object is there in flat ones only.
type apiError struct {
	Object, Message, Type string
	Param                 *string
	Code                  int
}

// errorOf reads an error body: new releases nest the object, those up to 0.10.0
// don't.
func (s *server) errorOf(body []byte) (*apiError, error) {
	var flat apiError
	if s.flat() {
		err := json.Unmarshal(body, &flat)
		return &flat, err
	}
	var nested struct{ Error *apiError }
	err := json.Unmarshal(body, &nested)
	if err == nil && nested.Error == nil {
		err = errors.New("no error object")
	}
	return nested.Error, err
}

// flat says whether the server's error bodies are.
func (s *server) flat() bool { return s.before("0.10.1") }

// refuses sends each request and checks the error object. What flat ones say in
// their message, and that it has no param, is checked by vllmsim's own tests.
func (s *server) refuses(t *testing.T, requests ...wrong) {
	t.Helper()
	for _, w := range requests {
		got := s.post(t, w.path, w.body)
		e, err := s.errorOf(got.Body)
		if err != nil || got.Status != w.status || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %.200s: got status %d, %v, %.300s (%v)", w.path, w.body, got.Status, got.Header, got.Body, err)
			continue
		}
		if e.Code != w.status || s.flat() && (e.Object != "error" || e.Message == "" || e.Type == "" || e.Param != nil) ||
			!s.flat() && (e.Type != w.kind || !strings.Contains(e.Message, w.text) || !isParam(e.Param, w.param)) {
			t.Errorf("%s %.200s: got %.400s", w.path, w.body, got.Body)
		}
	}
}

// isParam compares; a * at the end of want stands for anything.
func isParam(got *string, want string) bool {
	if got == nil {
		return want == ""
	}
	prefix, open := strings.CutSuffix(want, "*")
	return *got == want || open && strings.HasPrefix(*got, prefix)
}
