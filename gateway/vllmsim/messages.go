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
		return nil, badRequest("max_tokens", "1 validation error: max_tokens: Field required")
	}
	return &work{params: body.params, prompts: []prompt{p}, most: *body.MaxTokens}, nil
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
		p.tokens += body.System.tokens() + systemTokens
	}
	if len(body.Tools) > 0 {
		p.tokens += countText(string(body.Tools))
	}
	return &body, p, nil
}

// countTokens answers /v1/messages/count_tokens.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body, p, err := readMessages(r)
	if err == nil && body.Model != s.options.Model {
		err = unknownModel(body.Model)
	}
	if err != nil {
		s.fail(w, (*failure).messagesBody, err)
		return
	}
	writeJSON(w, http.StatusOK, mustJSON(map[string]any{"input_tokens": p.tokens,
		"context_management": map[string]any{"original_input_tokens": p.tokens}}))
}

// messagesShape writes Anthropic's messages.
type messagesShape struct{}

func (messagesShape) begin(dst []byte, r *reply, _ *choice) []byte {
	prompt, _ := r.usage()
	return r.typed(dst, "message_start", map[string]any{"message": map[string]any{
		"id": "chatcmpl-" + r.id, "type": "message", "role": "assistant", "content": []any{}, "model": r.work.Model,
		"stop_reason": nil, "stop_sequence": nil, "usage": map[string]any{"input_tokens": prompt, "output_tokens": 0}}})
}

func (messagesShape) text(dst []byte, r *reply, _ *choice, text string) []byte {
	if text == "" {
		return dst
	}
	if r.events == 1 {
		dst = r.typed(dst, "content_block_start", map[string]any{"index": 0, "content_block": map[string]any{"type": "text", "text": ""}})
	}
	return r.typed(dst, "content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "text_delta", "text": text}})
}

func (messagesShape) end(dst []byte, r *reply) []byte {
	if r.events > 1 {
		dst = r.typed(dst, "content_block_stop", map[string]any{"index": 0})
	}
	prompt, completion := r.usage()
	dst = r.typed(dst, "message_delta", map[string]any{"delta": map[string]any{"stop_reason": stopReason(r.choices[0].why)},
		"usage": map[string]any{"input_tokens": prompt, "output_tokens": completion}})
	return r.typed(dst, "message_stop", map[string]any{})
}

func (messagesShape) fail(f *failure) []byte { return f.messagesBody() }

func (messagesShape) whole(r *reply, texts []string) any {
	prompt, completion := r.usage()
	return map[string]any{"id": "chatcmpl-" + r.id, "type": "message", "role": "assistant", "model": r.work.Model,
		"content":     []any{map[string]any{"type": "text", "text": texts[0]}},
		"stop_reason": stopReason(r.choices[0].why), "stop_sequence": nil,
		"usage": map[string]any{"input_tokens": prompt, "output_tokens": completion}}
}

// stopReason is Anthropic's word for an ending; an abort has none.
func stopReason(why ending) any {
	switch why {
	case stopped:
		return "end_turn"
	case reached:
		return "max_tokens"
	}
	return nil
}
