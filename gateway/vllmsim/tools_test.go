package vllmsim

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

const (
	weather  = `{"type":"object","properties":{"city":{"type":"string","maxLength":3},"days":{"type":"integer","minimum":1,"maximum":1}},"required":["city","days"]}`
	asksTool = `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":200,"tools":[{"type":"function","function":{"name":"weather","parameters":` + weather + `}}]`
	byName   = `,"tool_choice":{"type":"function","function":{"name":"weather"}}`
	claude   = `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":200,"tools":[{"name":"weather","input_schema":` + weather + `}]`
	answers  = `{"model":"m","input":"hi","max_output_tokens":200,"tools":[{"type":"function","name":"weather","parameters":` + weather + `}]`
)

var (
	callIDs   = regexp.MustCompile(`chatcmpl-tool-[0-9a-f]{16}`)
	arguments = regexp.MustCompile(`\{\\?"city\\?": \\?"[a-z ]{1,3}\\?", \\?"days\\?": 1\}`)
)

// called is an answer with the ids of calls replaced.
func called(body []byte) string { return callIDs.ReplaceAllString(fixed(body), "ID") }

// delta is one event's tool calls and finish reason.
type delta struct {
	Choices []struct {
		Delta struct {
			Content   *string `json:"content"`
			ToolCalls []struct {
				ID       *string `json:"id"`
				Type     string  `json:"type"`
				Index    int     `json:"index"`
				Function struct {
					Name      *string `json:"name"`
					Arguments string  `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
}

// gathered is what a stream's deltas make together: name(arguments) of each call,
// and the finish reason.
func gathered(t *testing.T, got *gatewaytest.Response) (calls []string, finish string) {
	t.Helper()
	for _, e := range got.Events() {
		if e.Data() == "[DONE]" {
			continue
		}
		var d delta
		if err := json.Unmarshal([]byte(e.Data()), &d); err != nil || len(d.Choices) != 1 {
			t.Fatalf("%s: %v", e.Data(), err)
		}
		for _, c := range d.Choices[0].Delta.ToolCalls {
			if c.Type == "function" {
				calls = append(calls, *c.Function.Name)
			}
			calls[c.Index] += c.Function.Arguments
		}
		if d.Choices[0].Finish != nil {
			finish = *d.Choices[0].Finish
		}
	}
	return calls, finish
}

func TestToolCallsInChat(t *testing.T) {
	_, address := start(t, Options{Speed: 50})
	const path = "/v1/chat/completions"
	message := `"message":{"role":"assistant","content":%s,"refusal":null,"annotations":null,"audio":null,"function_call":null,"tool_calls":[{"id":"ID","type":"function","function":{"name":"weather","arguments":"`
	f := func(more, content, finish string) {
		t.Helper()
		whole := called(post(t, address, path, asksTool+more+`}`).Body)
		for _, want := range []string{fmt.Sprintf(message, content), `"}}],"reasoning":null},"logprobs":null,"finish_reason":"` + finish + `","stop_reason":null`} {
			if !strings.Contains(whole, want) || !arguments.MatchString(whole) {
				t.Errorf("%s: got %s, want %s in it", more, whole, want)
			}
		}
		calls, reason := gathered(t, post(t, address, path, asksTool+more+`,"stream":true}`))
		if reason != finish || len(calls) == 0 {
			t.Fatalf("%s: got calls %q, finish reason %q", more, calls, reason)
		}
		for _, call := range calls {
			if !arguments.MatchString(strings.TrimPrefix(call, "weather")) {
				t.Errorf("%s: got call %s", more, call)
			}
		}
	}
	f(byName, `""`, "stop")
	f(`,"tool_choice":"required"`, `""`, "tool_calls")
	f(`,"messages":[{"role":"user","content":"How is the weather?"}],"tool_choice":"auto"`, "null", "tool_calls")
	f(`,"messages":[{"role":"user","content":"Use a tool."}]`, "null", "tool_calls")
}

// The deltas of a call to the byte: what of a call is said again depends on why
// it is called.
func TestToolCallDeltas(t *testing.T) {
	_, address := start(t, Options{Speed: 0.3}) // a token an event
	f := func(more, first, next, last string) {
		t.Run(more, func(t *testing.T) {
			t.Parallel()
			events := post(t, address, "/v1/chat/completions", asksTool+more+`,"parallel_tool_calls":false,"stream":true}`).Events()
			for i, want := range map[int]string{1: first, 2: next, len(events) - 2: last} {
				if got := called([]byte(events[i].Data())); !regexp.MustCompile(want).MatchString(got) {
					t.Errorf("event %d is %s, want %s", i, got, want)
				}
			}
		})
	}
	const first = `"choices":\[{"index":0,"delta":{"tool_calls":\[{"id":"ID","type":"function","index":0,"function":{"name":"weather","arguments":"[^}]+"}}\]},"logprobs":null,"finish_reason":null,"token_ids":null}\]}`
	f(byName, first, `"delta":{"tool_calls":\[{"index":0,"function":{"arguments":`, `"delta":{"tool_calls":\[{"index":0,"function":{"arguments":""}}\]},"logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":null}\],"system_fingerprint"`)
	f(`,"tool_choice":"required"`, first, `"delta":{"tool_calls":\[{"index":0,"function":{"name":null,"arguments":`, `"delta":{},"logprobs":null,"finish_reason":"tool_calls"`)
	f(`,"messages":[{"role":"user","content":"weather"}]`, first, `"delta":{"tool_calls":\[{"id":null,"index":0,"function":{"arguments":`, `"delta":{"content":""},"logprobs":null,"finish_reason":"tool_calls"`)
}

func TestToolCallsThatAreCut(t *testing.T) {
	_, address := start(t, Options{Speed: 50})
	f := func(path, body, want string) {
		t.Helper()
		if got := called(post(t, address, path, body).Body); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	chat := strings.Replace(asksTool, `"max_tokens":200`, `"max_tokens":2`, 1)
	f("/v1/chat/completions", chat+byName+`}`, `"tool_calls":\[{"id":"ID","type":"function","function":{"name":"weather","arguments":"{\\"city\\":"}}\],"reasoning":null},"logprobs":null,"finish_reason":"length"`)
	f("/v1/chat/completions", chat+`,"tool_choice":"required"}`, `"content":"","refusal":null,"annotations":null,"audio":null,"function_call":null,"reasoning":null},"logprobs":null,"finish_reason":"length"`)
	f("/v1/chat/completions", chat+`,"messages":[{"role":"user","content":"weather"}]}`, `"content":"\[{\\"name\\"","refusal"`)
	f("/v1/chat/completions", chat+`,"tool_choice":"required","stream":true}`, `"delta":{},"logprobs":null,"finish_reason":"length"`)
	f("/v1/messages", strings.Replace(claude, `"max_tokens":200`, `"max_tokens":1`, 1)+`,"tool_choice":{"type":"tool","name":"weather"}}`,
		`^{"type":"error","error":{"type":"BadRequestError","message":"Unterminated string starting at: line 1 column 2 \(char 1\)"}}$`)
	f("/v1/messages", strings.Replace(claude, `"max_tokens":200`, `"max_tokens":1`, 1)+`,"tool_choice":{"type":"any"}}`, `"content":\[{"type":"text","text":""}\].*"stop_reason":"max_tokens"`)
	f("/v1/responses", strings.Replace(answers, `:200`, `:2`, 1)+`,"tool_choice":{"type":"function","name":"weather"}}`, `"output":\[{"arguments":"{\\"city\\":",.*"status":"incomplete"`)
	f("/v1/responses", strings.Replace(answers, `:200`, `:2`, 1)+`,"tool_choice":"required"}`, `"output":\[\],`)
}

func TestToolUseInMessages(t *testing.T) {
	_, address := start(t, Options{Speed: 50})
	for _, choice := range []string{`{"type":"tool","name":"weather"}`, `{"type":"any","disable_parallel_tool_use":true}`} {
		body := claude + `,"tool_choice":` + choice
		whole := called(post(t, address, "/v1/messages", body+`}`).Body)
		want := regexp.MustCompile(`^{"id":"chatcmpl-r1","type":"message","role":"assistant","content":\[{"type":"tool_use","id":"ID","name":"weather","input":{"city":"[a-z ]+","days":1}}\],"model":"m","stop_reason":"tool_use","usage":{"input_tokens":\d+,"output_tokens":\d+}}$`)
		if !want.MatchString(whole) {
			t.Errorf("%s: got %s", choice, whole)
		}
		var b strings.Builder
		for _, e := range post(t, address, "/v1/messages", body+`,"stream":true}`).Events() {
			if text := called([]byte(e.Raw)); !strings.HasPrefix(text, "event: content_block_delta") {
				b.WriteString(text)
			} else if !regexp.MustCompile(`^event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":".+"},"index":0}\n\n$`).MatchString(text) {
				t.Errorf("%s: got %s", choice, text)
			}
		}
		stream := regexp.MustCompile(`^event: message_start\n.*\n\nevent: content_block_start\ndata: {"type":"content_block_start","content_block":{"type":"tool_use","id":"ID","name":"weather","input":{}},"index":0}\n\nevent: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":\d+,"output_tokens":\d+}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n$`)
		if !stream.MatchString(b.String()) {
			t.Errorf("%s: got %s", choice, b.String())
		}
	}
}

func TestFunctionCallsInResponses(t *testing.T) {
	_, address := start(t, Options{Speed: 50})
	for _, choice := range []string{`{"type":"function","name":"weather"}`, `"required"`} {
		body := answers + `,"parallel_tool_calls":false,"tool_choice":` + choice
		whole := called(post(t, address, "/v1/responses", body+`}`).Body)
		item := `{"arguments":"{\\"city\\": \\"[a-z ]+\\", \\"days\\": 1}","call_id":"ID","name":"weather","type":"function_call","id":"fc_[0-9a-f]{16}","async":null,"caller":null,"namespace":null,"status":"completed"}`
		if !regexp.MustCompile(`"output":\[`+item+`\],"parallel_tool_calls":false,.*"status":"completed","text":{"format":{"name":"tool_calling_response",`).MatchString(whole) || !strings.Contains(whole, `"tools":[{"name":"weather","parameters":`+weather) {
			t.Errorf("%s: got %s", choice, whole)
		}
		var names, parts []string
		got := post(t, address, "/v1/responses", body+`,"stream":true}`)
		for i, e := range got.Events() {
			var data struct {
				Delta  string `json:"delta"`
				Number int    `json:"sequence_number"`
			}
			if err := json.Unmarshal([]byte(e.Data()), &data); err != nil || data.Number != i {
				t.Errorf("event %d: %s (%v)", i, e.Data(), err)
			}
			if data.Delta != "" {
				parts = append(parts, data.Delta)
			}
			if n := len(names); n == 0 || names[n-1] != e.Name() {
				names = append(names, e.Name())
			}
		}
		if strings.Join(names, " ") != "response.created response.in_progress response.output_item.added response.function_call_arguments.delta response.function_call_arguments.done response.output_item.done response.completed" {
			t.Errorf("%s: got events %v", choice, names)
		}
		if done := `"type":"response.function_call_arguments.done","name":"weather"}`; !arguments.MatchString(strings.Join(parts, "")) || !strings.Contains(string(got.Body), done) {
			t.Errorf("%s: got %s", choice, got.Body)
		}
	}
}

// Several calls at once: each has an index, an id and a block or item of its own.
func TestParallelCalls(t *testing.T) {
	_, address := start(t, Options{Speed: 50})
	for i := range 40 {
		said := fmt.Sprintf("weather %d", i)
		calls, _ := gathered(t, post(t, address, "/v1/chat/completions", asksTool+`,"messages":[{"role":"user","content":"`+said+`"}],"stream":true}`))
		if len(calls) < 2 {
			continue
		}
		blocks := string(post(t, address, "/v1/messages", strings.Replace(claude, `"hi"`, `"`+said+`"`, 1)+`,"stream":true}`).Body)
		items := string(post(t, address, "/v1/responses", strings.Replace(answers, `"hi"`, `[{"role":"user","content":"`+said+`"}]`, 1)+`,"stream":true}`).Body)
		if strings.Count(blocks, "event: content_block_stop") != 2 || !strings.Contains(blocks, `{"type":"content_block_stop","index":1}`) {
			t.Errorf("got %s", blocks)
		}
		if strings.Count(items, "event: response.output_item.done") != 2 || !strings.Contains(items, `"output_index":1,"sequence_number"`) {
			t.Errorf("got %s", items)
		}
		return
	}
	t.Error("none of 40 prompts made two calls")
}

// A forced call whose schema can't be read is refused: within the stream, once that
// is open.
func TestForcedCallThatCannotBeWritten(t *testing.T) {
	_, address := start(t, Options{})
	const body = `{"model":"m","messages":[{"role":"user","content":"hi"}],"tool_choice":"required",` +
		`"tools":[{"type":"function","function":{"name":"t","parameters":{"properties":{"a":{"type":""}}}}}]`
	if got := post(t, address, chatPath, body+`}`); got.Status != 400 || !strings.Contains(string(got.Body), "Invalid type") {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	got := post(t, address, chatPath, body+`,"stream":true}`)
	if got.Status != 200 || !strings.Contains(string(got.Body), "Invalid type") || !strings.HasSuffix(string(got.Body), "data: [DONE]\n\n") {
		t.Errorf("streamed: got %d %s (%v)", got.Status, got.Body, got.Err)
	}
}
