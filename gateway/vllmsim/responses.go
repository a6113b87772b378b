package vllmsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// responsesRequest is the body of /v1/responses, as far as it matters here.
type responsesRequest struct {
	params
	Input           json.RawMessage `json:"input"`
	Instructions    string          `json:"instructions"`
	MaxOutputTokens *int            `json:"max_output_tokens"`
	Previous        string          `json:"previous_response_id"`
}

func parseResponses(r *http.Request) (*work, error) {
	var body responsesRequest
	if err := decodeBody(r, &body); err != nil {
		return nil, err
	}
	if body.Previous != "" {
		return nil, &failure{status: http.StatusNotFound, kind: "invalid_request_error", param: "response_id",
			message: fmt.Sprintf("Response with id '%s' not found.", body.Previous)}
	}
	if len(body.Input) == 0 {
		return nil, missing("input")
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
	p.lead([]uint32{beginID}) // vLLM adds one to the template's own
	body.StreamOptions = nil  // has another meaning here
	return &work{params: body.params, prompts: []prompt{p}, most: bound(body.MaxOutputTokens), bound: "max_output_tokens"}, nil
}

// responsesShape writes responses: typed events that each carry a sequence
// number, and no [DONE].
type responsesShape struct{}

// event appends one typed event with its number, its members in alphabetical order.
func (responsesShape) event(dst []byte, r *reply, kind string, fields ...any) []byte {
	members := obj(append(fields, "sequence_number", r.events, "type", kind)...)
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	r.events++
	dst = append(dst, "event: "+kind+"\ndata: "...)
	dst = append(dst, mustJSON(members)...)
	return append(dst, "\n\n"...)
}

// open begins the response at once, while its prompt waits to be computed.
func (sh responsesShape) open(dst []byte, r *reply) []byte {
	dst = sh.event(dst, r, "response.created", "response", sh.object(r, "in_progress", list{}))
	return sh.event(dst, r, "response.in_progress", "response", sh.object(r, "in_progress", list{}))
}

func (sh responsesShape) begin(dst []byte, r *reply, _ *choice) []byte {
	dst = sh.event(dst, r, "response.output_item.added", "output_index", 0, "item", sh.item(r, "in_progress", list{}))
	return sh.part(dst, r, "response.content_part.added", "part", outputText("", list{}))
}

func (sh responsesShape) text(dst []byte, r *reply, c *choice, text string) []byte {
	if text != "" {
		dst = sh.part(dst, r, "response.output_text.delta", "delta", text, "logprobs", list{})
	}
	if c.why == running {
		return dst
	}
	all := r.joined(c)
	dst = sh.part(dst, r, "response.output_text.done", "text", all, "logprobs", list{})
	dst = sh.part(dst, r, "response.content_part.done", "part", outputText(all, nil))
	return sh.event(dst, r, "response.output_item.done", "output_index", 0, "item", sh.item(r, "completed", list{outputText(all, nil)}))
}

// part appends an event about the answer's one text part.
func (sh responsesShape) part(dst []byte, r *reply, kind string, fields ...any) []byte {
	return sh.event(dst, r, kind, append(fields, "item_id", "msg_"+r.own, "output_index", 0, "content_index", 0)...)
}

// end closes the stream; vLLM calls the last event completed even when the
// status inside is incomplete.
func (sh responsesShape) end(dst []byte, r *reply) []byte {
	return sh.event(dst, r, "response.completed", "response", sh.whole(r, []string{r.joined(&r.choices[0])}))
}

func (responsesShape) fail(f *failure) []byte { return f.body() }

// broken has nothing to say: vLLM drops the connection in the middle of the body.
func (responsesShape) broken(*failure) []byte { return nil }

func (sh responsesShape) whole(r *reply, texts []string) any {
	status := map[ending]string{stopped: "completed", reached: "incomplete", aborted: "cancelled"}[r.choices[0].why]
	return sh.object(r, status, list{sh.item(r, "completed", list{outputText(texts[0], nil)})})
}

// object is the response object.
func (responsesShape) object(r *reply, status string, output list) object {
	var incomplete, usage any
	if status == "incomplete" {
		incomplete = obj("reason", "max_output_tokens")
	}
	if status != "in_progress" {
		prompt, completion := r.usage()
		usage = obj("input_tokens", prompt, "input_tokens_details", obj("cached_tokens", 0, "cache_write_tokens", 0, "input_tokens_per_turn", list{}, "cached_tokens_per_turn", list{}), "output_tokens", completion,
			"output_tokens_details", obj("reasoning_tokens", 0, "tool_output_tokens", 0, "output_tokens_per_turn", list{}, "tool_output_tokens_per_turn", list{}), "total_tokens", prompt+completion)
	}
	return append(obj("id", "resp_"+r.own, "created_at", r.created, "incomplete_details", incomplete, "instructions", nil,
		"metadata", nil, "model", r.work.Model, "object", "response", "output", output, "parallel_tool_calls", true,
		"temperature", 1.0, "tool_choice", "none", "tools", list{}, "top_p", 0.95, "background", false,
		"max_output_tokens", r.most, "max_tool_calls", nil, "previous_response_id", nil, "prompt", nil, "reasoning", nil,
		"service_tier", "auto", "status", status, "text", nil, "top_logprobs", nil, "truncation", "disabled", "usage", usage),
		obj("user", nil, "presence_penalty", 0.0, "frequency_penalty", 0.0, "kv_transfer_params", nil, "ec_transfer_params", nil,
			"input_messages", nil, "output_messages", nil)...)
}

// item is the message item of the answer.
func (responsesShape) item(r *reply, status string, parts list) object {
	return obj("id", "msg_"+r.own, "content", parts, "role", "assistant", "status", status, "type", "message", "phase", nil)
}

func outputText(text string, logprobs any) object {
	return obj("annotations", list{}, "text", text, "type", "output_text", "logprobs", logprobs)
}
