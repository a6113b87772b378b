package vllmsim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"sluice/router/tpu"
)

// work is what a generating request asks for, whatever its endpoint.
type work struct {
	params
	prompts []prompt
	n       int               // answers for each prompt
	most    int               // bound of an answer in tokens, or unbounded
	bound   string            // the member that sets it; empty: max_tokens
	echo    []string          // what each answer of a prompt begins with; nil: itself
	silent  bool              // nothing but the echo is asked for
	vectors *embeddingRequest // the prompts are only read, for vectors of this kind; nil: answers are asked for

	tools   *toolbox                            // nil: none may be called
	script  func(seed uint64, most int) *script // what answers have to say; nil: anything
	refused *failure                            // what the engine finds fault with
	says    *settings                           // what a response repeats of its request
}

// params are the fields that several endpoints share.
type params struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions *struct {
		IncludeUsage    bool `json:"include_usage"`
		ContinuousUsage bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	N           *int               `json:"n"`
	Temperature *float64           `json:"temperature"`
	MinTokens   int                `json:"min_tokens"`
	IgnoreEOS   bool               `json:"ignore_eos"`
	Seed        json.RawMessage    `json:"seed"`
	Structured  *structuredOutputs `json:"structured_outputs"`

	ResponseFormat *responseFormat `json:"response_format"`
	guided
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
		f := malformed("", "", "")
		f.message = "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed"
		return f
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	if len(body) == 0 {
		return malformed("body", "missing", "Field required")
	}
	if err := json.Unmarshal(body, v); err != nil {
		return misread(err)
	}
	return nil
}

// misread says where a body went wrong.
func misread(err error) *failure {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return malformed(fmt.Sprintf("body.%d", syntax.Offset), "json_invalid", "JSON decode error")
	case !errors.As(err, &kind):
		return badRequest("", "%v", err)
	case kind.Field == "":
		return malformed("body", "model_attributes_type", "Input should be a valid dictionary or object to extract fields from")
	}
	field := "body." + strings.TrimPrefix(kind.Field, "params.")
	switch kind.Type.Kind() {
	case reflect.Int:
		return malformed(field, "int_parsing", "Input should be a valid integer")
	case reflect.Float64:
		return malformed(field, "float_parsing", "Input should be a valid number")
	case reflect.Bool:
		return malformed(field, "bool_parsing", "Input should be a valid boolean")
	case reflect.Slice:
		return malformed(field, "list_type", "Input should be a valid list")
	case reflect.String:
		return malformed(field, "string_type", "Input should be a valid string")
	}
	return malformed(field, "dict_type", "Input should be a valid dictionary")
}

// maxN is vLLM's limit of answers for one prompt (VLLM_MAX_N_SEQUENCES).
const maxN = 16384

// check judges what all generating endpoints have in common.
func (w *work) check(o *Options) error {
	if w.Model == "" {
		w.Model = o.Model // vLLM takes a missing model for its own
	}
	if err := o.known(w.Model); err != nil {
		return err
	}
	if err := o.Release.generation().form(&w.params); err != nil {
		return err
	}
	if w.StreamOptions != nil && !w.Stream {
		return badRequest("stream_options", "Stream options can only be defined when `stream=True`. (parameter=stream_options)")
	}
	w.n = 1
	if w.N != nil {
		w.n = *w.N
	}
	switch {
	case w.n < 1:
		return badRequest("", "n must be at least 1, got %d.", w.n)
	case w.n > maxN:
		return badRequest("", "n must be at most %d, got %d. To increase this limit, set the VLLM_MAX_N_SEQUENCES environment variable.", maxN, w.n)
	case w.Temperature != nil && *w.Temperature < 0:
		return badValue("temperature", *w.Temperature, "temperature must be non-negative, got %v.", *w.Temperature)
	}
	if err := w.constrain(); err != nil {
		return err
	}
	return o.Release.generation().fits(w, o.MaxModelLen)
}

// checkLengths refuses prompts and bounds that are too long. A bound may exceed
// what a prompt leaves of the context, as since vLLM 0.32; older releases refuse
// that.
func (w *work) checkLengths(limit int) error {
	if w.most < 1 && w.most != unbounded {
		return badValue("max_tokens", w.most, "max_tokens must be at least 1, got %d.", w.most)
	}
	if w.most > limit {
		setDefault(&w.bound, "max_tokens")
		return badValue(w.bound, w.most, "%s=%d cannot be greater than max_model_len=%d. Please request fewer output tokens.", w.bound, w.most, limit)
	}
	for _, p := range w.prompts {
		if err := p.fits(limit); err != nil {
			return err
		}
	}
	return nil
}

// job plans an answer for every sequence of the work.
func (w *work) job(o *Options) *job {
	j, page := newJob(), tpu.PageSize(o.MaxModelLen, o.MaxNumSeqs)
	for _, p := range w.prompts {
		blocks := p.blocks(page)
		b := bounds{most: w.longest(o.MaxModelLen - p.tokens()), explicit: w.most > 0, least: w.MinTokens, ignoreEOS: w.IgnoreEOS, short: p.short, script: w.script}
		j.bound = max(j.bound, b.most)
		if w.vectors != nil {
			j.add(p.tokens(), blocks, plan{reason: stopped})
			continue
		}
		family := &siblings{of: w.n, most: b.most}
		for i := range w.n {
			j.addOf(family, p.tokens(), blocks, p.plan(mix(p.seed+uint64(i)), b))
		}
	}
	return j
}

// longest is the bound of an answer that has so much room.
func (w *work) longest(room int) int {
	if w.most == unbounded {
		return room
	}
	return min(w.most, room)
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
func requestID(r *http.Request, own string) string {
	if id := strings.TrimSpace(r.Header.Get("X-Request-Id")); id != "" {
		return id
	}
	return own
}
