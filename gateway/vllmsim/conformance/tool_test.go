package conformance

import (
	"encoding/json"
	"strings"
	"testing"
)

// Requests with a tool, the server's choice of which follows.
const (
	askTool         = `{"model":MODEL,"messages":[{"role":"user","content":"hello world"}],"max_tokens":900,"parallel_tool_calls":false,"tools":[{"type":"function","function":{"name":"set","parameters":` + flagSchema + `}}]`
	askToolResponse = `{"model":MODEL,"input":"hello world","max_output_tokens":900,"parallel_tool_calls":false,"tools":[{"type":"function","name":"set","parameters":` + flagSchema + `}]`
	askToolMessage  = `{"model":MODEL,"messages":[{"role":"user","content":"hello world"}],"max_tokens":900,"tools":[{"name":"set","input_schema":` + flagSchema + `}]`
	namedTool       = `,"tool_choice":{"type":"function","function":{"name":"set"}}`
	requiredTool    = `,"tool_choice":"required"`
)

// The deltas of a call in a chat stream.
const (
	callOpened   = chatHead + `{"index":0,"delta":{"tool_calls":[{"id":"chatcmpl-tool-«id»","type":"function","index":0,"function":{"name":"set","arguments":«s»}}]},"logprobs":null,"finish_reason":null,"token_ids":null}]}` + "\n\n"
	namedMore    = chatHead + `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":«s»}}]},"logprobs":null,"finish_reason":null,"token_ids":null}]}` + "\n\n"
	namedEnd     = chatHead + `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":«s»}}]},"logprobs":null,"finish_reason":"stop","stop_reason":«any»,"token_ids":null}],"system_fingerprint":«s»}` + "\n\n"
	requiredMore = chatHead + `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":null,"arguments":«s»}}]},"logprobs":null,"finish_reason":null,"token_ids":null}]}` + "\n\n"
	requiredEnd  = chatHead + `{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls","stop_reason":«any»,"token_ids":null}],"system_fingerprint":«s»}` + "\n\n"
)

