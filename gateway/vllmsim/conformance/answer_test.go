package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// usage is what an answer says of its tokens.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Total      int `json:"total_tokens"`
	Completion int `json:"completion_tokens"`
}

// chunk is an event of a chat or completions stream, or a whole answer.
type chunk struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Choices []struct {
		Index int    `json:"index"`
		Text  string `json:"text"`
		Delta struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"delta"`
		Message struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"message"`
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
}

func chunkOf(t *testing.T, data string) *chunk {
	t.Helper()
	var c chunk
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return &c
}

func usageOf(t *testing.T, data string) *usage {
	t.Helper()
	return chunkOf(t, data).Usage
}

var answerChecks = []check{
	{"chat answer", "id, object, one choice with message and finish reason, usage", func(t *testing.T, s *server) {
		got := s.post(t, "/v1/chat/completions", strings.TrimSuffix(askChat, `,"stream":true`)+`}`)
		if got.Status != 200 || got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Content-Length") == "" {
			t.Errorf("got status %d, header %v", got.Status, got.Header)
		}
		s.matches(t, string(got.Body), `{"id":"chatcmpl-`+requestID+`","object":"chat.completion","created":«n»,"model":MODEL,"choices":[{"index":0,"message":{"role":"assistant","content":«s»,"refusal":null,"annotations":null,"audio":null,"function_call":null,«?"tool_calls":[],»"reasoning«?_content»":null},"logprobs":null,"finish_reason":"length","stop_reason":null«?,"token_ids":null»«?,"routed_experts":null»}],"service_tier":null,"system_fingerprint":«any»,"usage":{"prompt_tokens":«n»,"total_tokens":«n»,"completion_tokens":4,"prompt_tokens_details":null«?,"completion_tokens_details":null»},"prompt_logprobs":null«?,"prompt_token_ids":null»«?,"prompt_text":null»,"kv_transfer_params":null«any»}`)
	}},
	{"completions answer", "id, object, one choice with text and finish reason, usage", func(t *testing.T, s *server) {
		got := s.post(t, "/v1/completions", `{"model":MODEL,"prompt":"hello world","max_tokens":4,"ignore_eos":true}`)
		s.matches(t, string(got.Body), `{"id":"cmpl-`+requestID+`","object":"text_completion","created":«n»,"model":MODEL,"choices":[{"index":0,"text":«s»,"logprobs":null,"finish_reason":"length","stop_reason":null«?,"token_ids":null»,"prompt_logprobs":null«?,"prompt_token_ids":null»«?,"routed_experts":null»}],"service_tier":null,"system_fingerprint":«any»,"usage":{"prompt_tokens":«n»,"total_tokens":«n»,"completion_tokens":4,"prompt_tokens_details":null«?,"completion_tokens_details":null»},"kv_transfer_params":null«any»}`)
	}},
	{"prompts of every kind", "a text, several, token ids, several lists of them; n answers for each, numbered in order", func(t *testing.T, s *server) {
		f := func(prompt, extra string, choices, promptTokens int) {
			t.Helper()
			got := decode[chunk](t, s.post(t, "/v1/completions", fmt.Sprintf(`{"model":MODEL,"prompt":%s,"max_tokens":2,"ignore_eos":true%s}`, prompt, extra)))
			if len(got.Choices) != choices || got.Usage.Completion != 2*choices || got.Usage.Total != got.Usage.Prompt+got.Usage.Completion ||
				(promptTokens > 0 && got.Usage.Prompt != promptTokens) {
				t.Errorf("%s%s: got %d choices, usage %+v", prompt, extra, len(got.Choices), *got.Usage)
			}
			for i, c := range got.Choices {
				if c.Index != i || *c.Finish != "length" {
					t.Errorf("%s%s: choice %d is %+v", prompt, extra, i, c)
				}
			}
		}
		f(`"hello"`, "", 1, 0)
		f(`["hello","world"]`, "", 2, 0)
		f(`[5,6,7]`, "", 1, 3)
		f(`[[5,6,7],[8]]`, "", 2, 4)
		f(`"hello"`, `,"n":3`, 3, 0)
		f(`[[5],[6]]`, `,"n":2`, 4, 2)
	}},
	{"completions are 16 tokens by default", "the bound of completions without max_tokens", func(t *testing.T, s *server) {
		got := decode[chunk](t, s.post(t, "/v1/completions", `{"model":MODEL,"prompt":"hello","ignore_eos":true}`))
		if got.Usage.Completion != 16 {
			t.Errorf("got %+v", *got.Usage)
		}
	}},
	{"echo", "echo puts the prompt before the answer; with max_tokens 0 the engine still makes one token", func(t *testing.T, s *server) {
		got := decode[chunk](t, s.post(t, "/v1/completions", `{"model":MODEL,"prompt":"hello world","max_tokens":2,"echo":true,"structured_outputs":{"regex":"[a-z]{50}"}}`))
		if !strings.HasPrefix(got.Choices[0].Text, "hello world") || len(got.Choices[0].Text) == len("hello world") {
			t.Errorf("got %q", got.Choices[0].Text)
		}
		got = decode[chunk](t, s.post(t, "/v1/completions", `{"model":MODEL,"prompt":"hello world","max_tokens":0,"echo":true}`))
		if got.Choices[0].Text != "hello world" || got.Usage.Completion != 1 {
			t.Errorf("got %q, usage %+v", got.Choices[0].Text, *got.Usage)
		}
	}},
	{"max_completion_tokens wins", "it goes before max_tokens", func(t *testing.T, s *server) {
		got := decode[chunk](t, s.post(t, "/v1/chat/completions", `{"model":MODEL,"messages":[{"role":"user","content":"hello"}],"max_completion_tokens":2,"max_tokens":5,"ignore_eos":true}`))
		if got.Usage.Completion != 2 {
			t.Errorf("got %+v", *got.Usage)
		}
	}},
	{"usage agrees with tokenize", "/tokenize counts what a request is charged, template included; a system message adds its own tokens and one more", func(t *testing.T, s *server) {
		f := func(part, path string) int {
			t.Helper()
			counted := decode[struct{ Count int }](t, s.post(t, "/tokenize", `{"model":MODEL,`+part+`}`)).Count
			charged := decode[chunk](t, s.post(t, path, `{"model":MODEL,`+part+`,"max_tokens":1}`)).Usage.Prompt
			if counted != charged {
				t.Errorf("%s: /tokenize counts %d, usage says %d", part, counted, charged)
			}
			return charged
		}
		f(`"prompt":"hello world"`, "/v1/completions")
		f(`"messages":[{"role":"user","content":"hello world"}]`, "/v1/chat/completions")
		f(`"messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"hello"}]},{"role":"assistant","content":"hi"},{"role":"user","content":"more"}]`, "/v1/chat/completions")
	}},
	{"tokens come back as text", "/detokenize is the inverse of /tokenize, <bos> included", func(t *testing.T, s *server) {
		tokens := decode[struct{ Tokens []int }](t, s.post(t, "/tokenize", `{"model":MODEL,"prompt":"hello world"}`)).Tokens
		ids, _ := json.Marshal(tokens)
		got := s.post(t, "/detokenize", `{"model":MODEL,"tokens":`+string(ids)+`}`)
		if string(got.Body) != `{"prompt":"<bos>hello world"}` {
			t.Errorf("got %s", got.Body)
		}
	}},
	{"what isn't known is ignored", "unknown members are accepted, guided_choice of old releases among them; a missing model is the served one", func(t *testing.T, s *server) {
		got := s.post(t, "/v1/chat/completions", `{"messages":[{"role":"user","content":"hello"}],"max_tokens":1,"guided_choice":["a"],"best_of":3,"no_such":{"x":1},"priority":3}`)
		if got.Status != 200 {
			t.Errorf("got status %d, %s", got.Status, got.Body)
		}
	}},
	{"a seed is refused or kept", "on TPU a seed is a 400 (an error event in a stream); elsewhere the same seed gives the same answer", func(t *testing.T, s *server) {
		body := strings.TrimSuffix(askChat, `,"stream":true`) + `,"seed":7,"temperature":1}`
		first, second := s.post(t, "/v1/chat/completions", body), s.post(t, "/v1/chat/completions", body)
		if first.Status == 400 && strings.Contains(string(first.Body), "does not support per-request seed") {
			return
		}
		one, two := decode[chunk](t, first), decode[chunk](t, second)
		if one.Choices[0].Message != two.Choices[0].Message {
			t.Errorf("got %+v and %+v", one.Choices[0].Message, two.Choices[0].Message)
		}
	}},
}
