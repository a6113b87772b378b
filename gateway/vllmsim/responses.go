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
	Input           json.RawMessage   `json:"input"`
	Instructions    string            `json:"instructions"`
	MaxOutputTokens *int              `json:"max_output_tokens"`
	Previous        string            `json:"previous_response_id"`
	Tools           []json.RawMessage `json:"tools"`
	ToolChoice      json.RawMessage   `json:"tool_choice"`
	Parallel        *bool             `json:"parallel_tool_calls"`
	Text            *struct {
		Format    *responseFormat `json:"format"`
		Verbosity json.RawMessage `json:"verbosity"`
	} `json:"text"`
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
	tools, err := body.toolbox()
	if err != nil {
		return nil, err
	}
	d, err := body.dialogue()
	if err != nil {
		return nil, err
	}
	if tools != nil {
		d.prompt.lead(encode(string(mustJSON(body.Tools))))
		tools.hint = d.hint
	}
	if body.Instructions != "" {
		d.prompt.lead(systemText(encode(body.Instructions)))
	}
	d.prompt.lead([]uint32{beginID}) // vLLM adds one to the template's own
	body.StreamOptions = nil         // has another meaning here
	body.ResponseFormat = nil        // is text.format here
	if body.Text != nil {
		body.ResponseFormat = body.Text.Format
	}
	return &work{params: body.params, prompts: []prompt{d.prompt}, most: bound(body.MaxOutputTokens), bound: "max_output_tokens", tools: tools, says: body.settings(tools)}, nil
}

// dialogue reads the input: a text, or a list of items.
func (b *responsesRequest) dialogue() (dialogue, error) {
	var text string
	if json.Unmarshal(b.Input, &text) != nil {
		return readDialogue(b.Input)
	}
	p := newPrompt(slices.Concat([]uint32{beginID}, turn(userID, encode(text)), generateTurn()), []byte(text))
	return dialogue{p, hintOf([]message{{Role: "user", Content: content{text: text}}})}, nil
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

func (sh responsesShape) begin(dst []byte, r *reply, c *choice) []byte {
	if r.calls(c) != nil {
		return dst // an item begins with its call
	}
	dst = sh.event(dst, r, "response.output_item.added", "output_index", 0, "item", sh.item(r, "in_progress", list{}))
	return sh.part(dst, r, "response.content_part.added", "part", outputText("", list{}))
}

func (sh responsesShape) text(dst []byte, r *reply, c *choice, text string) []byte {
	if r.calls(c) != nil {
		return sh.uses(dst, r, c, text)
	}
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
	return sh.object(r, status, sh.output(r, texts[0]))
}

// object is the response object.
func (responsesShape) object(r *reply, status string, output list) object {
	var incomplete, usage any
	says := r.work.says
	if status == "incomplete" {
		incomplete = obj("reason", "max_output_tokens")
	}
	if status != "in_progress" {
		prompt, completion := r.usage()
		usage = obj("input_tokens", prompt, "input_tokens_details", obj("cached_tokens", 0, "cache_write_tokens", 0, "input_tokens_per_turn", list{}, "cached_tokens_per_turn", list{}), "output_tokens", completion,
			"output_tokens_details", obj("reasoning_tokens", 0, "tool_output_tokens", 0, "output_tokens_per_turn", list{}, "tool_output_tokens_per_turn", list{}), "total_tokens", prompt+completion)
	}
	return append(obj("id", "resp_"+r.own, "created_at", r.created, "incomplete_details", incomplete, "instructions", nil,
		"metadata", nil, "model", r.work.Model, "object", "response", "output", output, "parallel_tool_calls", says.parallel,
		"temperature", json.Number("1.0"), "tool_choice", says.choice, "tools", says.tools, "top_p", 0.95, "background", false,
		"max_output_tokens", r.most, "max_tool_calls", nil, "previous_response_id", nil, "prompt", nil, "reasoning", nil,
		"service_tier", "auto", "status", status, "text", says.text, "top_logprobs", nil, "truncation", "disabled", "usage", usage),
		obj("user", nil, "presence_penalty", json.Number("0.0"), "frequency_penalty", json.Number("0.0"), "kv_transfer_params", nil, "ec_transfer_params", nil,
			"input_messages", nil, "output_messages", nil)...)
}

// item is the message item of the answer.
func (responsesShape) item(r *reply, status string, parts list) object {
	return obj("id", "msg_"+r.own, "content", parts, "role", "assistant", "status", status, "type", "message", "phase", nil)
}

func outputText(text string, logprobs any) object {
	return obj("annotations", list{}, "text", text, "type", "output_text", "logprobs", logprobs)
}
