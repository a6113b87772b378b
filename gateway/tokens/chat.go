package tokens

import (
	"bytes"
	"unicode"
)

// The control tokens that Gemma's chat template writes.
const (
	bos         = "<bos>"
	startOfTurn = "<start_of_turn>"
	endOfTurn   = "<end_of_turn>"
)

// Turn is what one side of a conversation said.
type Turn struct {
	Role  []byte   // user, assistant, or whatever else the client wrote
	Parts [][]byte // its texts: one, or a list of them
}

// Chat is a conversation of text.
type Chat struct {
	System    []byte // instructions, that go before the text of the first turn
	HasSystem bool   // also when they are empty: the template still writes a blank line
	Turns     []Turn
}

// Alternates tells whether user and others take turns, the user first. The template
// refuses any other conversation, and then the replica answers with a 400.
func (c *Chat) Alternates() bool {
	for i := range c.Turns {
		if c.Turns[i].isUser() != (i%2 == 0) {
			return false
		}
	}
	return true
}

func (t *Turn) isUser() bool { return string(t.Role) == "user" }

// AppendChat writes the conversation as Gemma 3's chat template does, with the
// opening of the answer, so that Count of what it wrote is the whole prompt.
func AppendChat(dst []byte, c *Chat) []byte {
	dst = append(dst, bos...)
	for i := range c.Turns {
		t := &c.Turns[i]
		dst = append(dst, startOfTurn...)
		dst = append(append(dst, t.name()...), '\n')
		if i == 0 && c.HasSystem {
			dst = append(append(dst, c.System...), '\n', '\n')
		}
		for _, part := range t.Parts {
			dst = append(dst, trim(part)...)
		}
		dst = append(append(dst, endOfTurn...), '\n')
	}
	dst = append(dst, startOfTurn...)
	return append(dst, "model\n"...)
}

// name is what the template calls the side.
func (t *Turn) name() []byte {
	if string(t.Role) == "assistant" {
		return []byte("model")
	}
	return t.Role
}

// trim does what Jinja's trim does: Python counts four separators of ASCII as white
// space besides what Unicode does.
func trim(text []byte) []byte {
	return bytes.TrimFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f
	})
}
