package vllmsim

import (
	"encoding/json"
	"net/http"
)

// responsesRequest is the body of /v1/responses, as far as it matters here.
type responsesRequest struct {
	params
	Input           json.RawMessage `json:"input"`
	Instructions    string          `json:"instructions"`
	MaxOutputTokens *int            `json:"max_output_tokens"`
}

func parseResponses(r *http.Request) (*work, error) {
	var body responsesRequest
	if err := decodeBody(r, &body); err != nil {
		return nil, err
	}
	var text string
	var p prompt
	var err error
	if json.Unmarshal(body.Input, &text) == nil {
		p = prompt{tokens: beginTokens + turnTokens + generateTokens + countText(text), seed: hash([]byte(text)), short: short([]byte(text))}
	} else if p, err = chatPrompt(body.Input); err != nil {
		return nil, err
	}
	if body.Instructions != "" {
		p.tokens += countText(body.Instructions) + systemTokens
	}
	body.StreamOptions = nil // has another meaning here
	return &work{params: body.params, prompts: []prompt{p}, most: bound(body.MaxOutputTokens)}, nil
}

// responsesShape writes responses: typed events that each carry a sequence
// number, and no [DONE].
type responsesShape struct{}

// event appends one typed event with its number.
func (responsesShape) event(dst []byte, r *reply, kind string, fields map[string]any) []byte {
	fields["sequence_number"] = r.events
	return r.typed(dst, kind, fields)
}

func (sh responsesShape) begin(dst []byte, r *reply, _ *choice) []byte {
	dst = sh.event(dst, r, "response.created", map[string]any{"response": sh.object(r, "in_progress", nil)})
	dst = sh.event(dst, r, "response.in_progress", map[string]any{"response": sh.object(r, "in_progress", nil)})
	dst = sh.event(dst, r, "response.output_item.added", map[string]any{"output_index": 0, "item": sh.item(r, "in_progress")})
	return sh.event(dst, r, "response.content_part.added", sh.place(r, "part", outputText("")))
}

func (sh responsesShape) text(dst []byte, r *reply, c *choice, text string) []byte {
	if text != "" {
		dst = sh.event(dst, r, "response.output_text.delta", sh.place(r, "delta", text))
	}
	if c.why == running {
		return dst
	}
	all := r.joined(c)
	dst = sh.event(dst, r, "response.output_text.done", sh.place(r, "text", all))
	dst = sh.event(dst, r, "response.content_part.done", sh.place(r, "part", outputText(all)))
	return sh.event(dst, r, "response.output_item.done", map[string]any{"output_index": 0, "item": sh.item(r, "completed", outputText(all))})
}

// end closes the stream; vLLM calls the last event completed even when the
// status inside is incomplete.
func (sh responsesShape) end(dst []byte, r *reply) []byte {
	return sh.event(dst, r, "response.completed", map[string]any{"response": sh.whole(r, []string{r.joined(&r.choices[0])})})
}

func (responsesShape) fail(f *failure) []byte { return f.body() }

func (sh responsesShape) whole(r *reply, texts []string) any {
	status := map[ending]string{stopped: "completed", reached: "incomplete", aborted: "cancelled"}[r.choices[0].why]
	return sh.object(r, status, []any{sh.item(r, status, outputText(texts[0]))})
}

// object is the response object.
func (responsesShape) object(r *reply, status string, output []any) map[string]any {
	if output == nil {
		output = []any{}
	}
	o := map[string]any{"id": "resp_" + r.id, "object": "response", "created_at": r.created, "model": r.work.Model, "status": status,
		"output": output, "error": nil, "incomplete_details": nil, "instructions": nil, "metadata": nil, "parallel_tool_calls": true,
		"tool_choice": "auto", "tools": []any{}, "temperature": 1.0, "top_p": 1.0, "usage": nil}
	if status == "incomplete" {
		o["incomplete_details"] = map[string]any{"reason": "max_output_tokens"}
	}
	if status != "in_progress" {
		prompt, completion := r.usage()
		o["usage"] = map[string]any{"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion,
			"input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{"reasoning_tokens": 0}}
	}
	return o
}

// item is the message item of the answer.
func (responsesShape) item(r *reply, status string, parts ...any) map[string]any {
	if parts == nil {
		parts = []any{}
	}
	return map[string]any{"id": "msg_" + r.id, "type": "message", "role": "assistant", "status": status, "content": parts}
}

// place is the fields of an event about the answer's one text part.
func (responsesShape) place(r *reply, name string, value any) map[string]any {
	return map[string]any{"item_id": "msg_" + r.id, "output_index": 0, "content_index": 0, "logprobs": []any{}, name: value}
}

func outputText(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": nil}
}
