package vllmsim

import (
	"encoding/json"
	"errors"
	"strings"

	"sluice/gateway/vllmsim/form"
)

// structuredOutputs is vLLM's own way to ask for an answer of a form.
type structuredOutputs struct {
	JSON    json.RawMessage `json:"json"` // a schema, or a text that is one
	Regex   *string         `json:"regex"`
	Choice  *[]string       `json:"choice"`
	Grammar *string         `json:"grammar"`
	Object  *bool           `json:"json_object"`
	Tag     *string         `json:"structural_tag"`
}

// responseFormat is OpenAI's way; responses have the schema's members beside the type.
type responseFormat struct {
	Type        string           `json:"type"`
	Schema      *namedSchema     `json:"json_schema"`
	Name        json.RawMessage  `json:"name"`
	Flat        json.RawMessage  `json:"schema"`
	Description *json.RawMessage `json:"description"`
	Strict      *json.RawMessage `json:"strict"`
}

type namedSchema struct {
	Schema json.RawMessage `json:"schema"`
}

// isNull says whether a member isn't there, or null.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// script is what an answer says where the request leaves no freedom.
type script struct {
	pieces []string // tokens
	calls  []call   // of tools, in the order of their arguments
}

// writer writes a text of the form that is asked for; what is beyond room bytes
// nobody will see.
type writer func(seed uint64, room int) string

// script is a text of the form, long enough for a bound in tokens.
func (write writer) script(seed uint64, most int) *script {
	return &script{pieces: split(write(seed, room(most)))}
}

// room is how many bytes fill a bound in tokens, however they are cut.
func room(most int) int { return 2 * bytesPerToken * (most + 1) }

// constrain decides what form the answers have. Its error is for a body that
// asks for too much; what the engine refuses later goes to w.refused.
func (w *work) constrain() error {
	so, err := w.constraint()
	if err != nil {
		return err
	}
	if w.tools != nil && (so == nil || w.tools.forces()) {
		if w.refused = w.tools.prepare(); w.refused == nil {
			w.script = w.tools.script
		}
		return nil
	}
	if so == nil {
		return nil
	}
	write, err := so.writer()
	if err != nil {
		w.refused = unwritable(err)
		return nil
	}
	w.script = write.script
	return nil
}

// unwritable says why there is no writer, or no arguments of a tool.
func unwritable(err error) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, form.ErrDeep):
		return badRequest("", "%v", err)
	}
	return badRequest("", "Grammar error: %v", err)
}

// The refusals of a body that asks for no form, or for several.
const (
	oneOfThree = "You can only use one kind of constraints for structured outputs ('json', 'regex' or 'choice')."
	severalSo  = "You can only use one kind of structured outputs constraint but multiple are specified"
	noSo       = "You must use one kind of structured outputs constraint but none are specified: {'json': None, 'regex': None, 'choice': None, 'grammar': None, 'json_object': None, " +
		"'disable_any_whitespace': False, 'disable_additional_properties': False, 'whitespace_pattern': None, 'structural_tag': None, '_backend': None, '_backend_was_auto': False}"
	notBoth = "You can only either use constraints for structured outputs or tools, not both."
)

// constraint is what the request asks for in either way; nil: nothing.
func (w *work) constraint() (*structuredOutputs, error) {
	so := w.Structured
	if so != nil {
		switch three := so.kinds(true); {
		case three > 1:
			return nil, badRequest("", oneOfThree)
		case three > 0 && w.tools != nil && w.tools.named != "":
			return nil, badRequest("", notBoth)
		}
		if err := so.single(); err != nil {
			return nil, err
		}
	}
	format := w.ResponseFormat
	if format == nil || format.Type == "text" {
		return so, nil
	}
	var asked structuredOutputs
	if so != nil {
		asked = *so
	}
	if err := format.apply(&asked); err != nil {
		return nil, err
	}
	return &asked, asked.single()
}

// apply puts what a response format asks for beside the rest.
func (f *responseFormat) apply(so *structuredOutputs) error {
	switch f.Type {
	case "json_object":
		yes := true
		so.Object = &yes
	case "json_schema":
		if f.Schema == nil && isNull(f.Flat) {
			return badRequest("response_format", "When response_format type is 'json_schema', the 'json_schema' field must be provided. (parameter=response_format)")
		}
		if so.JSON = f.Flat; f.Schema != nil {
			so.JSON = f.Schema.Schema
		}
	default:
		return malformed("body.response_format.type", "literal_error", "Input should be 'text', 'json_object' or 'json_schema'")
	}
	return nil
}

// kinds counts what is asked for, or those of it that vLLM looks at first.
func (so *structuredOutputs) kinds(three bool) int {
	n := 0
	for _, is := range []bool{!isNull(so.JSON), so.Regex != nil, so.Choice != nil, !three && so.Grammar != nil, !three && so.Object != nil, !three && so.Tag != nil} {
		if is {
			n++
		}
	}
	return n
}

func (so *structuredOutputs) single() error {
	switch n := so.kinds(false); {
	case n > 1:
		return badRequest("", severalSo)
	case n == 0:
		return badRequest("", noSo)
	case !isNull(so.JSON) && so.JSON[0] != '{' && so.JSON[0] != '"':
		return malformed("body.structured_outputs.json", "dict_type", "Input should be a valid dictionary")
	}
	return nil
}

// writer reads the one thing that is asked for.
func (so *structuredOutputs) writer() (writer, error) {
	switch {
	case so.Choice != nil && len(*so.Choice) == 0:
		return nil, badRequest("", "Choice '[]' cannot be an empty list")
	case so.Choice != nil:
		choices := *so.Choice
		return func(seed uint64, _ int) string { return choices[seed%uint64(len(choices))] }, nil
	case so.Regex != nil:
		return regexWriter(*so.Regex)
	case so.Object != nil && !*so.Object:
		return nil, badRequest("", "structured_outputs.json_object must be True if set; omit structured_outputs to disable structured outputs")
	case so.Object != nil:
		return schemaWriter([]byte(`{"type":"object"}`))
	case !isNull(so.JSON):
		return jsonWriter(so.JSON)
	case so.Grammar != nil && strings.TrimSpace(*so.Grammar) == "":
		return nil, badRequest("", "structured_outputs.grammar cannot be an empty string")
	}
	return nil, badRequest("", "Invalid grammar specification: the simulated replica doesn't support structured_outputs.grammar and structural_tag; use json, regex or choice.")
}

func regexWriter(expr string) (writer, error) {
	if strings.ContainsRune(expr, 0) {
		return nil, badRequest("", "structured_outputs.regex must not contain a NUL character ('\\x00')")
	}
	p, err := form.NewPattern(expr)
	if err != nil {
		return nil, err
	}
	return p.Text, nil
}

// jsonWriter reads a schema, or a text that holds one.
func jsonWriter(raw json.RawMessage) (writer, error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return schemaWriter(raw)
	}
	switch {
	case strings.TrimSpace(text) == "":
		return nil, badRequest("", "structured_outputs.json cannot be an empty string")
	case !json.Valid([]byte(text)):
		return nil, badRequest("", "Invalid JSON grammar specification.")
	}
	return schemaWriter([]byte(text))
}

func schemaWriter(raw []byte) (writer, error) {
	s, err := form.NewSchema(raw)
	if err != nil {
		return nil, err
	}
	return s.Text, nil
}
