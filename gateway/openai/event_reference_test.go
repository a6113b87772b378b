package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object, decoded one level deep.
type object map[string]json.RawMessage

func decode(raw json.RawMessage) (o object) {
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func (o object) text(name string) string {
	if raw := string(o[name]); strings.HasPrefix(raw, `"`) {
		return raw[1 : len(raw)-1]
	}
	return ""
}

func (o object) holds(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		var v any
		_ = json.Unmarshal(o[name], &v)
		switch v := v.(type) {
		case string:
			return v != ""
		case []any:
			return len(v) > 0
		case map[string]any:
			return len(v) > 0
		}
		return false
	})
}

// reference is a walker that decodes everything and keeps it all.
type reference struct {
	endpoint Endpoint
	choices  map[int]string // finish reason of each choice that was seen
	closed   bool
	worst    Ending
}

func newReference(e Endpoint) *reference { return &reference{endpoint: e, choices: map[int]string{}} }

func (r *reference) ending() Ending {
	if r.worst != EndingOpen {
		return r.worst
	}
	if r.endpoint == Responses || r.endpoint == Messages {
		if r.closed && r.choices[0] != "" {
			return EndingComplete
		}
		return EndingOpen
	}
	top := -1
	for index := range r.choices {
		top = max(top, index)
	}
	for i := 0; i <= top; i++ {
		if r.choices[i] == "" || i >= choiceLimit {
			return EndingOpen
		}
	}
	if top < 0 {
		return EndingOpen
	}
	return EndingComplete
}

func (r *reference) see(index int, reason string) {
	switch reason {
	case "abort":
		r.worst = max(r.worst, EndingAborted)
	case "error":
		r.worst = EndingError
	}
	if r.choices[index] == "" {
		r.choices[index] = reason
	}
}

func (r *reference) classify(name, data string) (kind EventKind, tokens bool) {
	trimmed := strings.TrimSpace(data)
	switch {
	case trimmed == "" || name == "ping":
		return EventComment, false
	case trimmed == "[DONE]":
		return EventDone, false
	}
	o := decode(json.RawMessage(data))
	typed := r.endpoint == Responses || r.endpoint == Messages
	kindName := name
	if strings.HasPrefix(string(o["type"]), `"`) {
		kindName = o.text("type")
	}
	if name == "error" || o.holds("error") || !typed && o.text("object") == "error" || o != nil && typed && kindName == "error" {
		r.worst = EndingError
		return EventError, false
	}
	switch {
	case o == nil:
		return EventOther, false
	case r.endpoint == Responses:
		kind = r.responses(kindName, o)
	case r.endpoint == Messages:
		kind = r.messages(kindName, o)
	default:
		return r.chunk(o)
	}
	return kind, kind == EventToken
}

func (r *reference) chunk(o object) (kind EventKind, tokens bool) {
	var choices []json.RawMessage
	if json.Unmarshal(o["choices"], &choices) != nil || choices == nil {
		return EventOther, false
	}
	kind = EventRole
	for i, raw := range choices {
		c := decode(raw)
		if _, ok := c["index"]; ok {
			i = natural(c["index"])
		}
		for _, delta := range []object{decode(c["delta"]), decode(c["message"])} {
			tokens = tokens || delta.holds("content", "reasoning", "reasoning_content", "refusal", "tool_calls", "function_call", "audio")
		}
		tokens = tokens || c.holds("text", "token_ids")
		if c.text("finish_reason") != "" {
			kind = EventFinish
		}
		r.see(i, c.text("finish_reason"))
	}
	switch {
	case len(choices) == 0 && decode(o["usage"]) == nil:
		return EventOther, false
	case len(choices) == 0:
		return EventUsage, false
	case kind == EventRole && tokens:
		return EventToken, true
	}
	return kind, tokens
}

func natural(raw json.RawMessage) int {
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 0 || n > countLimit {
		return 0
	}
	return n
}

func (r *reference) responses(kind string, o object) EventKind {
	switch kind {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		r.closed = true
		r.see(0, "closed")
		for _, status := range []string{kind, "response." + decode(o["response"]).text("status")} {
			switch status {
			case "response.failed":
				r.worst = max(r.worst, EndingFailed)
			case "response.cancelled":
				r.worst = max(r.worst, EndingAborted)
			}
		}
		return EventFinish
	case "response.created", "response.queued", "response.in_progress", "response.content_part.added",
		"response.reasoning_part.added", "response.reasoning_summary_part.added":
		return EventRole
	case "response.output_item.added":
		return roleOrToken(r.said(o))
	}
	if strings.HasSuffix(kind, ".delta") {
		return roleOrToken(o.holds("delta") && decode(o["delta"]) == nil || decode(o["delta"]).holds("text", "thinking", "partial_json"))
	}
	return EventOther
}

func (r *reference) said(o object) bool {
	for _, item := range []object{decode(o["item"]), decode(o["content_block"])} {
		if item.holds("text", "thinking", "name", "arguments", "content", "refusal") {
			return true
		}
	}
	return false
}

func (r *reference) messages(kind string, o object) EventKind {
	delta := decode(o["delta"])
	switch kind {
	case "ping":
		return EventComment
	case "message_start":
		return EventRole
	case "content_block_start":
		return roleOrToken(r.said(o))
	case "content_block_delta":
		if delta.holds("text", "thinking", "partial_json") || delta == nil && o.holds("delta") {
			return EventToken
		}
	case "message_delta":
		r.see(0, delta.text("stop_reason"))
		if delta.text("stop_reason") == "" {
			return EventRole
		}
		return EventFinish
	case "message_stop":
		r.closed = true
		if r.choices[0] == "" {
			r.worst = max(r.worst, EndingAborted)
		}
		return EventFinish
	}
	return EventOther
}
