package vllmsim

import (
	"encoding/json"
	"net/http"
)

// messagesRequest is the body of /v1/messages, as far as it matters here.
type messagesRequest struct {
	params
	Messages  json.RawMessage    `json:"messages"`
	System    content            `json:"system"`
	MaxTokens *int               `json:"max_tokens"`
	Tools     *[]json.RawMessage `json:"tools"`
	Choice    *messagesChoice    `json:"tool_choice"`
	Output    *struct {
		Format *responseFormat `json:"format"`
	} `json:"output_config"`
}

func parseMessages(r *http.Request) (*work, error) {
	body, d, err := readMessages(r)
	if err != nil {
		return nil, err
	}
	if body.MaxTokens == nil {
		return nil, missing("max_tokens")
	}
	if *body.MaxTokens < 1 {
		return nil, malformed("body.max_tokens", "value_error", "Value error, max_tokens must be positive")
	}
	tools, err := body.toolbox()
	if err != nil {
		return nil, err
	}
	if tools != nil {
		tools.hint = d.hint
	}
	body.ResponseFormat = nil
	if body.Output != nil {
		body.ResponseFormat = body.Output.Format
	}
	return &work{params: body.params, prompts: []prompt{d.prompt}, most: *body.MaxTokens, bound: "max_completion_tokens", tools: tools}, nil
}

// readMessages reads the body and counts its prompt.
func readMessages(r *http.Request) (*messagesRequest, dialogue, error) {
	var body messagesRequest
	if err := decodeBody(r, &body); err != nil {
		return nil, dialogue{}, err
	}
	d, err := readDialogue(body.Messages)
	if err != nil {
		return nil, dialogue{}, err
	}
	if body.System.text != "" {
		d.prompt.lead(systemText(body.System.ids()))
	}
	if body.Tools != nil && len(*body.Tools) > 0 {
		d.prompt.lead(encode(string(mustJSON(body.Tools))))
	}
	return &body, d, nil
}

// countTokens answers /v1/messages/count_tokens.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body, d, err := readMessages(r)
	if err == nil {
		err = s.options.known(body.Model)
	}
	if err != nil {
		s.fail(w, (*failure).messagesBody, err)
		return
	}
	writeJSON(w, http.StatusOK, mustJSON(obj("input_tokens", d.prompt.tokens(), "context_management", obj("original_input_tokens", d.prompt.tokens()))))
}

// messagesShape writes Anthropic's messages.
type messagesShape struct{}

func (messagesShape) open(dst []byte, _ *reply) []byte { return dst }

func (sh messagesShape) begin(dst []byte, r *reply, _ *choice) []byte {
	return r.typed(dst, "message_start", "message", sh.message(r, list{}, "stop_sequence", nil))
}

func (sh messagesShape) text(dst []byte, r *reply, c *choice, text string) []byte {
	if r.calls(c) != nil {
		return sh.uses(dst, r, c, text)
	}
	if text == "" {
		return dst
	}
	if r.events == 1 {
		dst = r.typed(dst, "content_block_start", "content_block", obj("type", "text", "text", ""), "index", 0)
	}
	return r.typed(dst, "content_block_delta", "delta", obj("type", "text_delta", "text", text), "index", 0)
}

func (sh messagesShape) end(dst []byte, r *reply) []byte {
	c := &r.choices[0]
	if r.events > 1 {
		dst = r.typed(dst, "content_block_stop", "index", max(r.announced(c)-1, 0))
	}
	dst = r.typed(dst, "message_delta", "delta", obj("stop_reason", r.stopReason(c), "stop_sequence", nil), "usage", sh.usage(r))
	return r.typed(dst, "message_stop")
}

func (messagesShape) fail(f *failure) []byte { return f.messagesBody() }

func (messagesShape) broken(f *failure) []byte { return f.messagesEvent() }

func (sh messagesShape) whole(r *reply, texts []string) any {
	if f := cutArguments(r); f != nil {
		return f
	}
	return sh.message(r, messagesContent(r, texts[0]))
}

// message is the message object, with more members before its usage.
func (sh messagesShape) message(r *reply, content list, more ...any) object {
	members := obj("id", "chatcmpl-"+r.id, "type", "message", "role", "assistant", "content", content, "model", r.work.Model,
		"stop_reason", r.stopReason(&r.choices[0]))
	members = append(members, obj(more...)...)
	return append(members, obj("usage", sh.usage(r))...)
}

func (messagesShape) usage(r *reply) object {
	prompt, completion := r.usage()
	return obj("input_tokens", prompt, "output_tokens", completion)
}

// stopReason is Anthropic's word for an ending; an abort, like no ending, has none.
func (r *reply) stopReason(c *choice) any {
	switch {
	case c.why == stopped && len(r.calls(c)) > 0:
		return "tool_use"
	case c.why == stopped:
		return "end_turn"
	case c.why == reached:
		return "max_tokens"
	}
	return nil
}
