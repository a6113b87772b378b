package openai

import "math"

// completionsDefault is what vLLM generates for a completion without max_tokens.
const completionsDefault = 16

// conclude draws the facts that need the whole body.
func (in *inspector) conclude() {
	f := in.f
	switch {
	case f.Endpoint == Score || f.Endpoint == Rerank:
		in.pair()
	case in.prompt.bytes > 0: // a conversation; the prompts of a batch are closed one by one
		in.endText()
	}
	f.Prompts = max(f.Prompts, 1)
	f.Tools, f.Schemas = in.tools.tokens(), in.schemas.tokens()
	f.Frame = in.frame()
	f.Truncate = in.truncate()
	f.OutBound = in.bound()
	f.MinTokens = max(in.counts.of(fieldMinTokens), 0)
	f.BestOf = max(in.counts.of(fieldBestOf), 0)
	f.Sequences = min(f.Prompts*max(in.counts.of(fieldN), 1), math.MaxInt32)
}

// bound is the most tokens that one sequence can generate, by the rules and
// defaults of vLLM; -1 if nothing but the model's context limits it.
func (in *inspector) bound() int {
	if e := in.f.Endpoint; e != Extra && (e.Pools() || !e.Generates()) {
		return 0
	}
	bound := in.counts.positive(fieldMaxCompletion) // the newer name wins
	if bound == absent {
		bound = max(in.counts.positive(fieldMaxTokens), in.counts.positive(fieldMaxOutput))
	}
	if bound == absent && in.f.Endpoint == Completions {
		bound = completionsDefault
		if in.f.Echo && in.counts.of(fieldMaxTokens) == 0 {
			bound = 1 // only the prompt is to be scored; the engine can't do less than 1
		}
	}
	if in.choice > 0 && (bound == absent || in.choice < bound) {
		bound, in.f.boundGuessed = in.choice, true
	}
	return bound
}

// truncate is what the client lets the replica cut its prompts to. Anything but
// a plain limit (-1 is "to what the model takes") means that no length can be
// called too long here.
func (in *inspector) truncate() int {
	if n := in.counts.positive(fieldTruncate); n != absent {
		return n
	}
	if in.f.Field("truncate_prompt_tokens") {
		return truncateUnknown
	}
	return 0
}

// structure reads a field that forces the shape of the answer. Its text counts,
// and some shapes leave room for a few tokens only. (guided_choice and its kin
// are no such field: newer servers accept and ignore them.)
func (in *inspector) structure(f field) {
	at := in.skip()
	if in.err != nil {
		return
	}
	raw := in.bytes(at)
	in.schemas.addJSON(raw)
	switch f {
	case fieldStructured:
		in.bindChoice(in.pick(raw, "choice"))
		in.bindSchema(in.pick(raw, "json"))
	case fieldResponseFormat:
		in.bindSchema(in.pick(in.pick(raw, "json_schema"), "schema"))
	case fieldTextFormat:
		in.bindSchema(in.pick(in.pick(raw, "format"), "schema"))
	}
}

// pick finds a member of an object that the pass has checked already. It is nil
// if there is none, and a second one is refused.
func (in *inspector) pick(raw []byte, name string) []byte {
	s := newScanner(raw, MaxDepth)
	if s.peek() != '{' {
		return nil
	}
	var found []byte
	for s.enterObject(); s.member(); {
		match := string(s.key) == name
		value := s.bytes(s.skip())
		if match && found != nil {
			in.refuse(name, "the field "+name+" of a schema or format is given twice")
		}
		if match {
			found = value
		}
	}
	return found
}

// bindChoice bounds the answer by the longest of the texts to choose from.
func (in *inspector) bindChoice(list []byte) {
	s := newScanner(list, MaxDepth)
	if s.peek() != '[' {
		return
	}
	for s.enterArray(); s.element(); {
		var m meter
		if s.peek() == '"' {
			m.addString(&s)
		} else {
			m.addJSON(s.bytes(s.skip()))
		}
		in.bind(m.tokens())
	}
}

// bindSchema bounds the answer by a schema that allows only certain values.
func (in *inspector) bindSchema(schema []byte) {
	if len(schema) > 0 && schema[0] == '"' {
		t := text{raw: schema[1 : len(schema)-1], escaped: true}
		schema = t.decode(nil) // a schema may come as text
	}
	if string(in.pick(schema, "type")) == `"boolean"` {
		in.bind(1)
	}
	if value := in.pick(schema, "const"); value != nil {
		in.bindValue(value)
	}
	s := newScanner(in.pick(schema, "enum"), MaxDepth)
	if s.peek() != '[' {
		return
	}
	for s.enterArray(); s.element(); {
		in.bindValue(s.bytes(s.skip()))
	}
}

func (in *inspector) bindValue(json []byte) {
	var m meter
	m.addJSON(json)
	in.bind(m.tokens())
}

// bind makes room for an answer of so many tokens by the estimate, with its
// error, and for the token that ends it.
func (in *inspector) bind(tokens float64) {
	in.choice = max(in.choice, int(math.Ceil(tokens*(1+EstimateError)))+1)
}
