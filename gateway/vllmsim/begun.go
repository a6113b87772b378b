package vllmsim

import (
	"encoding/json"
	"strings"
)

// An answer that has begun is gone on with: one that is the last message of a chat
// (continue_final_message), and one that a completion's prompt ends with. If it is
// what this replica would have said to the rest, the words that follow are those
// that would have followed, and it counts as the tokens that they were. So loss and
// repetition show where answers of two replicas are joined.

// dialogue is the conversation that a chat asks to be answered.
func (b *chatRequest) dialogue() (dialogue, error) {
	if !b.Continue {
		return readDialogue(b.Messages)
	}
	if b.Generate == nil || *b.Generate {
		return dialogue{}, badRequest("", "1 validation error:\n  Value error, Cannot set both `continue_final_message` and `add_generation_prompt` to True.")
	}
	asked, last, ok := splitLast(b.Messages)
	if !ok {
		return readDialogue(b.Messages)
	}
	d, err := readDialogue(asked)
	if err == nil {
		d.prompt.goOn(strings.TrimSpace(last))
	}
	return d, err
}

// splitLast takes the last message off, byte for byte, and gives its text; false
// where it isn't the assistant's.
func splitLast(messages json.RawMessage) (before json.RawMessage, text string, ok bool) {
	var all []json.RawMessage
	if json.Unmarshal(messages, &all) != nil || len(all) < 2 {
		return nil, "", false
	}
	var last message
	if json.Unmarshal(all[len(all)-1], &last) != nil || last.Role != "assistant" {
		return nil, "", false
	}
	raw := string(messages)
	at := strings.LastIndex(raw, string(all[len(all)-1]))
	end := at + len(all[len(all)-1])
	comma := strings.LastIndexByte(raw[:at], ',')
	return json.RawMessage(raw[:comma] + raw[end:]), last.Content.text, true
}

// begunPrompt is textPrompt, for a text that may end with the beginning of its answer.
func begunPrompt(text string) prompt {
	tail := strings.TrimRight(text, " abcdefghijklmnopqrstuvwxyz")
	seed := hash([]byte(tail))
	for at := len(tail); at < len(text); at++ {
		if at > 0 && reach(mix(seed), text[at:]) > 0 {
			p := textPrompt(text[:at])
			p.goOn(text[at:])
			return p
		}
		seed = (seed ^ uint64(text[at])) * 1099511628211 // as hash goes on
	}
	return textPrompt(text)
}

// goOn puts the beginning of the answer behind the prompt.
func (p *prompt) goOn(text string) {
	seed := mix(p.seed)
	if p.begun = reach(seed, text); p.begun == 0 {
		p.ids = append(p.ids, encode(text)...)
		p.seed = hash([]byte(text)) ^ p.seed
		return
	}
	for i := range p.begun {
		p.ids = append(p.ids, uint32(mix(seed+uint64(i))))
	}
}

// reach is how many tokens of the answer that follows from a seed a text is; 0 if
// it is something else.
func reach(seed uint64, text string) int {
	for i := 0; ; i++ {
		rest, is := strings.CutPrefix(text, word(seed, i))
		switch {
		case !is:
			return 0
		case rest == "":
			return i + 1
		case rest[0] != ' ':
			return 0
		}
		text = rest[1:]
	}
}

// plan is what an answer to the prompt still has to say. Its bounds are of the rest.
func (p *prompt) plan(seed uint64, b bounds) plan {
	b.most += p.begun
	whole := newPlan(seed, b)
	if p.begun > 0 && whole.fixed == nil {
		whole.tokens, whole.after = max(whole.tokens-p.begun, 1), p.begun
	}
	return whole
}
