package vllmsim

import (
	"encoding/json"
	"fmt"
)

// chatTool is an entry of a chat's tools.
type chatTool struct {
	Function *struct {
		Name       *string         `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// toolbox reads tools, tool_choice and parallel_tool_calls; nil: no tool may be
// called.
func (b *chatRequest) toolbox() (*toolbox, error) {
	if b.Tools != nil && len(*b.Tools) == 0 {
		return nil, badRequest("tools", "`tools` must not be an empty array. Either provide at least one tool or omit the field entirely. (parameter=tools)")
	}
	box := &toolbox{choice: "auto", single: b.Parallel != nil && !*b.Parallel}
	if err := box.chooseForChat(b.ToolChoice, b.Tools != nil); err != nil || b.Tools == nil {
		return nil, err
	}
	for i, raw := range *b.Tools {
		var t chatTool
		where := fmt.Sprintf("tools.%d.function", i)
		switch {
		case json.Unmarshal(raw, &t) != nil:
			return nil, malformed("body."+where, "model_attributes_type", "Input should be a valid dictionary or object to extract fields from")
		case t.Function == nil:
			return nil, missing(where)
		case t.Function.Name == nil:
			return nil, missing(where + ".name")
		}
		box.tools = append(box.tools, tool{name: *t.Function.Name, parameters: t.Function.Parameters})
	}
	if box.named != "" && box.find(box.named) == nil {
		return nil, badRequest("tool_choice", "The tool specified in `tool_choice` does not match any of the specified `tools` (parameter=tool_choice)")
	}
	return box, nil
}

// correctChoice is what vLLM says of a tool_choice that it can't read.
const correctChoice = "in `tool_choice`! Correct usage: `{\"type\": \"function\", \"function\": {\"name\": \"my_function\"}}`"

// chooseForChat reads tool_choice.
func (b *toolbox) chooseForChat(raw json.RawMessage, tools bool) error {
	var word string
	isWord := json.Unmarshal(raw, &word) == nil
	switch {
	case isNull(raw):
		return nil
	case word == "none":
		b.choice = word
		return nil
	case !tools:
		return badRequest("tool_choice", "When using `tool_choice`, `tools` must be set. (parameter=tool_choice)")
	case word == "auto" || word == "required":
		b.choice = word
		return nil
	case isWord || raw[0] != '{':
		if !isWord {
			word = string(raw)
		}
		return badRequest("tool_choice", "Invalid value for `tool_choice`: %s! Only named tools, \"none\", \"auto\" or \"required\" are supported. (parameter=tool_choice)", word)
	}
	return b.nameForChat(raw)
}

func (b *toolbox) nameForChat(raw json.RawMessage) error {
	var choice struct {
		Function json.RawMessage `json:"function"`
	}
	var function map[string]json.RawMessage
	if json.Unmarshal(raw, &choice) != nil || json.Unmarshal(choice.Function, &function) != nil || function == nil {
		said := string(choice.Function)
		if isNull(choice.Function) {
			said = "None"
		}
		return badRequest("tool_choice.function", "Invalid value for `function`: `%s` %s (parameter=tool_choice.function)", said, correctChoice)
	}
	name, is := function["name"]
	if !is {
		return badRequest("tool_choice.function.name", "Expected field `name` in `function` %s (parameter=tool_choice.function.name)", correctChoice)
	}
	if json.Unmarshal(name, &b.named) != nil || b.named == "" {
		return badRequest("tool_choice.function.name", "Invalid `name` in `function`: `%s` %s (parameter=tool_choice.function.name)", b.named, correctChoice)
	}
	b.choice = ""
	return nil
}

// chatDelta is the delta of an event; nil: nothing in it shows.
func chatDelta(r *reply, c *choice, text string) []byte {
	if r.calls(c) == nil {
		return append(appendString([]byte(`{"content":`), text), '}')
	}
	said := r.said(c, text)
	if r.named() && len(said) == 0 {
		said = []saidCall{{}} // the last token has no text
	}
	if len(said) == 0 {
		return silentDelta(r, c)
	}
	entries := make(list, len(said))
	for i, s := range said {
		entries[i] = r.deltaCall(c, s)
	}
	return mustJSON(obj("tool_calls", entries))
}

// silentDelta is what an event says of tokens between and after calls: nothing
// but the end. Where the model was free to call, the real parser says that the
// calls are whole with an empty content.
func silentDelta(r *reply, c *choice) []byte {
	switch {
	case c.why == running:
		return nil
	case c.why == stopped && !r.work.tools.forces():
		return []byte(`{"content":""}`)
	}
	return []byte(`{}`)
}

// deltaCall is an entry of a delta's tool_calls. Only the first of a call has id,
// type and name; what stands for them later depends on who reads the calls.
func (r *reply) deltaCall(c *choice, s saidCall) object {
	switch {
	case s.first:
		return obj("id", r.callID(c, s.index), "type", "function", "index", s.index, "function", obj("name", s.name, "arguments", s.arguments))
	case r.named():
		return obj("index", s.index, "function", obj("arguments", s.arguments))
	case r.work.tools.forces():
		return obj("index", s.index, "function", obj("name", nil, "arguments", s.arguments))
	}
	return obj("id", nil, "index", s.index, "function", obj("arguments", s.arguments))
}

// chatCalls is the content and the tool_calls of a message.
func chatCalls(r *reply, c *choice, text string) (*string, list) {
	if r.calls(c) == nil {
		return &text, nil
	}
	var calls list
	for _, m := range r.made(c) {
		calls = append(calls, obj("id", m.id, "type", "function", "function", obj("name", m.name, "arguments", m.arguments)))
	}
	left := r.leftover(c)
	if left == "" && !r.work.tools.forces() {
		return nil, calls
	}
	return &left, calls
}
