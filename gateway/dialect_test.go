package gateway

import (
	"fmt"
	"strings"

	"sluice/gateway/gatewaytest"
)

// dialect is how one endpoint says things: requests, events, answers, errors.
type dialect struct {
	name, path string
	asks       string   // members of a request's body, without "stream"
	opening    []string // events before the first token
	token      string   // an event that bears one
	ending     []string // events that end a good answer
	closing    string   // a part of the event that closes an answer
	open       []string // events after which nothing has said that the answer is whole
	abort      []string // events by which the engine drops it
	breaks     string   // the engine's own error event
	whole      string   // a good answer that isn't streamed
	half       string   // one that doesn't say that it is whole
	dropped    string   // one that the engine dropped, empty
	droppedMid string   // one that it dropped after it had said something
	failed     string   // an error under status 200
	errorBody  string   // how an error body begins
	errorEvent string   // how the gateway's event of a broken stream begins
}

// body is a request's body. pad is so many bytes that aren't prompt.
func (d *dialect) body(model string, stream bool, pad int) string {
	return fmt.Sprintf(`{"model":%q,%s,"stream":%t,"pad":%q}`, model, d.asks, stream, strings.Repeat("x", pad))
}

// tokens are n events that bear tokens, behind the opening.
func (d *dialect) tokens(n int) []string {
	events := append([]string(nil), d.opening...)
	for range n {
		events = append(events, d.token)
	}
	return events
}

// good is a whole stream of n tokens.
func (d *dialect) good(n int) []string { return append(d.tokens(n), d.ending...) }

const (
	openAIError    = `{"error":{"message":`
	anthropicError = `{"type":"error","error":{"type":`
)

func dialects() []*dialect {
	return []*dialect{chatDialect(), completionsDialect(), responsesDialect(), messagesDialect()}
}

func chatDialect() *dialect {
	whole := func(content, reason string) string {
		return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":%s}],"usage":{"prompt_tokens":1,"total_tokens":2,"completion_tokens":1}}`, content, reason)
	}
	return &dialect{
		name: "chat_completions", path: "/v1/chat/completions", asks: `"messages":[{"role":"user","content":"hi"}]`,
		opening: []string{gatewaytest.Role}, token: gatewaytest.Content("a"),
		ending: []string{gatewaytest.Finish("", "stop"), gatewaytest.Done}, closing: gatewaytest.Done, open: []string{gatewaytest.Done},
		abort:  []string{gatewaytest.Finish("", "abort"), gatewaytest.Done},
		breaks: gatewaytest.ErrorEvent(500, "InternalServerError", "engine died"),
		whole:  whole(`"a"`, `"stop"`), half: whole(`"a"`, `null`), dropped: whole(`""`, `"abort"`), droppedMid: whole(`"a"`, `"abort"`),
		failed:    `{"error":{"message":"engine died","type":"InternalServerError","param":null,"code":500}}`,
		errorBody: openAIError, errorEvent: "data: " + openAIError,
	}
}

func completionsDialect() *dialect {
	event := func(text, reason string) string {
		return gatewaytest.Data(fmt.Sprintf(`{"id":"cmpl-1","object":"text_completion","model":"m","choices":[{"index":0,"text":%s,"logprobs":null,"finish_reason":%s}]}`, text, reason))
	}
	whole := func(text, reason string) string {
		return fmt.Sprintf(`{"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":%s,"finish_reason":%s}]}`, text, reason)
	}
	d := chatDialect()
	d.name, d.path, d.asks = "completions", "/v1/completions", `"prompt":"hi"`
	d.opening, d.token = nil, event(`"a"`, "null")
	d.ending = []string{event(`"b"`, `"length"`), gatewaytest.Done}
	d.abort = []string{event(`""`, `"abort"`), gatewaytest.Done}
	d.whole, d.half, d.dropped, d.droppedMid = whole(`"a"`, `"stop"`), whole(`"a"`, "null"), whole(`""`, `"abort"`), whole(`"a"`, `"abort"`)
	return d
}

func responsesDialect() *dialect {
	event := func(kind, rest string) string {
		return gatewaytest.TypedEvent(kind, fmt.Sprintf(`{"type":%q,"sequence_number":1,%s}`, kind, rest))
	}
	whole := func(status, text string) string {
		return fmt.Sprintf(`{"id":"resp_1","object":"response","error":null,"status":%q,"output":[{"type":"message","role":"assistant","status":%q,"content":[{"type":"output_text","text":%q}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`, status, status, text)
	}
	return &dialect{
		name: "responses", path: "/v1/responses", asks: `"input":"hi"`,
		opening: []string{event("response.created", `"response":{"id":"resp_1","status":"in_progress"}`), event("response.in_progress", `"response":{"id":"resp_1","status":"in_progress"}`)},
		token:   event("response.output_text.delta", `"delta":"a"`),
		ending:  []string{event("response.output_text.done", `"text":"aa"`), event("response.completed", `"response":`+whole("completed", "aa"))},
		closing: "event: response.completed",
		open:    []string{event("response.output_text.done", `"text":"aa"`)},
		abort:   []string{event("response.completed", `"response":`+whole("cancelled", ""))},
		breaks:  gatewaytest.TypedEvent("error", `{"type":"error","code":"500","message":"engine died","param":null,"sequence_number":3}`),
		whole:   whole("completed", "a"), half: whole("in_progress", "a"), dropped: whole("cancelled", ""), droppedMid: whole("cancelled", "a"),
		failed:    `{"error":{"message":"engine died","type":"InternalServerError","param":null,"code":500}}`,
		errorBody: openAIError, errorEvent: "event: error\ndata: " + `{"type":"error","code":`,
	}
}

func messagesDialect() *dialect {
	event := func(kind, rest string) string {
		return gatewaytest.TypedEvent(kind, fmt.Sprintf(`{"type":%q%s}`, kind, rest))
	}
	whole := func(reason, text string) string {
		return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":%q}],"stop_reason":%s,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`, text, reason)
	}
	stop := event("message_stop", "")
	return &dialect{
		name: "messages", path: "/v1/messages", asks: `"max_tokens":100,"messages":[{"role":"user","content":"hi"}]`,
		opening: []string{
			event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":0}}`),
			event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`),
		},
		token:   event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"a"}`),
		ending:  []string{event("content_block_stop", `,"index":0`), event("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}`), stop},
		closing: stop,
		open:    []string{event("content_block_stop", `,"index":0`)},
		abort:   []string{event("message_delta", `,"delta":{"stop_reason":null},"usage":{"output_tokens":0}`), stop},
		breaks:  gatewaytest.TypedEvent("error", `{"type":"error","error":{"type":"api_error","message":"engine died"}}`),
		whole:   whole(`"end_turn"`, "a"), half: whole(`"end_turn"`, "a")[:80], dropped: whole("null", ""), droppedMid: whole("null", "a"),
		failed:    `{"type":"error","error":{"type":"api_error","message":"engine died"}}`,
		errorBody: anthropicError, errorEvent: "event: error\ndata: " + anthropicError,
	}
}
