package chaos

import (
	"fmt"
	"strings"
)

// language is how one endpoint asks and answers. The texts of an answer begin with
// a tag of the request and the attempt, so that no two answers share a byte order.
type language struct {
	name, path string
	asks       string // members of a body but for model and stream; %s is the prompt
	streams    bool   // can be asked to
	many       bool   // takes "n"
	slots      bool   // holds sequences
	usage      bool   // says usage in a stream if it is asked to, and [DONE]

	opening func(tag string) []string
	token   func(tag string, choice int, text string) string
	finish  func(tag, reason string, choice int) []string // of one choice; the last bears the reason
	broken  string                                        // the replica's own error event
	whole   func(tag, reason string, choices int) string  // not streamed
}

func data(format string, args ...any) string {
	return "data: " + fmt.Sprintf(format, args...) + "\n\n"
}

func typed(kind, format string, args ...any) string {
	return "event: " + kind + "\n" + data(`{"type":"`+kind+`"`+format+`}`, args...)
}

// unfinished is the reason of an answer that doesn't say that it is whole.
const unfinished = "null"

// languages is the table of all endpoints.
func languages() []*language {
	list := []*language{chat(), completions(), responses(), messages()}
	for _, l := range [][3]string{
		{"embeddings", "/v1/embeddings", `"input":"%s"`}, {"pooling", "/pooling", `"input":"%s"`},
		{"classify", "/classify", `"input":"%s"`}, {"score", "/v1/score", `"text_1":"a","text_2":"%s"`},
		{"rerank", "/v1/rerank", `"query":"a","documents":["%s"]`},
	} {
		list = append(list, simple(l, true))
	}
	for _, l := range [][3]string{
		{"tokenize", "/tokenize", `"prompt":"%s"`}, {"detokenize", "/detokenize", `"tokens":[1,2],"x":"%s"`},
		{"count_tokens", "/v1/messages/count_tokens", `"messages":[{"role":"user","content":"%s"}]`},
		{"render_chat", "/v1/chat/completions/render", `"messages":[{"role":"user","content":"%s"}]`},
		{"render_completions", "/v1/completions/render", `"prompt":"%s"`},
	} {
		list = append(list, simple(l, false))
	}
	return list
}

// simple is an endpoint whose answer says nothing of how it ended.
func simple(names [3]string, slots bool) *language {
	return &language{
		name: names[0], path: names[1], asks: names[2], slots: slots,
		whole: func(tag, _ string, _ int) string { return fmt.Sprintf(`{"id":"%s","data":[{"index":0}]}`, tag) },
	}
}

func chat() *language {
	event := func(tag string, choice int, delta, reason string) string {
		return data(`{"id":"%s","object":"chat.completion.chunk","choices":[{"index":%d,"delta":%s,"finish_reason":%s}]}`, tag, choice, delta, reason)
	}
	return &language{
		name: "chat_completions", path: "/v1/chat/completions", streams: true, many: true, slots: true, usage: true,
		asks:    `"messages":[{"role":"user","content":"%s"}]`,
		opening: func(tag string) []string { return []string{event(tag, 0, `{"role":"assistant","content":""}`, "null")} },
		token: func(tag string, choice int, text string) string {
			return event(tag, choice, `{"content":"`+text+`"}`, "null")
		},
		finish: func(tag, reason string, choice int) []string {
			return []string{event(tag, choice, `{"content":""}`, reason)}
		},
		broken: data(`{"error":{"message":"engine died","type":"InternalServerError","param":null,"code":500}}`),
		whole: func(tag, reason string, choices int) string {
			return wholeChoices(tag, choices, fmt.Sprintf(`"message":{"role":"assistant","content":"%s"},"finish_reason":%s`, contentFor(tag, reason), reason))
		},
	}
}

func completions() *language {
	event := func(tag string, choice int, text, reason string) string {
		return data(`{"id":"%s","object":"text_completion","choices":[{"index":%d,"text":"%s","finish_reason":%s}]}`, tag, choice, text, reason)
	}
	return &language{
		name: "completions", path: "/v1/completions", streams: true, many: true, slots: true, usage: true,
		asks:    `"prompt":"%s"`,
		opening: func(string) []string { return nil },
		token:   func(tag string, choice int, text string) string { return event(tag, choice, text, "null") },
		finish:  func(tag, reason string, choice int) []string { return []string{event(tag, choice, "", reason)} },
		broken:  chat().broken,
		whole: func(tag, reason string, choices int) string {
			return wholeChoices(tag, choices, fmt.Sprintf(`"text":"%s","finish_reason":%s`, contentFor(tag, reason), reason))
		},
	}
}

func wholeChoices(tag string, choices int, choice string) string {
	list := make([]string, choices)
	for i := range list {
		list[i] = fmt.Sprintf(`{"index":%d,%s}`, i, choice)
	}
	return fmt.Sprintf(`{"id":"%s","choices":[%s],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}`, tag, strings.Join(list, ","))
}

// contentFor: an answer that was aborted at once is empty.
func contentFor(tag, reason string) string {
	if reason == `"abort"` {
		return ""
	}
	return tag
}

func responses() *language {
	response := func(tag, status string) string {
		return fmt.Sprintf(`{"id":"%s","object":"response","error":null,"status":"%s","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"%s"}]}],"usage":{"input_tokens":5,"output_tokens":3,"total_tokens":8}}`,
			tag, status, map[bool]string{true: "", false: tag}[status == "cancelled"])
	}
	status := map[string]string{`"stop"`: "completed", `"abort"`: "cancelled", unfinished: "in_progress"}
	return &language{
		name: "responses", path: "/v1/responses", streams: true, slots: true,
		asks:    `"input":"%s"`,
		opening: func(tag string) []string { return []string{typed("response.created", `,"response":{"id":"%s"}`, tag)} },
		token: func(_ string, _ int, text string) string {
			return typed("response.output_text.delta", `,"delta":"%s"`, text)
		},
		finish: func(tag, reason string, _ int) []string {
			if reason == unfinished {
				return []string{typed("response.output_text.done", `,"text":"%s"`, tag)}
			}
			return []string{typed("response.completed", `,"response":%s`, response(tag, status[reason]))}
		},
		broken: typed("error", `,"code":"500","message":"engine died","param":null`),
		whole:  func(tag, reason string, _ int) string { return response(tag, status[reason]) },
	}
}

func messages() *language {
	reasons := map[string]string{`"stop"`: `"end_turn"`, `"abort"`: "null", unfinished: "null"}
	return &language{
		name: "messages", path: "/v1/messages", streams: true, slots: true,
		asks: `"messages":[{"role":"user","content":"%s"}]`,
		opening: func(tag string) []string {
			return []string{typed("message_start", `,"message":{"id":"%s","content":[],"usage":{"input_tokens":5,"output_tokens":0}}`, tag)}
		},
		token: func(_ string, _ int, text string) string {
			return typed("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"%s"}`, text)
		},
		finish: func(_, reason string, _ int) []string {
			if reason == unfinished {
				return []string{typed("content_block_stop", `,"index":0`)}
			}
			return []string{typed("message_delta", `,"delta":{"stop_reason":%s},"usage":{"output_tokens":3}`, reasons[reason]), typed("message_stop", "")}
		},
		broken: typed("error", `,"error":{"type":"api_error","message":"engine died"}`),
		whole: func(tag, reason string, _ int) string {
			return fmt.Sprintf(`{"id":"%s","type":"message","content":[{"type":"text","text":"%s"}],"stop_reason":%s,"usage":{"input_tokens":5,"output_tokens":3}}`,
				tag, contentFor(tag, reason), reasons[reason])
		},
	}
}
