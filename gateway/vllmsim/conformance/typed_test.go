package conformance

import (
	"encoding/json"
	"strings"
	"testing"
)

const (
	askResponse = `{"model":MODEL,"input":"hello world","max_output_tokens":4,"ignore_eos":true`
	askMessage  = `{"model":MODEL,"messages":[{"role":"user","content":"hello world"}],"max_tokens":4,"ignore_eos":true`
)

// The events of a messages stream.
const (
	messageStart = "event: message_start\n" + `data: {"type":"message_start","message":{"id":"chatcmpl-` + requestID + `","type":"message","role":"assistant","content":[],"model":MODEL,"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":«n»,"output_tokens":0}}}` + "\n\n"
	blockStart   = "event: content_block_start\n" + `data: {"type":"content_block_start","content_block":{"type":"text","text":""},"index":0}` + "\n\n"
	blockDelta   = "event: content_block_delta\n" + `data: {"type":"content_block_delta","delta":{"type":"text_delta","text":«s»},"index":0}` + "\n\n"
	blockStop    = "event: content_block_stop\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n"
	messageDelta = "event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"input_tokens":«n»,"output_tokens":4}}` + "\n\n"
	messageStop  = "event: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n"
)

var typedChecks = []check{
	{"responses stream", "typed events, numbered from 0; the last is response.completed even when the status in it is incomplete; no [DONE]", func(t *testing.T, s *server) {
		events := s.events(t, "/v1/responses", askResponse+`,"stream":true}`)
		var names []string
		for i, e := range events {
			var data struct {
				Type   string `json:"type"`
				Number int    `json:"sequence_number"`
			}
			if err := json.Unmarshal([]byte(e.Data()), &data); err != nil || data.Number != i || data.Type != e.Name() {
				t.Errorf("event %d: %+v in %s (%v)", i, data, e.Raw, err)
			}
			if n := len(names); n == 0 || names[n-1] != e.Name() {
				names = append(names, e.Name())
			}
		}
		want := "response.created response.in_progress response.output_item.added response.content_part.added response.output_text.delta " +
			"response.output_text.done response.content_part.done response.output_item.done response.completed"
		if strings.Join(names, " ") != want {
			t.Errorf("got events %v", names)
		}
		var last struct{ Response response }
		if err := json.Unmarshal([]byte(events[len(events)-1].Data()), &last); err != nil {
			t.Fatal(err)
		}
		last.Response.check(t)
	}},
	{"responses answer", "status and output of a whole response; its id is the server's own, whatever X-Request-Id says", func(t *testing.T, s *server) {
		got := decode[response](t, s.post(t, "/v1/responses", askResponse+`}`))
		got.check(t)
		if got.ID == "resp_"+requestID {
			t.Errorf("got id %s", got.ID)
		}
	}},
	{"a response begins before its prompt is computed", "response.created and response.in_progress follow the head at once; they say nothing about a token", func(t *testing.T, s *server) {
		s.occupied(t, func() {
			comesInPieces(t, s.open(t, "/v1/responses", askResponse+`,"stream":true}`), 2)
		})
	}},
	{"messages stream", "Anthropic's events in their order; no [DONE]", func(t *testing.T, s *server) {
		events := s.events(t, "/v1/messages", askMessage+`,"stream":true}`)
		s.matches(t, events[1].Raw, blockStart)
		s.sequence(t, append(events[:1:1], events[2:]...), messageStart, blockDelta, blockStop, messageDelta, messageStop)
	}},
	{"messages answer", "a whole message with stop_reason and usage", func(t *testing.T, s *server) {
		s.matches(t, string(s.post(t, "/v1/messages", askMessage+`}`).Body), `{"id":"chatcmpl-`+requestID+`","type":"message","role":"assistant","content":[{"type":"text","text":«s»}],"model":MODEL,"stop_reason":"max_tokens"«?,"stop_sequence":null»,"usage":{"input_tokens":«n»,"output_tokens":4}}`)
	}},
	{"count_tokens agrees with usage", "/v1/messages/count_tokens counts what a message is charged", func(t *testing.T, s *server) {
		type tokens struct {
			Input int `json:"input_tokens"`
		}
		const rest = `"model":MODEL,"system":"be brief","messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}]`
		counted := decode[tokens](t, s.post(t, "/v1/messages/count_tokens", `{`+rest+`}`))
		charged := decode[struct{ Usage tokens }](t, s.post(t, "/v1/messages", `{`+rest+`,"max_tokens":1}`)).Usage
		if counted != charged || counted.Input == 0 {
			t.Errorf("count_tokens says %+v, usage %+v", counted, charged)
		}
	}},
	{"a response costs one token more than a chat", "F1: responses add a second <bos> to the template's own", func(t *testing.T, s *server) {
		chat := decode[chunk](t, s.post(t, "/v1/chat/completions", `{"model":MODEL,"messages":[{"role":"user","content":"hello world"}],"max_tokens":1}`)).Usage.Prompt
		if got := decode[response](t, s.post(t, "/v1/responses", askResponse+`}`)).Usage.Input; got != chat+1 {
			t.Errorf("got %d tokens, the same chat has %d", got, chat)
		}
	}},
}

// response is a response object.
type response struct {
	ID         string `json:"id"`
	Object     string `json:"object"`
	Status     string `json:"status"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Status  string `json:"status"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	} `json:"output"`
	Usage struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Total  int `json:"total_tokens"`
	} `json:"usage"`
}

// check looks at a response that was cut by its bound of 4 tokens.
func (r *response) check(t *testing.T) {
	t.Helper()
	if r.Object != "response" || r.Status != "incomplete" || r.Incomplete == nil || r.Incomplete.Reason != "max_output_tokens" ||
		r.Usage.Output != 4 || r.Usage.Total != r.Usage.Input+4 || len(r.Output) != 1 {
		t.Fatalf("got %+v", *r)
	}
	item := r.Output[0]
	if item.Type != "message" || item.Role != "assistant" || item.Status != "completed" || len(item.Content) != 1 || item.Content[0].Type != "output_text" {
		t.Errorf("got item %+v", item)
	}
}
