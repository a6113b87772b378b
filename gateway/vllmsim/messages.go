package vllmsim

import (
	"encoding/json"
	"net/http"
)

// messagesRequest is the body of /v1/messages, as far as it matters here.
type messagesRequest struct {
	params
	Messages  json.RawMessage `json:"messages"`
	System    content         `json:"system"`
	MaxTokens *int            `json:"max_tokens"`
	Tools     json.RawMessage `json:"tools"`
}

func parseMessages(r *http.Request) (*work, error) {
	body, p, err := readMessages(r)
	if err != nil {
		return nil, err
	}
	if body.MaxTokens == nil {
		return nil, missing("max_tokens")
	}
	if *body.MaxTokens < 1 {
		return nil, malformed("body.max_tokens", "value_error", "Value error, max_tokens must be positive")
	}
	return &work{params: body.params, prompts: []prompt{p}, most: *body.MaxTokens, bound: "max_completion_tokens"}, nil
}

// readMessages reads the body and counts its prompt.
func readMessages(r *http.Request) (*messagesRequest, prompt, error) {
	var body messagesRequest
	if err := decodeBody(r, &body); err != nil {
		return nil, prompt{}, err
	}
	p, err := chatPrompt(body.Messages)
	if err != nil {
		return nil, prompt{}, err
	}
	if body.System.text != "" {
		p.lead(systemText(body.System.ids()))
	}
	if len(body.Tools) > 0 {
		p.lead(encode(string(body.Tools)))
	}
	return &body, p, nil
}

// countTokens answers /v1/messages/count_tokens.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body, p, err := readMessages(r)
	if err == nil {
		err = s.options.known(body.Model)
	}
	if err != nil {
		s.fail(w, (*failure).messagesBody, err)
		return
	}
	writeJSON(w, http.StatusOK, mustJSON(obj("input_tokens", p.tokens(), "context_management", obj("original_input_tokens", p.tokens()))))
}

// messagesShape writes Anthropic's messages.
type messagesShape struct{}

func (messagesShape) open(dst []byte, _ *reply) []byte { return dst }

func (sh messagesShape) begin(dst []byte, r *reply, _ *choice) []byte {
	return r.typed(dst, "message_start", "message", sh.message(r, list{}, "stop_sequence", nil))
}

func (messagesShape) text(dst []byte, r *reply, _ *choice, text string) []byte {
	if text == "" {
		return dst
	}
	if r.events == 1 {
		dst = r.typed(dst, "content_block_start", "content_block", obj("type", "text", "text", ""), "index", 0)
	}
	return r.typed(dst, "content_block_delta", "delta", obj("type", "text_delta", "text", text), "index", 0)
}

func (sh messagesShape) end(dst []byte, r *reply) []byte {
	if r.events > 1 {
		dst = r.typed(dst, "content_block_stop", "index", 0)
	}
	dst = r.typed(dst, "message_delta", "delta", obj("stop_reason", stopReason(r.choices[0].why), "stop_sequence", nil), "usage", sh.usage(r))
	return r.typed(dst, "message_stop")
}

func (messagesShape) fail(f *failure) []byte { return f.messagesBody() }

func (messagesShape) broken(f *failure) []byte { return f.messagesEvent() }

func (sh messagesShape) whole(r *reply, texts []string) any {
	return sh.message(r, list{obj("type", "text", "text", texts[0])})
}

// message is the message object, with more members before its usage.
func (sh messagesShape) message(r *reply, content list, more ...any) object {
	members := obj("id", "chatcmpl-"+r.id, "type", "message", "role", "assistant", "content", content, "model", r.work.Model,
		"stop_reason", stopReason(r.choices[0].why))
	members = append(members, obj(more...)...)
	return append(members, obj("usage", sh.usage(r))...)
}

func (messagesShape) usage(r *reply) object {
	prompt, completion := r.usage()
	return obj("input_tokens", prompt, "output_tokens", completion)
}

// stopReason is Anthropic's word for an ending; an abort, like no ending, has none.
func stopReason(why ending) any {
	switch why {
	case stopped:
		return "end_turn"
	case reached:
		return "max_tokens"
	}
	return nil
}
