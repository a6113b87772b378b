package vllmsim

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// messagesChoice is Anthropic's tool_choice.
type messagesChoice struct {
	Type   string `json:"type"`
	Name   string `json:"name"`
	Single bool   `json:"disable_parallel_tool_use"`
}

// messagesTool is an entry of Anthropic's tools.
type messagesTool struct {
	Name   *string         `json:"name"`
	Schema json.RawMessage `json:"input_schema"`
}

// toolbox reads tools and tool_choice; nil: no tool may be called.
func (b *messagesRequest) toolbox() (*toolbox, error) {
	box := &toolbox{choice: "auto"}
	if b.Choice != nil {
		if err := box.chooseForMessages(b.Choice); err != nil {
			return nil, err
		}
	}
	if b.Tools == nil {
		return nil, nil
	}
	for i, raw := range *b.Tools {
		var t messagesTool
		where := fmt.Sprintf("tools.%d", i)
		switch {
		case json.Unmarshal(raw, &t) != nil:
			return nil, malformed("body."+where, "model_attributes_type", "Input should be a valid dictionary or object to extract fields from")
		case t.Name == nil:
			return nil, missing(where + ".name")
		case isNull(t.Schema):
			return nil, missing(where + ".input_schema")
		}
		box.tools = append(box.tools, tool{name: *t.Name, parameters: t.Schema})
	}
	if box.named != "" && box.find(box.named) == nil {
		return nil, badRequest("", "Tool '%s' has not been passed in `tools`.", box.named)
	}
	return box, nil
}

func (b *toolbox) chooseForMessages(c *messagesChoice) error {
	b.single = c.Single
	switch {
	case c.Type == "auto" || c.Type == "none":
		b.choice = c.Type
	case c.Type == "any":
		b.choice = "required"
	case c.Type == "tool" && c.Name != "":
		b.choice, b.named = "", c.Name
	case c.Type == "tool":
		return malformed("body.tool_choice", "value_error", "Value error, tool_choice.name is required when type is 'tool'")
	default:
		return malformed("body.tool_choice.type", "literal_error", "Input should be 'auto', 'any', 'tool' or 'none'")
	}
	return nil
}

// uses writes what a piece of the answer says of its calls: a block for each.
func (messagesShape) uses(dst []byte, r *reply, c *choice, text string) []byte {
	for _, s := range r.said(c, text) {
		if s.first && s.index > 0 {
			dst = r.typed(dst, "content_block_stop", "index", s.index-1)
		}
		if s.first {
			block := obj("type", "tool_use", "id", r.callID(c, s.index), "name", s.name, "input", object{})
			dst = r.typed(dst, "content_block_start", "content_block", block, "index", s.index)
		}
		dst = r.typed(dst, "content_block_delta", "delta", obj("type", "input_json_delta", "partial_json", s.arguments), "index", s.index)
	}
	return dst
}

// cutArguments is what vLLM says in place of a message whose named call was cut:
// its arguments can't be read. The words are Python's, for the two commonest ways.
func cutArguments(r *reply) *failure {
	for _, m := range r.made(&r.choices[0]) {
		if json.Valid([]byte(m.arguments)) {
			continue
		}
		at, problem := utf8.RuneCountInString(m.arguments), "Expecting value"
		if open := openString(m.arguments); open >= 0 {
			at, problem = utf8.RuneCountInString(m.arguments[:open]), "Unterminated string starting at"
		}
		return badRequest("", "%s: line 1 column %d (char %d)", problem, at+1, at)
	}
	return nil
}

// openString is where the string begins that a text ends in; negative: in none.
func openString(text string) int {
	open := -1
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '"' && open < 0:
			open = i
		case text[i] == '"':
			open = -1
		}
	}
	return open
}

// messagesContent is the blocks of a message.
func messagesContent(r *reply, text string) list {
	c := &r.choices[0]
	if r.calls(c) == nil {
		return list{obj("type", "text", "text", text)}
	}
	var blocks list
	for _, m := range r.made(c) {
		blocks = append(blocks, obj("type", "tool_use", "id", m.id, "name", m.name, "input", json.RawMessage(m.arguments)))
	}
	if blocks == nil {
		blocks = list{obj("type", "text", "text", r.leftover(c))}
	}
	return blocks
}
