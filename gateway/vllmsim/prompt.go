package vllmsim

import (
	"slices"

	"sluice/router/tpu"
)

// prompt is one prompt of a request.
type prompt struct {
	ids   []uint32 // its tokens
	seed  uint64   // of its answers
	short bool     // it asks for a label
	chars int      // of the text it was; 0: it came as token ids
	begun int      // tokens of its answer that it ends with
}

func newPrompt(ids []uint32, seed []byte) prompt {
	return prompt{ids: ids, seed: hash(seed), short: short(seed), chars: len(seed)}
}

func (p *prompt) tokens() int { return len(p.ids) }

// charsPerToken is how many characters the longest token has: a run of spaces.
const charsPerToken = 32

// fits refuses a prompt that leaves no room for an answer. A text is first judged
// by its length, and tokenized up to one token more than fits.
func (p *prompt) fits(limit int) error {
	atLeast, tokens := "", p.tokens()
	switch {
	case tokens < limit:
		return nil
	case p.chars > charsPerToken*limit:
		return badValue("input_text", p.chars, "This model's maximum context length is %d tokens. However, your prompt contains %d characters (more than %d characters, which is the upper bound for %d input tokens). Please reduce the length of the input prompt.",
			limit, p.chars, charsPerToken*limit, limit)
	case tokens == limit:
		return badValue("max_tokens", 0, "max_tokens must be at least 1, got 0.")
	case p.chars > 0:
		atLeast, tokens = "at least ", limit+1
	}
	return badValue("input_tokens", tokens, "This model's maximum context length is %d tokens. However, your prompt contains %s%d input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt.",
		limit, atLeast, tokens)
}

// lead puts tokens in front of all but <bos>: system texts and tools.
func (p *prompt) lead(ids []uint32) { p.ids = slices.Insert(p.ids, 1, ids...) }

// blocks names the prompt's full pages, for the prefix cache. Two prompts have
// the same name for a page when they are equal up to its end.
func (p *prompt) blocks(page int) []uint64 {
	blocks := make([]uint64, 0, len(p.ids)/page)
	before := uint64(0)
	for tokens := range slices.Chunk(p.ids, page) {
		if len(tokens) < page {
			break
		}
		before = tpu.Chain(before, hashIDs(tokens))
		blocks = append(blocks, before)
	}
	return blocks
}

// hashIDs is FNV-1a over token ids instead of bytes.
func hashIDs(ids []uint32) uint64 {
	h := uint64(14695981039346656037)
	for _, id := range ids {
		h = (h ^ uint64(id)) * 1099511628211
	}
	return h
}

// What Gemma 3's chat template adds, as token ids. A role has an id of its own.
const (
	beginID     = 2   // <bos>
	startTurnID = 105 // <start_of_turn>
	endTurnID   = 106 // <end_of_turn>
	lineID      = 107 // a line break
	blankID     = 108 // a blank line
	modelID     = 4368
	userID      = 2364
)

// imageTokens is 256 soft tokens and their wrapper.
const imageTokens = 260

// turn is a turn's tokens: 5 more than its content's.
func turn(role uint32, content []uint32) []uint32 {
	ids := append([]uint32{startTurnID, role, lineID}, content...)
	return append(ids, endTurnID, lineID)
}

// generateTurn starts the model's turn.
func generateTurn() []uint32 { return []uint32{startTurnID, modelID, lineID} }

// systemText is what a system text becomes: itself and a blank line.
func systemText(content []uint32) []uint32 { return append(content, blankID) }

func roleID(role string) uint32 {
	if role == "assistant" {
		return modelID
	}
	return userID
}
