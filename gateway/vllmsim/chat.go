package vllmsim

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// chatRequest is the body of /v1/chat/completions, as far as it matters here.
type chatRequest struct {
	params
	Messages            json.RawMessage    `json:"messages"`
	MaxTokens           *int               `json:"max_tokens"`
	MaxCompletionTokens *int               `json:"max_completion_tokens"`
	Tools               *[]json.RawMessage `json:"tools"`
	ToolChoice          json.RawMessage    `json:"tool_choice"`
	Parallel            *bool              `json:"parallel_tool_calls"`
	Continue            bool               `json:"continue_final_message"`
	Generate            *bool              `json:"add_generation_prompt"`
}

func parseChat(r *http.Request) (*work, error) {
	var body chatRequest
	if err := decodeBody(r, &body); err != nil {
		return nil, err
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
	task := &work{params: body.params, prompts: []prompt{d.prompt}, most: bound(body.MaxCompletionTokens, body.MaxTokens), tools: tools}
	if body.MaxCompletionTokens != nil {
		task.bound = "max_completion_tokens"
	}
	return task, nil
}

// chatShape writes chat completions.
type chatShape struct{}

// noDetails stands in the running usage of a chat.
const noDetails = `,"completion_tokens_details":null`

func (chatShape) open(dst []byte, _ *reply) []byte { return dst }

func (chatShape) head(dst []byte, r *reply) []byte {
	dst = append(dst, `data: {"id":`...)
	dst = appendString(dst, "chatcmpl-"+r.id)
	dst = append(dst, `,"object":"chat.completion.chunk","created":`...)
	dst = strconv.AppendInt(dst, r.created, 10)
	dst = append(dst, `,"model":`...)
	dst = appendString(dst, r.work.Model)
	return append(dst, `,"choices":[`...)
}

func (sh chatShape) begin(dst []byte, r *reply, c *choice) []byte {
	dst = sh.head(dst, r)
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(c.index), 10)
	dst = append(dst, `,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
	dst = r.appendRunningUsage(dst, noDetails)
	return append(dst, `,"prompt_token_ids":null,"prompt_text":null}`+"\n\n"...)
}

func (sh chatShape) text(dst []byte, r *reply, c *choice, text string) []byte {
	delta := chatDelta(r, c, text)
	if delta == nil {
		return dst
	}
	dst = sh.head(dst, r)
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(c.index), 10)
	dst = append(append(dst, `,"delta":`...), delta...)
	dst = append(dst, `,"logprobs":null,"finish_reason":`...)
	dst = appendFinish(dst, r.reason(c))
	dst = append(dst, `,"token_ids":null}]`...)
	dst = r.appendRunningUsage(dst, noDetails)
	return appendFingerprint(dst, r.last(c))
}

func (sh chatShape) end(dst []byte, r *reply) []byte {
	if r.work.wantsUsage() {
		dst = sh.head(dst, r)
		dst = append(dst, ']')
		dst = appendFingerprint(r.appendUsage(dst, ""), reached)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

func (chatShape) fail(f *failure) []byte { return f.body() }

func (chatShape) broken(f *failure) []byte { return f.event() }

func (chatShape) whole(r *reply, texts []string) any {
	type answer struct {
		Role        string  `json:"role"`
		Content     *string `json:"content"`
		Refusal     *string `json:"refusal"`
		Annotations *string `json:"annotations"`
		Audio       *string `json:"audio"`
		Function    *string `json:"function_call"`
		ToolCalls   list    `json:"tool_calls,omitempty"`
		Reasoning   *string `json:"reasoning"`
	}
	type choice struct {
		Index    int     `json:"index"`
		Message  answer  `json:"message"`
		Logprobs *string `json:"logprobs"`
		Finish   string  `json:"finish_reason"`
		Stop     *string `json:"stop_reason"`
		TokenIDs *[]int  `json:"token_ids"`
		Experts  *[]int  `json:"routed_experts"`
	}
	choices := make([]choice, len(texts))
	for i := range texts {
		c := &r.choices[i]
		text, calls := chatCalls(r, c, texts[i])
		choices[i] = choice{Index: i, Finish: r.reason(c), Message: answer{Role: "assistant", Content: text, ToolCalls: calls}}
	}
	return r.completion("chatcmpl-", "chat.completion", choices, "prompt_logprobs", nil, "prompt_token_ids", nil, "prompt_text", nil)
}

// appendReason appends a finish reason and, with one, the stop reason.
func appendReason(dst []byte, why ending) []byte { return appendFinish(dst, why.String()) }

func appendFinish(dst []byte, reason string) []byte {
	if reason == "" {
		return append(dst, "null"...)
	}
	dst = appendString(dst, reason)
	return append(dst, `,"stop_reason":null`...)
}

// fingerprint is what answers say of the release.
const fingerprint = "vllm-" + string(V0320) + "-37c09397"

// last is why a choice ended, for its last event; running where an event with the
// usage will be the last one.
func (r *reply) last(c *choice) ending {
	if r.work.wantsUsage() {
		return running
	}
	return c.why
}

// appendFingerprint ends an event; the last of a choice names the release.
func appendFingerprint(dst []byte, why ending) []byte {
	if why != running {
		dst = append(dst, `,"system_fingerprint":"`+fingerprint+`"`...)
	}
	return append(dst, "}\n\n"...)
}

// appendUsage appends the usage member; more is what stands last in it.
func (r *reply) appendUsage(dst []byte, more string) []byte {
	prompt, completion := r.usage()
	dst = append(dst, `,"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(prompt), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(prompt+completion), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(completion), 10)
	dst = append(dst, more...)
	return append(dst, '}')
}

// appendRunningUsage is appendUsage where every event was to carry it.
func (r *reply) appendRunningUsage(dst []byte, more string) []byte {
	if r.work.continuousUsage() {
		return r.appendUsage(dst, more)
	}
	return dst
}

// completion is the frame of an answer of chat or completions that isn't streamed.
func (r *reply) completion(prefix, object string, choices any, more ...any) any {
	members := obj("id", prefix+r.id, "object", object, "created", r.created, "model", r.work.Model, "choices", choices,
		"service_tier", nil, "system_fingerprint", fingerprint, "usage", r.usageObject())
	members = append(members, obj(more...)...)
	return append(members, obj("kv_transfer_params", nil, "ec_transfer_params", nil, "metrics", nil)...)
}

// usage is the usage object of an answer that isn't streamed.
type usage struct {
	Prompt     int     `json:"prompt_tokens"`
	Total      int     `json:"total_tokens"`
	Completion int     `json:"completion_tokens"`
	Details    *string `json:"prompt_tokens_details"`
	Answer     *string `json:"completion_tokens_details"`
}

func (r *reply) usageObject() usage {
	prompt, completion := r.usage()
	return usage{Prompt: prompt, Total: prompt + completion, Completion: completion}
}
