package openai

import "fmt"

// Inspect reads the facts of a request's body in one pass. The body must be
// one JSON object by RFC 8259, at most maxDepth deep (MaxDepth is the ceiling),
// with a model (optional for Extra), and without a second copy of a field that
// the gateway acts on. The error is a *BadBody.
//
// Everything else is the replica's to judge: a field of a wrong type counts as
// absent here, and goes on to the replica as it is.
func Inspect(e Endpoint, body []byte, maxDepth int) (*Facts, error) {
	f := new(Facts)
	if err := f.Inspect(e, body, maxDepth); err != nil {
		return nil, err
	}
	return f, nil
}

// Inspect is the function of that name into facts that are used again. What
// they said before is gone, also after an error.
func (f *Facts) Inspect(e Endpoint, body []byte, maxDepth int) error {
	*f = Facts{Endpoint: e, more: f.more[:0]}
	in := inspector{scanner: newScanner(body, maxDepth), f: f, counts: noCounts}
	in.body()
	if in.err != nil {
		return in.err
	}
	in.conclude()
	return nil
}

// inspector walks over a body. What can only be concluded at the end, because
// members come in any order, waits in it.
type inspector struct {
	scanner
	f       *Facts
	counts  counts
	choice  int     // most tokens that a choice, enum or boolean leaves room for; 0: any
	sides   [2]side // what a pair is made of, for score and rerank
	prompt  meter
	tools   meter
	schemas meter
}

// body reads the one object and its members.
func (in *inspector) body() {
	if kind := in.peek(); kind != '{' {
		in.failf(in.pos, "the body must be an object")
		return
	}
	for in.enterObject(); in.member(); {
		m := member{hash: hashName(in.key), at: span{start: in.keyAt}}
		f := fieldOf(in.f.Endpoint, in.key)
		if f != noField {
			in.once(m.hash)
		}
		m.null = in.peek() == 'n'
		in.read(f)
		m.at.end = in.pos
		in.f.addMember(m)
		if in.f.count > maxMembers {
			in.refuse("", fmt.Sprintf("the body has more than %d members", maxMembers))
		}
	}
	in.end()
	if in.err == nil && in.f.Model == "" && in.f.Endpoint != Extra {
		in.refuse("model", "the field model is missing: name the model that should answer")
	}
}

// once refuses the second copy of a member that we act on. We and the replica
// might not take the same one, and then a request could do what its facts
// don't show.
func (in *inspector) once(hash uint64) {
	for i := range in.f.count {
		if in.f.member(i).hash == hash {
			in.refuse(string(in.key), fmt.Sprintf("the field %s is given twice, the second time at byte %d", in.key, in.keyAt))
			return
		}
	}
}

// refuse ends the pass because of one field.
func (in *inspector) refuse(param, message string) {
	if in.err == nil {
		in.err = &BadBody{Param: param, Message: message}
	}
}

// read consumes the value of a top-level member.
func (in *inspector) read(f field) {
	switch f {
	case fieldModel:
		in.model()
	case fieldStream:
		in.f.Stream = in.boolean() == yes
	case fieldStreamOptions:
		in.streamOptions()
	case fieldIgnoreEOS:
		in.f.IgnoreEOS = in.boolean() == yes
	case fieldEcho:
		in.f.Echo = in.boolean() == yes
	case fieldN, fieldBestOf, fieldMinTokens, fieldTruncate, fieldMaxTokens, fieldMaxCompletion, fieldMaxOutput:
		in.counts[f-fieldN] = in.integer()
	case fieldStructured, fieldResponseFormat, fieldTextFormat:
		in.structure(f)
	case fieldStored, fieldKept, fieldBackground, fieldConversation:
		in.state(f)
	default:
		in.readText(f)
	}
}

// readText consumes the value of a member that holds some of the prompt.
func (in *inspector) readText(f field) {
	switch f {
	case fieldMessages:
		in.messages()
	case fieldPrompt:
		in.prompts()
	case fieldInput:
		in.input()
	case fieldSystem:
		in.system()
	case fieldTools:
		in.compact(&in.tools)
	case fieldOneSide:
		in.side(0)
	case fieldOtherSide:
		in.side(1)
	case fieldImages:
		in.images()
	default:
		in.skip()
	}
}

// model reads the name to route by.
func (in *inspector) model() {
	if in.peek() == 'n' {
		in.literal() // null is absent
		return
	}
	if in.peek() != '"' {
		in.refuse("model", fmt.Sprintf("the field model must be a string, at byte %d it is not", in.pos))
		return
	}
	start := in.pos
	t := in.str()
	in.f.modelAt = span{start, in.pos}
	in.f.Model = t.String()
}

// state notes a field that would tie the request to what one replica keeps.
func (in *inspector) state(f field) {
	name := stateNames[f-fieldStored]
	asks := in.peek() != 'n'
	if f == fieldKept || f == fieldBackground {
		asks = in.boolean() == yes
	} else {
		in.skip()
	}
	if asks && in.f.StateField == "" {
		in.f.StateField = name
	}
}
