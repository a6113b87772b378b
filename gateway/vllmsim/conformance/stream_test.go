package conformance

import (
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

// The members that only some releases write.
const (
	promptText  = `«?,"prompt_text":null»`
	fingerprint = `«?,"system_fingerprint":‹s›»`
)

// The events of a chat stream. A token that has no text of its own, such as a part
// of a character, makes an event with an empty content, or with none.
const (
	chatHead    = `data: {"id":"chatcmpl-` + requestID + `","object":"chat.completion.chunk","created":«n»,"model":MODEL,"choices":[`
	chatRole    = chatHead + `{"index":«n»,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]«?,"prompt_token_ids":null»` + promptText + "}\n\n"
	chatContent = chatHead + `{"index":«n»,"delta":{«?"content":‹s›»},"logprobs":null,"finish_reason":null«?,"token_ids":null»}]}` + "\n\n"
	chatFinish  = chatHead + `{"index":«n»,"delta":{«?"content":‹s›»},"logprobs":null,"finish_reason":"length","stop_reason":null«?,"token_ids":null»}]` + fingerprint + "}\n\n"
	chatUsage   = chatHead + `],"usage":{"prompt_tokens":«n»,"total_tokens":«n»,"completion_tokens":4}` + fingerprint + "}\n\n"
	done        = "data: [DONE]\n\n"
)

// The events of a completions stream.
const (
	textHead    = `data: {"id":"cmpl-` + requestID + `","object":"text_completion","created":«n»,"model":MODEL,"choices":[`
	textContent = textHead + `{"index":«n»,"text":«s»,"logprobs":null,"finish_reason":null,"stop_reason":null«?,"prompt_token_ids":null,"token_ids":null»}]«?,"usage":null»}` + "\n\n"
	textFinish  = textHead + `{"index":«n»,"text":«s»,"logprobs":null,"finish_reason":"length","stop_reason":null«?,"prompt_token_ids":null,"token_ids":null»}]«?,"usage":null»` + fingerprint + "}\n\n"
)

// askChat asks for four tokens, whatever the model would say.
const askChat = `{"model":MODEL,"messages":[{"role":"user","content":"hello world"}],"max_tokens":4,"ignore_eos":true,"stream":true`

var streamChecks = []check{
	{"chat stream", "a role event, content events that may hold several tokens, the finish reason on the last of them, no usage that wasn't asked for, [DONE]", func(t *testing.T, s *server) {
		events := s.events(t, "/v1/chat/completions", askChat+`}`)
		s.sequence(t, events, chatRole, chatContent, chatFinish, done)
	}},
	{"chat stream with usage", "usage comes in an event without choices, before [DONE]", func(t *testing.T, s *server) {
		events := s.events(t, "/v1/chat/completions", askChat+`,"stream_options":{"include_usage":true}}`)
		s.sequence(t, events, chatRole, chatContent, chatFinish, chatUsage, done)
	}},
	{"chat stream with continuous usage", "with continuous_usage_stats every event has usage that grows", func(t *testing.T, s *server) {
		events := s.events(t, "/v1/chat/completions", askChat+`,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`)
		last := -1
		for _, e := range events[:len(events)-1] {
			u := usageOf(t, e.Data())
			if u == nil || u.Completion < last || u.Total != u.Prompt+u.Completion {
				t.Fatalf("usage %+v after %d tokens in %s", u, last, e.Raw)
			}
			last = u.Completion
		}
		if last != 4 {
			t.Errorf("the last event counts %d tokens, want 4", last)
		}
	}},
	{"chat stream of two choices", "each choice has a role event and a finish reason of its own", func(t *testing.T, s *server) {
		events := s.events(t, "/v1/chat/completions", askChat+`,"n":2}`)
		roles, reasons := map[int]int{}, map[int]int{}
		for _, e := range events[:len(events)-1] {
			for _, c := range chunkOf(t, e.Data()).Choices {
				if c.Delta.Role == "assistant" {
					roles[c.Index]++
				}
				if c.Finish != nil {
					reasons[c.Index]++
				}
			}
		}
		if fmt.Sprint(roles, reasons) != "map[0:1 1:1] map[0:1 1:1]" {
			t.Errorf("role events %v, finish reasons %v", roles, reasons)
		}
	}},
	{"completions stream", "no role event, text, the finish reason on the last event that has text, [DONE]", func(t *testing.T, s *server) {
		events := s.events(t, "/v1/completions", `{"model":MODEL,"prompt":"hello world","max_tokens":4,"ignore_eos":true,"stream":true}`)
		s.sequence(t, events, "", textContent, textFinish, done)
	}},
	{"completions stream of two prompts", "the choices of a list of prompts are numbered in its order", func(t *testing.T, s *server) {
		events := s.events(t, "/v1/completions", `{"model":MODEL,"prompt":[[5,6,7],[8]],"max_tokens":2,"ignore_eos":true,"stream":true}`)
		ended := map[int]string{}
		for _, e := range events[:len(events)-1] {
			for _, c := range chunkOf(t, e.Data()).Choices {
				if c.Finish != nil {
					ended[c.Index] = *c.Finish
				}
			}
		}
		if fmt.Sprint(ended) != "map[0:length 1:length]" {
			t.Errorf("got endings %v", ended)
		}
	}},
	{"stream of a choice", "structured_outputs.choice decodes one of the choices and stops", func(t *testing.T, s *server) {
		events := s.events(t, "/v1/chat/completions", `{"model":MODEL,"messages":[{"role":"user","content":"hello"}],"max_tokens":20,"stream":true,"structured_outputs":{"choice":["yes","no"]},"guided_choice":["yes","no"]}`)
		text, reason := "", ""
		for _, e := range events[:len(events)-1] {
			for _, c := range chunkOf(t, e.Data()).Choices {
				text += c.Delta.Content
				if c.Finish != nil {
					reason = *c.Finish
				}
			}
		}
		if (text != "yes" && text != "no") || reason != "stop" {
			t.Errorf("got %q, finish reason %q", text, reason)
		}
	}},
}

// events are those of a good stream.
func (s *server) events(t *testing.T, path, body string) []gatewaytest.Event {
	t.Helper()
	got := s.post(t, path, body)
	if got.Status != 200 || got.Ending != gatewaytest.Whole || got.Header.Get("Transfer-Encoding") != "chunked" ||
		got.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Fatalf("got status %d, %v, ending %v: %s (%v)", got.Status, got.Header, got.Ending, got.Body, got.Err)
	}
	events := got.Events()
	if len(events) < 2 {
		t.Fatalf("got %d events: %s", len(events), got.Body)
	}
	return events
}

// sequence checks a stream: one event of the shape first (unless that is ""),
// any number of the shape middle, and one of each shape of the rest.
func (s *server) sequence(t *testing.T, events []gatewaytest.Event, first, middle string, rest ...string) {
	t.Helper()
	if first != "" {
		s.matches(t, events[0].Raw, first)
		events = events[1:]
	}
	if len(events) < len(rest) {
		t.Fatalf("got %d more events, want at least %d", len(events), len(rest))
	}
	tail := len(events) - len(rest)
	for _, e := range events[:tail] {
		s.matches(t, e.Raw, middle)
	}
	for i, pattern := range rest {
		s.matches(t, events[tail+i].Raw, pattern)
	}
}

// comesInPieces reads a stream as it comes and tells how many events it has.
func comesInPieces(t *testing.T, c *gatewaytest.Client, want int) {
	t.Helper()
	if head, err := c.ReadHead(); err != nil || head.Status != 200 {
		t.Fatalf("got %+v, %v", head, err)
	}
	for range want {
		if e, err := c.ReadEvent(); err != nil || !strings.Contains(e.Raw, "data: ") {
			t.Fatalf("got %q, %v", e.Raw, err)
		}
	}
}