// toolChunk is a chunk with calls.
type toolChunk struct {
	Choices []struct {
		Delta, Message struct {
			ToolCalls []struct {
				Index    int `json:"index"`
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
}

// message is a whole answer of messages.
type message struct {
	Content []struct {
		Type, Text, Name string
		Input            json.RawMessage
	} `json:"content"`
	Stop string `json:"stop_reason"`
}

// callShape is what a chat's answer with a call looks like.
func callShape(finish string) string {
	return `{"id":"chatcmpl-` + requestID + `","object":"chat.completion","created":«n»,"model":MODEL,"choices":[{"index":0,"message":{"role":"assistant","content":"","refusal":null,"annotations":null,"audio":null,"function_call":null,"tool_calls":[{"id":"chatcmpl-tool-«id»","type":"function","function":{"name":"set","arguments":«s»}}],"reasoning":null},"logprobs":null,"finish_reason":"` + finish + `","stop_reason":«any»}`
}

var toolChecks = []check{
	{"calls of tools", "a tool that is named or required is called with arguments of its schema; the finish reason is stop for a named one, else tool_calls", func(t *testing.T, s *server) {
		for choice, finish := range map[string]string{namedTool: "stop", requiredTool: "tool_calls"} {
			got := decode[toolChunk](t, s.post(t, "/v1/chat/completions", askTool+choice+`}`)).Choices[0]
			if len(got.Message.ToolCalls) != 1 || *got.Finish != finish || got.Message.ToolCalls[0].Function.Name != "set" {
				t.Fatalf("%s: got %+v, %s", choice, got, *got.Finish)
			}
			isFlag(t, got.Message.ToolCalls[0].Function.Arguments)
			text, last := "", ""
			events := s.events(t, "/v1/chat/completions", askTool+choice+`,"stream":true}`)
			for _, e := range events[:len(events)-1] {
				var c toolChunk
				if err := json.Unmarshal([]byte(e.Data()), &c); err != nil {
					t.Fatal(err)
				}
				for _, call := range c.Choices[0].Delta.ToolCalls {
					text += call.Function.Arguments
				}
				if c.Choices[0].Finish != nil {
					last = *c.Choices[0].Finish
				}
			}
			if isFlag(t, text); last != finish {
				t.Errorf("%s: the stream's finish reason is %s", choice, last)
			}
		}
	}},
	{"shape of calls", "members and their order, of whole answers and of deltas", func(t *testing.T, s *server) {
		s.matches(t, string(s.post(t, "/v1/chat/completions", askTool+namedTool+`}`).Body), callShape("stop"))
		s.matches(t, string(s.post(t, "/v1/chat/completions", askTool+requiredTool+`}`).Body), callShape("tool_calls"))
		events := s.events(t, "/v1/chat/completions", askTool+namedTool+`,"stream":true}`)
		s.matches(t, events[0].Raw, chatRole)
		s.sequence(t, events[1:], callOpened, namedMore, namedEnd, done)
		events = s.events(t, "/v1/chat/completions", askTool+requiredTool+`,"stream":true}`)
		s.matches(t, events[0].Raw, chatRole)
		s.sequence(t, events[1:], callOpened, requiredMore, requiredEnd, done)
	}},
	{"calls that are cut", "a named one keeps what there is, a required one is dropped; the finish reason is length", func(t *testing.T, s *server) {
		short := strings.Replace(askTool, "900", "2", 1)
		got := decode[toolChunk](t, s.post(t, "/v1/chat/completions", short+namedTool+`}`)).Choices[0]
		if len(got.Message.ToolCalls) != 1 || *got.Finish != "length" {
			t.Errorf("named: got %+v, %s", got, *got.Finish)
		}
		got = decode[toolChunk](t, s.post(t, "/v1/chat/completions", short+requiredTool+`}`)).Choices[0]
		if len(got.Message.ToolCalls) != 0 || *got.Finish != "length" {
			t.Errorf("required: got %+v, %s", got, *got.Finish)
		}
	}},
	{"a choice of tools that can't be", "400 that names tool_choice", func(t *testing.T, s *server) {
		f := func(more, param, want string) {
			t.Helper()
			s.matches(t, string(s.post(t, "/v1/chat/completions", more+`}`).Body), `{"error":{"message":"`+want+`«any»","type":"BadRequestError","param":«any»"`+param+`"«any»,"code":400}}`)
		}
		plain, _, _ := strings.Cut(askTool, `,"tools"`)
		f(plain+requiredTool, "tool_choice", "When using `tool_choice`, `tools` must be set.")
		f(plain+namedTool, "tool_choice", "When using `tool_choice`, `tools` must be set.")
		f(askTool+`,"tool_choice":"any"`, "tool_choice", "Invalid value for `tool_choice`: any! Only named tools, ")
		f(askTool+`,"tool_choice":{"type":"function","function":{"name":"no"}}`, "tool_choice", "The tool specified in `tool_choice` does not match any of the specified `tools`")
		f(askTool+`,"tool_choice":{"type":"function"}`, "tool_choice.function", "Invalid value for `function`: `None` in `tool_choice`! ")
		f(askTool+`,"tool_choice":{"type":"function","function":{}}`, "tool_choice.function.name", "Expected field `name` in `function` in `tool_choice`! ")
	}},
	{"use of tools in messages", "tool_use blocks, input_json_delta, stop_reason tool_use", func(t *testing.T, s *server) {
		for _, choice := range []string{`{"type":"tool","name":"set"}`, `{"type":"any","disable_parallel_tool_use":true}`} {
			body := askToolMessage + `,"tool_choice":` + choice
			whole := s.post(t, "/v1/messages", body+`}`)
			s.matches(t, string(whole.Body), `{"id":"chatcmpl-`+requestID+`","type":"message","role":"assistant","content":[{"type":"tool_use","id":"chatcmpl-tool-«id»","name":"set","input":{"flag":«any»}}],"model":MODEL,"stop_reason":"tool_use","usage":{"input_tokens":«n»,"output_tokens":«n»}}`)
			isFlag(t, string(decode[message](t, whole).Content[0].Input))
			events := s.events(t, "/v1/messages", body+`,"stream":true}`)
			s.matches(t, events[0].Raw, messageStart)
			s.sequence(t, events[1:],
				"event: content_block_start\n"+`data: {"type":"content_block_start","content_block":{"type":"tool_use","id":"chatcmpl-tool-«id»","name":"set","input":{}},"index":0}`+"\n\n",
				"event: content_block_delta\n"+`data: {"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":«s»},"index":0}`+"\n\n",
				blockStop,
				"event: message_delta\n"+`data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":«n»,"output_tokens":«n»}}`+"\n\n",
				messageStop)
		}
	}},
	{"function calls in responses", "an item for each call, arguments in deltas, the item's id in each of its events", func(t *testing.T, s *server) {
		const item = `{"arguments":«s»,"call_id":"chatcmpl-tool-«id»","name":"set","type":"function_call","id":"fc_«id»","async":null,"caller":null,"namespace":null,"status":"«id»"}`
		for _, choice := range []string{`{"type":"function","name":"set"}`, `"required"`} {
			body := askToolResponse + `,"tool_choice":` + choice
			got := string(s.post(t, "/v1/responses", body+`}`).Body)
			s.matches(t, got, `{"id":"resp_«id»","created_at":«n»«any»,"output":[`+item+`],"parallel_tool_calls":false,"temperature":«any»,"tools":[{"name":"set","parameters":`+flagSchema+`,"strict":null,"type":"function","allowed_callers":null,"async":null,"defer_loading":null,"description":null,"output_schema":null}],«any»,"status":"completed","text":{"format":{"name":"tool_calling_response",«any»,"type":"json_schema","description":null,"strict":true},"verbosity":null}«any»}`)
			events := s.events(t, "/v1/responses", body+`,"stream":true}`)
			s.sequence(t, events[2:],
				"event: response.output_item.added\n"+`data: {"item":`+item+`,"output_index":0,"sequence_number":2,"type":"response.output_item.added"}`+"\n\n",
				"event: response.function_call_arguments.delta\n"+`data: {"delta":«s»,"item_id":"fc_«id»","output_index":0,"sequence_number":«n»,"type":"response.function_call_arguments.delta"}`+"\n\n",
				"event: response.function_call_arguments.done\n"+`data: {"arguments":«s»,"item_id":"fc_«id»","output_index":0,"sequence_number":«n»,"type":"response.function_call_arguments.done","name":"set"}`+"\n\n",
				"event: response.output_item.done\n"+`data: {"item":`+item+`,"output_index":0,"sequence_number":«n»,"type":"response.output_item.done"}`+"\n\n",
				"event: response.completed\n"+`data: {"response":{«any»"output":[`+item+`]«any»},"sequence_number":«n»,"type":"response.completed"}`+"\n\n")
		}
	}},
	{"what a tool answered", "calls and their results may stand in a conversation, when the server's chat template has a place for them", func(t *testing.T, s *server) {
		f := func(path, body string) {
			t.Helper()
			if got := s.post(t, path, body); got.Status != 200 {
				t.Errorf("%s: got status %d, %s", path, got.Status, got.Body)
			}
		}
		f("/v1/chat/completions", `{"model":MODEL,"max_tokens":2,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"set","arguments":"{\"flag\":true}"}}]},{"role":"tool","tool_call_id":"c1","content":"ok"}]}`)
		f("/v1/messages", `{"model":MODEL,"max_tokens":2,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"set","input":{"flag":true}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}]}`)
		f("/v1/responses", `{"model":MODEL,"max_output_tokens":2,"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c1","name":"set","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"ok"}]}`)
	}},
}
