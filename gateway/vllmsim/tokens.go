package vllmsim

import (
	"encoding/json"
	"hash/fnv"
	"slices"
)

// bytesPerToken is how many bytes of text make a token here. Gemma's tokenizer
// comes to between 2 and 5 on ordinary text.
const bytesPerToken = 4

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

// decode is the text of token ids.
func decode(ids []uint32) string {
	var text []byte
	for _, id := range ids {
		if id == beginID {
			text = append(text, "<bos>"...)
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

// content is a message's content in any of its shapes: a text, null, or a list
// of parts.
type content struct {
	text   string
	images []uint32 // one id for each, from what the part says

	uses        bool // a part is a call of a tool
	onlyResults bool // all parts are results of tools
}

// part is one part of a list, of chat, responses or messages.
type part struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"` // tool_result
	Name    string          `json:"name"`    // tool_use
	Input   json.RawMessage `json:"input"`
}

// UnmarshalJSON accepts a string, null, or a list of parts.
func (c *content) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &c.text)
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	c.onlyResults = len(parts) > 0
	for _, raw := range parts {
		var p part
		if err := json.Unmarshal(raw, &p); err != nil {
			return err
		}
		c.onlyResults = c.onlyResults && p.Type == "tool_result"
		c.uses = c.uses || p.Type == "tool_use"
		switch p.Type {
		case "image_url", "input_image", "image":
			c.images = append(c.images, uint32(hash(raw)))
		default:
			c.text += p.Text + string(p.Content) + p.Name + string(p.Input)
		}
	}
	return nil
}

// ids are its tokens: the text's, then the images'.
func (c content) ids() []uint32 {
	ids := encode(c.text)
	for _, image := range c.images {
		ids = append(ids, slices.Repeat([]uint32{image}, imageTokens)...)
	}
	return ids
}
