package vllmsim

import (
	"encoding/json"
	"net/http"
	"slices"
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
		p = newPrompt(slices.Concat([]uint32{beginID}, turn(userID, encode(text)), generateTurn()), []byte(text))
	} else if p, err = chatPrompt(body.Input); err != nil {
		return nil, err
	}
	if body.Instructions != "" {
		p.lead(systemText(encode(body.Instructions)))
	}
	body.StreamOptions = nil // has another meaning here
	return &work{params: body.params, prompts: []prompt{p}, most: bound(body.MaxOutputTokens)}, nil
}

// responsesShape writes responses: typed events that each carry a sequence
// number, and no [DONE].
type responsesShape struct{}

// event appends one typed event with its number.
func (responsesShape) event(dst []byte, r *reply, kind string, fields ...any) []byte {
	return r.typed(dst, kind, append([]any{"sequence_number", r.events}, fields...)...)
}

func (sh responsesShape) begin(dst []byte, r *reply, _ *choice) []byte {
	dst = sh.event(dst, r, "response.created", "response", sh.object(r, "in_progress", list{}))
	dst = sh.event(dst, r, "response.in_progress", "response", sh.object(r, "in_progress", list{}))
	dst = sh.event(dst, r, "response.output_item.added", "output_index", 0, "item", sh.item(r, "in_progress", list{}))
	return sh.part(dst, r, "response.content_part.added", "part", outputText(""))
}

func (sh responsesShape) text(dst []byte, r *reply, c *choice, text string) []byte {
	if text != "" {
		dst = sh.part(dst, r, "response.output_text.delta", "delta", text)
	}
	if c.why == running {
		return dst
	}
	all := r.joined(c)
	dst = sh.part(dst, r, "response.output_text.done", "text", all)
	dst = sh.part(dst, r, "response.content_part.done", "part", outputText(all))
	return sh.event(dst, r, "response.output_item.done", "output_index", 0, "item", sh.item(r, "completed", list{outputText(all)}))
}

// part appends an event about the answer's one text part.
func (sh responsesShape) part(dst []byte, r *reply, kind, name string, value any) []byte {
	return sh.event(dst, r, kind, "item_id", "msg_"+r.id, "output_index", 0, "content_index", 0, name, value, "logprobs", list{})
}

// end closes the stream; vLLM calls the last event completed even when the
// status inside is incomplete.
func (sh responsesShape) end(dst []byte, r *reply) []byte {
	return sh.event(dst, r, "response.completed", "response", sh.whole(r, []string{r.joined(&r.choices[0])}))
}

func (responsesShape) fail(f *failure) []byte { return f.body() }

func (sh responsesShape) whole(r *reply, texts []string) any {
	status := map[ending]string{stopped: "completed", reached: "incomplete", aborted: "cancelled"}[r.choices[0].why]
	return sh.object(r, status, list{sh.item(r, status, list{outputText(texts[0])})})
}

// object is the response object.
func (responsesShape) object(r *reply, status string, output list) object {
	var incomplete, usage any
	if status == "incomplete" {
		incomplete = obj("reason", "max_output_tokens")
	}
	if status != "in_progress" {
		prompt, completion := r.usage()
		usage = obj("input_tokens", prompt, "input_tokens_details", obj("cached_tokens", 0), "output_tokens", completion,
			"output_tokens_details", obj("reasoning_tokens", 0), "total_tokens", prompt+completion)
	}
	return obj("id", "resp_"+r.id, "created_at", r.created, "error", nil, "incomplete_details", incomplete, "instructions", nil,
		"metadata", nil, "model", r.work.Model, "object", "response", "output", output, "parallel_tool_calls", true,
		"temperature", 1.0, "tool_choice", "auto", "tools", list{}, "top_p", 1.0, "status", status, "usage", usage)
}

// item is the message item of the answer.
func (responsesShape) item(r *reply, status string, parts list) object {
	return obj("id", "msg_"+r.id, "content", parts, "role", "assistant", "status", status, "type", "message")
}

func outputText(text string) object {
	return obj("annotations", list{}, "text", text, "type", "output_text", "logprobs", nil)
}
