package vllmsim

import (
	"encoding/json"
	"slices"
	"strings"
)

// message is one turn, of chat or messages, or an item of a response's input.
type message struct {
	Role      string          `json:"role"`
	Content   content         `json:"content"`
	ToolCalls json.RawMessage `json:"tool_calls"`

	Type      string  `json:"type"` // of an item
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Output    content `json:"output"`
}

// normal is the message as a turn of a chat: items that are calls are the
// assistant's, and their results the tool's; so is a turn that holds results alone.
func (m message) normal() message {
	switch {
	case m.Type == "function_call":
		m.Role, m.ToolCalls = "assistant", mustJSON(list{obj("name", m.Name, "arguments", m.Arguments)})
	case m.Type == "function_call_output":
		m.Role, m.Content = "tool", m.Output
	case m.Type == "reasoning":
		m.Role = "assistant"
	case m.Role == "user" && m.Content.onlyResults:
		m.Role = "tool"
	}
	return m
}

// callsTools says whether the turn holds calls.
func (m message) callsTools() bool { return !isNull(m.ToolCalls) || m.Content.uses }

// ids are the tokens of what the turn says.
func (m message) ids() []uint32 {
	ids := m.Content.ids()
	if !isNull(m.ToolCalls) {
		ids = append(ids, encode(string(m.ToolCalls))...)
	}
	return ids
}

// dialogue is a conversation as the chat template makes it a prompt.
type dialogue struct {
	prompt prompt
	hint   string // what the user said last, in small letters; empty: a tool answered last
}

// chatPrompt applies the chat template.
func chatPrompt(raw json.RawMessage) (prompt, error) {
	d, err := readDialogue(raw)
	return d.prompt, err
}

func readDialogue(raw json.RawMessage) (dialogue, error) {
	if len(raw) == 0 {
		return dialogue{}, missing("messages")
	}
	var messages []message
	if err := json.Unmarshal(raw, &messages); err != nil {
		return dialogue{}, malformed("body.messages", "list_type", "Input should be a valid list")
	}
	if len(messages) == 0 {
		return dialogue{}, badRequest("", "Cannot apply chat template to an empty conversation. Provide at least one message.")
	}
	turns := joinItems(messages)
	ids := []uint32{beginID}
	if role := turns[0].Role; role == "system" || role == "developer" {
		ids = append(ids, systemText(turns[0].Content.ids())...)
		turns = turns[1:]
	}
	if !alternate(turns) && !alternate(slices.DeleteFunc(slices.Clone(turns), func(m message) bool { return m.Role == "tool" || m.callsTools() })) {
		return dialogue{}, badRequest("", "Conversation roles must alternate user/assistant/user/assistant/...").whilePrompting()
	}
	for _, m := range turns {
		ids = append(ids, turn(roleID(m.Role), m.ids())...)
	}
	return dialogue{newPrompt(append(ids, generateTurn()...), raw), hintOf(turns)}, nil
}

// joinItems makes turns of messages; the items of one of the assistant's turns
// become one.
func joinItems(messages []message) []message {
	var turns []message
	for _, m := range messages {
		m = m.normal()
		if last := len(turns) - 1; last >= 0 && m.Type != "" && m.Type != "message" && m.Role == "assistant" && turns[last].Role == "assistant" {
			turns[last].ToolCalls = append(slices.Clone(turns[last].ToolCalls), m.ToolCalls...)
			continue
		}
		turns = append(turns, m)
	}
	return turns
}

// alternate says whether the turns go user, assistant, user, as the template that
// Gemma 3 ships demands of all of them. vLLM's own template for Gemma 3 with tools
// demands it of the turns without calls and results. What either takes is taken:
// a fleet that serves tools has the second.
func alternate(turns []message) bool {
	for i, m := range turns {
		if (m.Role == "user") != (i%2 == 0) {
			return false
		}
	}
	return true
}

func hintOf(turns []message) string {
	if len(turns) == 0 || turns[len(turns)-1].Role == "tool" {
		return ""
	}
	return strings.ToLower(turns[len(turns)-1].Content.text) + " "
}
