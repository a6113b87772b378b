package openai

import "bytes"

// maxNest is how deep text is looked for inside one message: content → parts →
// a tool's result → its parts. No API nests deeper, so what lies deeper reaches
// no prompt, and no body can make the walk below recurse further.
const maxNest = 4

// voice says whose words an item is.
type voice uint8

const (
	anyones voice = iota // the user's, a tool's
	instructors
	models
)

// messages reads the turns of a conversation.
func (in *inspector) messages() {
	if in.peek() != '[' {
		in.skip()
		return
	}
	last := anyones
	for in.enterArray(); in.element(); {
		start := in.pos
		v := in.message()
		in.f.talk.add(span{start, in.pos}, v == models && last != models)
		last = v
	}
}

// message reads one turn.
func (in *inspector) message() voice {
	if in.peek() != '{' {
		in.skip()
		return anyones
	}
	v := in.item(1)
	if v == instructors {
		in.f.HasSystem = true // the template joins it to the first turn
	} else {
		in.f.Turns++
	}
	return v
}

// input reads the input of /v1/responses (a text, or items much like messages),
// and of the calls that pool (a batch of prompts).
func (in *inspector) input() {
	if in.f.Endpoint != Responses {
		in.prompts()
		return
	}
	if in.peek() == '"' {
		in.f.Turns++
		in.prompt.addString(&in.scanner)
		return
	}
	in.messages()
}

// system reads the text that instructs the model from outside the turns.
func (in *inspector) system() {
	in.f.HasSystem = in.f.HasSystem || in.peek() != 'n'
	in.content(1)
}

// item reads a message, an item, a part of content or a block: in all the APIs
// they are objects that name their text in the same few ways.
func (in *inspector) item(nest int) (by voice) {
	image := false
	for in.enterObject(); in.member(); {
		switch string(in.key) {
		case "role":
			by = voiceOf(in.word())
		case "type":
			kind := in.word()
			image = isImage(kind) || image
			if isAnswer(kind) {
				by = models
			}
		case "image_url", "image":
			image = in.peek() != 'n' || image
			in.skip()
		case "text", "content", "output", "arguments":
			in.content(nest)
		case "input", "tool_calls", "function_call":
			in.compact(&in.prompt)
		default:
			in.skip()
		}
	}
	if image {
		in.f.Images++
	}
	return by
}

// voiceOf is whose words a role speaks.
func voiceOf(role []byte) voice {
	switch string(role) {
	case "system", "developer":
		return instructors
	case "assistant":
		return models
	}
	return anyones
}

// isAnswer knows the types of items without a role that a model has said
// (/v1/responses).
func isAnswer(kind []byte) bool {
	return string(kind) == "reasoning" || bytes.HasSuffix(kind, []byte("_call"))
}

// content reads text, or a list of texts and parts.
func (in *inspector) content(nest int) {
	switch in.peek() {
	case '"':
		in.prompt.addString(&in.scanner)
	case '{':
		in.part(nest)
	case '[':
		for in.enterArray(); in.element(); {
			switch in.peek() {
			case '"':
				in.prompt.addString(&in.scanner)
			case '{':
				in.part(nest)
			default:
				in.skip()
			}
		}
	default:
		in.skip()
	}
}

func (in *inspector) part(nest int) {
	if nest == maxNest {
		in.skip()
		return
	}
	in.item(nest + 1)
}

// word consumes a string of which only a few plain values matter, and is empty
// for what is no string.
func (in *inspector) word() []byte {
	if in.peek() == '"' {
		return in.str().raw
	}
	in.skip()
	return nil
}

// isImage knows the types of parts that are pictures. Other media are no text
// either, and what they cost is not known here.
func isImage(kind []byte) bool {
	switch string(kind) {
	case "image", "image_url", "input_image", "image_embeds", "image_pil":
		return true
	}
	return false
}

// images reads a list of pictures beside the text.
func (in *inspector) images() {
	if in.peek() != '[' {
		in.skip()
		return
	}
	for in.enterArray(); in.element(); {
		in.skip()
		in.f.Images++
	}
}

// compact reads any value and counts it as a template prints it: as JSON
// without white space between the tokens.
func (in *inspector) compact(m *meter) {
	m.addJSON(in.bytes(in.skip()))
}
