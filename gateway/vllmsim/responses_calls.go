package vllmsim

import (
	"encoding/json"
	"fmt"
)

// settings is what a response repeats of its request.
type settings struct {
	tools    list
	choice   any
	parallel bool
	text     any // the form of its text
}

// responsesTool is an entry of a response's tools.
type responsesTool struct {
	Type        string          `json:"type"`
	Name        *string         `json:"name"`
	Parameters  json.RawMessage `json:"parameters"`
	Description json.RawMessage `json:"description"`
	Strict      json.RawMessage `json:"strict"`
}

func (t *responsesTool) said() object {
	return obj("name", *t.Name, "parameters", orNull(t.Parameters), "strict", orNull(t.Strict), "type", "function", "allowed_callers", nil,
		"async", nil, "defer_loading", nil, "description", orNull(t.Description), "output_schema", nil)
}

func orNull(raw json.RawMessage) any {
	if isNull(raw) {
		return nil
	}
	return raw
}

// functions are the tools of the kind that is simulated.
func (b *responsesRequest) functions() ([]responsesTool, error) {
	var all []responsesTool
	for i, raw := range b.Tools {
		var t responsesTool
		if json.Unmarshal(raw, &t) != nil {
			return nil, malformed(fmt.Sprintf("body.tools.%d", i), "model_attributes_type", "Input should be a valid dictionary or object to extract fields from")
		}
		if t.Type != "function" {
			continue
		}
		if t.Name == nil {
			return nil, missing(fmt.Sprintf("tools.%d.FunctionTool.name", i))
		}
		all = append(all, t)
	}
	return all, nil
}

// toolbox reads tools, tool_choice and parallel_tool_calls; nil: no tool may be
// called.
func (b *responsesRequest) toolbox() (*toolbox, error) {
	functions, err := b.functions()
	if err != nil {
		return nil, err
	}
	box := &toolbox{choice: "auto", single: b.Parallel != nil && !*b.Parallel}
	for _, t := range functions {
		box.tools = append(box.tools, tool{name: *t.Name, parameters: t.Parameters})
	}
	if err := box.chooseForResponses(b.ToolChoice); err != nil || len(b.Tools) == 0 {
		return nil, err
	}
	return box, nil
}

func (b *toolbox) chooseForResponses(raw json.RawMessage) error {
	var word string
	var named struct {
		Name string `json:"name"`
	}
	switch {
	case isNull(raw):
	case json.Unmarshal(raw, &word) == nil && (word == "auto" || word == "none" || word == "required"):
		b.choice = word
		if word == "required" && len(b.tools) == 0 {
			return badRequest("tool_choice", "Tool choice 'required' must be specified with 'tools' parameter. (parameter=tool_choice)")
		}
	case raw[0] != '{' || json.Unmarshal(raw, &named) != nil:
		return malformed("body.tool_choice", "literal_error", "Input should be 'none', 'auto' or 'required'")
	default:
		b.choice, b.named = "", named.Name
		if b.find(b.named) == nil {
			return badRequest("tool_choice", "Tool choice 'function' not found in 'tools' parameter. (parameter=tool_choice)")
		}
	}
	return nil
}

// settings is what of the request its response repeats.
func (b *responsesRequest) settings(box *toolbox) *settings {
	s := &settings{tools: list{}, choice: "none", parallel: b.Parallel == nil || *b.Parallel}
	functions, _ := b.functions() // read before
	for _, t := range functions {
		s.tools = append(s.tools, t.said())
	}
	if b.Text != nil && b.Text.Format != nil {
		s.text = obj("format", b.Text.Format.said(), "verbosity", orNull(b.Text.Verbosity))
	}
	if box == nil {
		return s
	}
	if s.choice = any(box.choice); box.named != "" {
		s.choice = obj("name", box.named, "type", "function")
	}
	if box.forces() {
		s.text = obj("format", obj("name", "tool_calling_response", "schema", box.asked(), "type", "json_schema", "description", nil, "strict", true), "verbosity", nil)
	}
	return s
}

func (f *responseFormat) said() object {
	if f.Type != "json_schema" {
		return obj("type", f.Type)
	}
	return obj("name", orNull(f.Name), "schema", orNull(f.Flat), "type", f.Type, "description", f.Description, "strict", f.Strict)
}

// asked is the schema to which vLLM makes a forced call keep: the arguments of
// the one that is named, or a list of calls.
func (b *toolbox) asked() any {
	if b.named != "" {
		return b.find(b.named).taken()
	}
	var calls list
	for i := range b.tools {
		t := &b.tools[i]
		calls = append(calls, obj("properties", obj("name", obj("type", "string", "enum", list{t.name}), "parameters", t.taken()), "required", list{"name", "parameters"}))
	}
	s := obj("type", "array", "minItems", 1, "items", obj("type", "object", "anyOf", calls))
	if b.single {
		s = append(s, member{"maxItems", 1})
	}
	return s
}

// taken is the schema of what a tool takes.
func (t *tool) taken() any {
	if isNull(t.parameters) {
		return obj("type", "object", "properties", object{})
	}
	return t.parameters
}

// uses writes what a piece of the answer says of its calls: an item for each.
func (sh responsesShape) uses(dst []byte, r *reply, c *choice, text string) []byte {
	for _, s := range r.said(c, text) {
		if s.first && s.index > 0 {
			dst = sh.used(dst, r, c, s.index-1)
		}
		if s.first {
			dst = sh.event(dst, r, "response.output_item.added", "output_index", s.index, "item", sh.callItem(r, c, s.index, "", "in_progress"))
		}
		dst = sh.event(dst, r, "response.function_call_arguments.delta", "delta", s.arguments, "item_id", r.itemID(c, s.index), "output_index", s.index)
	}
	if n := r.announced(c); c.why != running && n > 0 {
		dst = sh.used(dst, r, c, n-1)
	}
	return dst
}

// used ends the item of a call. The name comes last, after the type.
func (sh responsesShape) used(dst []byte, r *reply, c *choice, i int) []byte {
	arguments := r.arguments(c, i)
	const kind = "response.function_call_arguments.done"
	dst = append(dst, "event: "+kind+"\ndata: "...)
	dst = append(dst, mustJSON(obj("arguments", arguments, "item_id", r.itemID(c, i), "output_index", i, "sequence_number", r.events, "type", kind, "name", r.calls(c)[i].name))...)
	dst = append(dst, "\n\n"...)
	r.events++
	return sh.event(dst, r, "response.output_item.done", "output_index", i, "item", sh.callItem(r, c, i, arguments, "completed"))
}

// callItem is the item of a call.
func (responsesShape) callItem(r *reply, c *choice, i int, arguments, status string) object {
	return obj("arguments", arguments, "call_id", r.callID(c, i), "name", r.calls(c)[i].name, "type", "function_call", "id", r.itemID(c, i),
		"async", nil, "caller", nil, "namespace", nil, "status", status)
}

// output is the items of a whole response: calls, or a message.
func (sh responsesShape) output(r *reply, text string) list {
	c := &r.choices[0]
	if r.calls(c) != nil {
		text = r.leftover(c)
	}
	output := list{}
	for i, m := range r.made(c) {
		output = append(output, sh.callItem(r, c, i, m.arguments, "completed"))
	}
	if r.calls(c) == nil || text != "" {
		output = append(output, sh.item(r, "completed", list{outputText(text, nil)}))
	}
	return output
}
