package vllmsim

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Release is the vLLM release that a replica behaves like. A gateway has to
// read both: what they answer to errors, and what they call their metrics,
// differs.
type Release string

// The closed list of releases. V0100 is the last whose error bodies are flat.
const (
	V0100 Release = "0.10.0"
	V0320 Release = "0.32.0"
)

// Releases are those that can be simulated, oldest first.
func Releases() []Release { return []Release{V0100, V0320} }

// ParseRelease reads a release's number. The error says which there are.
func ParseRelease(text string) (Release, error) {
	for _, r := range Releases() {
		if string(r) == text {
			return r, nil
		}
	}
	return "", fmt.Errorf("release %q: simulated are %v", text, Releases())
}

// generation is all that sets one release apart from another, but for the names
// of its metrics (metric_rows.go).
type generation struct {
	messages bool                              // serves /v1/messages
	orca     bool                              // tells its load in a header when asked
	form     func(p *params) error             // reads what form the answer is to have
	fits     func(w *work, limit int) error    // judges prompt and bound against max_model_len
	refuse   func(f *failure) []byte           // the error body of endpoints without a shape
	shape    func(path string, sh shape) shape // how the endpoint writes
}

// The generations, by release.
var generations = map[Release]*generation{
	V0100: {form: guide, fits: fitsTogether, refuse: flatBody, shape: olderShape},
	V0320: {messages: true, orca: true, form: unguided, fits: (*work).checkLengths, refuse: (*failure).body, shape: newestShape},
}

// generation panics on a release that isn't in the list.
func (r Release) generation() *generation {
	g := generations[r]
	if g == nil {
		panic("BUG: simulated replica: there is no release " + string(r))
	}
	return g
}

func newestShape(_ string, sh shape) shape { return sh }

// older writes what a shape writes as 0.10.0 wrote it: errors are flat, and
// members that came later aren't there.
type older struct {
	shape
	events *strings.Replacer
	blames bool // the message of what went wrong while the prompt was made ends with its cause: None
}

func olderShape(path string, sh shape) shape {
	o := older{shape: sh, events: olderEvents, blames: path == "/v1/chat/completions"}
	if path == "/v1/completions" {
		o.events = olderTexts
	}
	return o
}

// What 0.10.0's events lack, and what those of completions have in its place.
// The patterns can't be found in a text: there a quote has a backslash before it.
var (
	olderEvents = strings.NewReplacer(
		`,"system_fingerprint":"`+fingerprint+`"`, ``, `,"prompt_token_ids":null`, ``, `,"prompt_text":null`, ``,
		`,"token_ids":null`, ``, noDetails, ``)
	olderTexts = strings.NewReplacer(
		`],"system_fingerprint":"`+fingerprint+"\"}\n\n", "],\"usage\":null}\n\n", `,"system_fingerprint":"`+fingerprint+`"`, ``,
		"}]}\n\n", "}],\"usage\":null}\n\n", `,"prompt_token_ids":null`, ``, `,"token_ids":null`, ``)
	olderAnswers = strings.NewReplacer(
		`"system_fingerprint":"`+fingerprint+`"`, `"system_fingerprint":null`,
		`"function_call":null,"reasoning":null`, `"function_call":null,"tool_calls":[],"reasoning_content":null`,
		`"reasoning":null`, `"reasoning_content":null`, `,"prompt_token_ids":null`, ``, `,"prompt_text":null`, ``,
		`,"token_ids":null`, ``, `,"routed_experts":null`, ``, noDetails, ``, `,"ec_transfer_params":null,"metrics":null`, ``)
)

func (o older) open(dst []byte, r *reply) []byte { return o.rewritten(dst, o.shape.open(nil, r)) }

func (o older) begin(dst []byte, r *reply, c *choice) []byte {
	return o.rewritten(dst, o.shape.begin(nil, r, c))
}

func (o older) text(dst []byte, r *reply, c *choice, text string) []byte {
	return o.rewritten(dst, o.shape.text(nil, r, c, text))
}

func (o older) end(dst []byte, r *reply) []byte { return o.rewritten(dst, o.shape.end(nil, r)) }

// rewritten appends what a newer release's events were in 0.10.0.
func (o older) rewritten(dst, newer []byte) []byte {
	return append(dst, o.events.Replace(string(newer))...)
}

func (o older) whole(r *reply, texts []string) any {
	answer := o.shape.whole(r, texts)
	if f, is := answer.(*failure); is {
		return f
	}
	return json.RawMessage(olderAnswers.Replace(string(mustJSON(answer))))
}

func (o older) fail(f *failure) []byte {
	if o.blames && f.early {
		blamed := *f
		blamed.message += " None"
		f = &blamed
	}
	return flatBody(f)
}

// broken ends a stream as 0.10.0 does, to which everything was a bad request.
func (o older) broken(f *failure) []byte {
	if o.shape.broken(f) == nil {
		return nil
	}
	refused := badRequest("", "%s", f.message)
	return fmt.Appendf(nil, "data: {\"error\": {\"object\": \"error\", \"message\": %s, \"type\": \"BadRequestError\", \"param\": null, \"code\": 400}}\n\ndata: [DONE]\n\n",
		mustJSON(refused.flatMessage()))
}

// guided is how 0.10.0 was asked for an answer of a form. New releases ignore it.
type guided struct {
	GuidedChoice  json.RawMessage `json:"guided_choice"`
	GuidedJSON    json.RawMessage `json:"guided_json"`
	GuidedRegex   json.RawMessage `json:"guided_regex"`
	GuidedGrammar json.RawMessage `json:"guided_grammar"`
}

func unguided(*params) error { return nil }

// guide reads guided in place of structured_outputs, which 0.10.0 doesn't know.
func guide(p *params) error {
	g := p.guided
	p.Structured = nil
	if g.GuidedChoice == nil && g.GuidedJSON == nil && g.GuidedRegex == nil && g.GuidedGrammar == nil {
		return nil
	}
	asked := mustJSON(obj("choice", g.GuidedChoice, "json", g.GuidedJSON, "regex", g.GuidedRegex, "grammar", g.GuidedGrammar))
	if err := json.Unmarshal(asked, &p.Structured); err != nil {
		return malformed("body.guided_choice", "list_type", "Input should be a valid list")
	}
	return nil
}

// fitsTogether is what 0.10.0 demanded: prompt and bound must fit together, but
// for responses, whose bound it didn't look at.
func fitsTogether(w *work, limit int) error {
	for _, p := range w.prompts {
		tokens := p.tokens()
		switch {
		case w.most == unbounded || w.bound == "max_output_tokens":
			if tokens >= limit {
				return badRequest("", "This model's maximum context length is %d tokens. However, you requested %d tokens in the messages, Please reduce the length of the messages.", limit, tokens).whilePrompting()
			}
		case tokens+w.most > limit:
			return badRequest("", "This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.", limit, tokens+w.most, tokens, w.most).whilePrompting()
		}
	}
	if w.most < 1 && w.most != unbounded {
		return badRequest("", "max_tokens must be at least 1, got %d.", w.most)
	}
	return nil
}
