package vllmsim

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// completionRequest is the body of /v1/completions, as far as it matters here.
type completionRequest struct {
	params
	Prompt    json.RawMessage `json:"prompt"`
	MaxTokens *int            `json:"max_tokens"`
	Echo      bool            `json:"echo"`
}

// defaultCompletion is vLLM's bound where the request has none.
const defaultCompletion = 16

func parseCompletions(r *http.Request) (*work, error) {
	var body completionRequest
	if err := decodeBody(r, &body); err != nil {
		return nil, err
	}
	if prompt := string(body.Prompt); prompt == "" || prompt == `""` || prompt == "null" {
		return nil, badRequest("prompt", "Either prompt or prompt_embeds must be provided and non-empty. (parameter=prompt)")
	}
	prompts, err := readPrompts("prompt", body.Prompt)
	if err != nil {
		return nil, err
	}
	standard := defaultCompletion
	task := &work{params: body.params, prompts: prompts, most: bound(body.MaxTokens, &standard)}
	if body.Echo {
		task.echoPrompts()
	}
	return task, nil
}

// echoPrompts makes each answer begin with its prompt. Without a token of its own
// to come the engine makes one all the same, and nobody sees it.
func (w *work) echoPrompts() {
	for _, p := range w.prompts {
		w.echo = append(w.echo, strings.TrimPrefix(decode(p.ids), "<bos>"))
	}
	if w.most == 0 {
		w.most, w.silent = 1, true
	}
}

// echoed is what the choice begins with, and its own text.
func (r *reply) echoed(c *choice, text string) (echo, own string) {
	if r.work.silent {
		text = ""
	}
	if len(r.work.echo) > 0 {
		echo = r.work.echo[c.index/r.work.n]
	}
	return echo, text
}

// readPrompts reads a text, a list of texts, token ids, or a list of token ids.
func readPrompts(param string, raw json.RawMessage) ([]prompt, error) {
	var prompts []prompt
	switch {
	case fill(&prompts, raw, begunPrompt),
		fill(&prompts, raw, func(ids []uint32) prompt { return prompt{ids: ids, seed: hash(mustJSON(ids))} }):
	case len(raw) > 0:
		return nil, badRequest(param, "1 validation error: %s must be a text, a list of texts, token ids or a list of token ids.", param)
	}
	if len(prompts) == 0 {
		return nil, badRequest(param, "%s must not be empty.", param)
	}
	for _, p := range prompts {
		if p.tokens() == 0 {
			return nil, badRequest("", "You must pass at least one prompt")
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

func (completionShape) open(dst []byte, _ *reply) []byte { return dst }

// begin writes nothing but the echo: completions have no role event.
func (sh completionShape) begin(dst []byte, r *reply, c *choice) []byte {
	if echo, _ := r.echoed(c, ""); echo != "" {
		return sh.event(dst, r, &choice{index: c.index}, echo)
	}
	return dst
}

func (sh completionShape) text(dst []byte, r *reply, c *choice, text string) []byte {
	_, text = r.echoed(c, text)
	return sh.event(dst, r, c, text)
}

func (sh completionShape) event(dst []byte, r *reply, c *choice, text string) []byte {
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
	dst = r.appendRunningUsage(dst, "")
	return appendFingerprint(dst, r.last(c))
}

func (sh completionShape) end(dst []byte, r *reply) []byte {
	if r.work.wantsUsage() {
		dst = sh.head(dst, r)
		dst = append(dst, ']')
		dst = appendFingerprint(r.appendUsage(dst, ""), reached)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

func (completionShape) fail(f *failure) []byte { return f.body() }

func (completionShape) broken(f *failure) []byte { return f.event() }

func (completionShape) whole(r *reply, texts []string) any {
	type choice struct {
		Index    int     `json:"index"`
		Text     string  `json:"text"`
		Logprobs *string `json:"logprobs"`
		Finish   string  `json:"finish_reason"`
		Stop     *string `json:"stop_reason"`
		TokenIDs *[]int  `json:"token_ids"`
		PromptLP *[]int  `json:"prompt_logprobs"`
		Prompt   *[]int  `json:"prompt_token_ids"`
		Experts  *[]int  `json:"routed_experts"`
	}
	choices := make([]choice, len(texts))
	for i, text := range texts {
		echo, text := r.echoed(&r.choices[i], text)
		choices[i] = choice{Index: i, Text: echo + text, Finish: r.choices[i].why.String()}
	}
	return r.completion("cmpl-", "text_completion", choices)
}
