package vllmsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strings"

	"sluice/router/tpu"
)

// work is what a generating request asks for, whatever its endpoint.
type work struct {
	params
	prompts []prompt
	n       int // answers for each prompt
	most    int // bound of an answer in tokens, or unbounded
}

// params are the fields that several endpoints share.
type params struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions *struct {
		IncludeUsage    bool `json:"include_usage"`
		ContinuousUsage bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	N          *int            `json:"n"`
	MinTokens  int             `json:"min_tokens"`
	IgnoreEOS  bool            `json:"ignore_eos"`
	Seed       json.RawMessage `json:"seed"`
	Structured *struct {
		Choice []string `json:"choice"`
	} `json:"structured_outputs"`
}

// wantsUsage says whether a stream ends with a usage event.
func (p *params) wantsUsage() bool { return p.StreamOptions != nil && p.StreamOptions.IncludeUsage }

// continuousUsage says whether every event of a stream carries usage.
func (p *params) continuousUsage() bool { return p.wantsUsage() && p.StreamOptions.ContinuousUsage }

// seeded says whether the request brings a seed of its own.
func (p *params) seeded() bool { return len(p.Seed) > 0 && string(p.Seed) != "null" }

// decodeBody reads a JSON body into v.
func decodeBody(r *http.Request, v any) error {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/json" {
		return badRequest("", "Unsupported Media Type: Only 'application/json' is allowed")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return badRequest("", "1 validation error: JSON decode error: %v", err)
	}
	return nil
}

// maxN is vLLM's limit of answers for one prompt (VLLM_MAX_N_SEQUENCES).
const maxN = 16384

// check judges what all generating endpoints have in common.
func (w *work) check(o *Options) error {
	if w.Model == "" {
		w.Model = o.Model // vLLM takes a missing model for its own
	}
	if w.Model != o.Model {
		return unknownModel(w.Model)
	}
	if w.StreamOptions != nil && !w.Stream {
		return badRequest("stream_options", "Stream options can only be defined when `stream=True`.")
	}
	w.n = 1
	if w.N != nil {
		w.n = *w.N
	}
	if w.n < 1 || w.n > maxN {
		return badRequest("n", "n must be between 1 and %d, got %d.", maxN, w.n)
	}
	if w.most < 1 && w.most != unbounded {
		return badRequest("max_tokens", "max_tokens must be at least 1, got %d.", w.most)
	}
	for _, p := range w.prompts {
		if err := fits(p.tokens(), w.most, o.MaxModelLen); err != nil {
			return err
		}
	}
	return nil
}

// fits refuses a prompt that leaves no room for its answer.
func fits(promptTokens, most, maxModelLen int) error {
	out := max(most, 1)
	if promptTokens <= maxModelLen-out {
		return nil
	}
	return badRequest("input_tokens", "This model's maximum context length is %d tokens. However, you requested %d output tokens and your prompt contains %d input tokens, for a total of %d tokens. Please reduce the length of the input prompt or the number of requested output tokens.",
		maxModelLen, out, promptTokens, promptTokens+out)
}

// job plans an answer for every sequence of the work.
func (w *work) job(o *Options) *job {
	j, page := newJob(), tpu.PageSize(o.MaxModelLen, o.MaxNumSeqs)
	for _, p := range w.prompts {
		blocks := p.blocks(page)
		b := bounds{most: w.most, explicit: w.most > 0, least: w.MinTokens, ignoreEOS: w.IgnoreEOS, short: p.short}
		if !b.explicit {
			b.most = o.MaxModelLen - p.tokens()
		}
		if w.Structured != nil {
			b.choices = w.Structured.Choice
		}
		for i := range w.n {
			j.add(p.tokens(), blocks, newPlan(mix(p.seed+uint64(i)), b))
		}
	}
	return j
}

// bound picks the first bound that is given.
func bound(candidates ...*int) int {
	for _, c := range candidates {
		if c != nil {
			return *c
		}
	}
	return unbounded
}

// unbounded is the bound of an answer that has none; no client can say it.
const unbounded = math.MinInt

// short says whether a prompt asks for a label rather than a text.
func short(raw []byte) bool {
	lower := bytes.ToLower(raw)
	for _, hint := range []string{"classif", "label", "one word", "yes or no"} {
		if bytes.Contains(lower, []byte(hint)) {
			return true
		}
	}
	return false
}

// requestID is the client's X-Request-Id, or one of the server's own.
func requestID(r *http.Request, own func() string) string {
	if id := strings.TrimSpace(r.Header.Get("X-Request-Id")); id != "" {
		return id
	}
	return own()
}
