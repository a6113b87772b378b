package vllmsim

import (
	"encoding/json"
	"hash/fnv"
)

// bytesPerToken is how many bytes of text make a token here. Gemma's tokenizer
// comes to between 2 and 5 on ordinary text.
const bytesPerToken = 4

// What Gemma 3's chat template adds, in tokens.
const (
	beginTokens    = 1   // <bos>
	turnTokens     = 5   // <start_of_turn>, the role, <end_of_turn> and their line breaks
	generateTokens = 3   // the start of the model's turn
	systemTokens   = 1   // the blank line after the system text
	imageTokens    = 260 // 256 soft tokens and their wrapper
)

const beginID = 2 // <bos>

// countText is the number of tokens of a text.
func countText(text string) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }

// encode turns a text into token ids: its bytes, bytesPerToken in each, so that
// decode can give the text back.
func encode(text string) []uint32 {
	ids := make([]uint32, countText(text))
	for i := range len(text) {
		ids[i/bytesPerToken] |= uint32(text[i]) << (8 * (i % bytesPerToken))
	}
	return ids
}

// decode is the text of token ids; <bos> has none.
func decode(ids []uint32) string {
	var text []byte
	for _, id := range ids {
		if id == beginID {
			continue
		}
		for ; id != 0; id >>= 8 {
			text = append(text, byte(id))
		}
	}
	return string(text)
}

// hash is where an answer's words come from.
func hash(p []byte) uint64 {
	h := fnv.New64a()
	h.Write(p)
	return h.Sum64()
}

// prompt is one prompt of a request.
type prompt struct {
	tokens int
	seed   uint64
	short  bool // it asks for a label
}

// content is a message's content in any of its shapes: a text, null, or a list
// of parts.
type content struct {
	text   string
	images int
}

// part is one part of a list, of chat, responses or messages.
type part struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"` // tool_result
}

// UnmarshalJSON accepts a string, null, or a list of parts.
func (c *content) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &c.text)
	}
	var parts []part
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		switch p.Type {
		case "image_url", "input_image", "image":
			c.images++
		default:
			c.text += p.Text + string(p.Content)
		}
	}
	return nil
}

func (c content) tokens() int { return countText(c.text) + c.images*imageTokens }
