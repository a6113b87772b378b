package vllmsim

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// completionRequest is the body of /v1/completions, as far as it matters here.
type completionRequest struct {
	params
	Prompt    json.RawMessage `json:"prompt"`
	MaxTokens *int            `json:"max_tokens"`
}

// defaultCompletion is vLLM's bound where the request has none.
const defaultCompletion = 16

func parseCompletions(r *http.Request) (*work, error) {
	var body completionRequest
	if err := decodeBody(r, &body); err != nil {
		return nil, err
	}
	prompts, err := readPrompts("prompt", body.Prompt)
	if err != nil {
		return nil, err
	}
	standard := defaultCompletion
	return &work{params: body.params, prompts: prompts, most: bound(body.MaxTokens, &standard)}, nil
}

// readPrompts reads a text, a list of texts, token ids, or a list of token ids.
func readPrompts(param string, raw json.RawMessage) ([]prompt, error) {
	var prompts []prompt
	switch {
	case fill(&prompts, raw, textPrompt),
		fill(&prompts, raw, func(ids []uint32) prompt { return prompt{ids: ids, seed: hash(mustJSON(ids))} }):
	case len(raw) > 0:
		return nil, badRequest(param, "1 validation error: %s must be a text, a list of texts, token ids or a list of token ids.", param)
	}
	if len(prompts) == 0 {
		return nil, badRequest(param, "%s must not be empty.", param)
	}
	for _, p := range prompts {
		if p.tokens() == 0 {
			return nil, badRequest(param, "The prompt must hold at least one token.")
		}
	}
	return prompts, nil
}

// fill makes prompts of raw when it is one T or a list of them.
func fill[T any](prompts *[]prompt, raw json.RawMessage, make func(T) prompt) bool {
	var one T
	if json.Unmarshal(raw, &one) == nil && string(raw) != "null" {
		*prompts = append(*prompts, make(one))
		return true
	}
	var several []T
	if json.Unmarshal(raw, &several) != nil || len(several) == 0 {
		return false
	}
	for _, one := range several {
		*prompts = append(*prompts, make(one))
	}
	return true
}

func textPrompt(text string) prompt {
	return newPrompt(append([]uint32{beginID}, encode(text)...), []byte(text))
}

// completionShape writes text completions.
type completionShape struct{}

func (completionShape) head(dst []byte, r *reply) []byte {
	dst = append(dst, `data: {"id":`...)
	dst = appendString(dst, "cmpl-"+r.id)
	dst = append(dst, `,"object":"text_completion","created":`...)
	dst = strconv.AppendInt(dst, r.created, 10)
	dst = append(dst, `,"model":`...)
	dst = appendString(dst, r.work.Model)
	return append(dst, `,"choices":[`...)
}

// begin writes nothing: completions have no role event.
func (completionShape) begin(dst []byte, _ *reply, _ *choice) []byte { return dst }

func (sh completionShape) text(dst []byte, r *reply, c *choice, text string) []byte {
	dst = sh.head(dst, r)
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(c.index), 10)
	dst = append(dst, `,"text":`...)
	dst = appendString(dst, text)
	dst = append(dst, `,"logprobs":null,"finish_reason":`...)
	dst = appendReason(dst, c.why)
	if c.why == running {
		dst = append(dst, `,"stop_reason":null`...)
	}
	dst = append(dst, `,"prompt_token_ids":null,"token_ids":null}]`...)
	dst = r.appendRunningUsage(dst)
	return append(dst, "}\n\n"...)
}

func (sh completionShape) end(dst []byte, r *reply) []byte {
	if r.work.wantsUsage() {
		dst = sh.head(dst, r)
		dst = append(dst, ']')
		dst = r.appendUsage(dst)
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

func (completionShape) fail(f *failure) []byte { return f.body() }

func (completionShape) whole(r *reply, texts []string) any {
	type choice struct {
		Index    int     `json:"index"`
		Text     string  `json:"text"`
		Logprobs *string `json:"logprobs"`
		Finish   string  `json:"finish_reason"`
		Stop     *string `json:"stop_reason"`
		TokenIDs *[]int  `json:"token_ids"`
	}
	choices := make([]choice, len(texts))
	for i, text := range texts {
		choices[i] = choice{Index: i, Text: text, Finish: r.choices[i].why.String()}
	}
	return r.completion("cmpl-", "text_completion", choices)
}
