package vllmsim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// answerTo is what the replica says, why it ended, and the tokens of prompt and answer.
func answerTo(t *testing.T, address, path, body string) (text, finish string, prompt, tokens int) {
	t.Helper()
	a := decoded[struct {
		Choices []struct {
			Text    string
			Message struct{ Content string }
			Finish  string `json:"finish_reason"`
		}
		Usage usage
	}](t, post(t, address, path, body))
	c := a.Choices[0]
	return c.Text + c.Message.Content, c.Finish, a.Usage.Prompt, a.Usage.Completion
}

// TestBegunAnswersGoOn: the words that follow are those that would have followed,
// and the tokens that were said count as said.
func TestBegunAnswersGoOn(t *testing.T) {
	_, address := start(t, Options{Size: "gemma-3-4b", MaxModelLen: 4096, MaxNumSeqs: 8, Speed: 200})
	const chat, complete = "/v1/chat/completions", "/v1/completions"
	for i := range 12 {
		messages := fmt.Sprintf(`[ {"role":"system","content":"s"}, {"role":"user","content":"tell me %d, \"things\""} ]`, i)
		whole, finish, prompt, tokens := answerTo(t, address, chat, `{"messages":`+messages+`,"max_tokens":30}`)
		said := strings.Join(strings.Fields(whole)[:min(i+1, tokens-1)], " ")
		n := len(strings.Fields(said))
		begun := strings.TrimSuffix(messages, " ]") + `,{"role":"assistant","content":"` + said + `"} ]`
		rest, why, before, after := answerTo(t, address, chat, fmt.Sprintf(
			`{"messages":%s,"max_tokens":%d,"continue_final_message":true,"add_generation_prompt":false}`, begun, 30-n))
		if said+rest != whole || why != finish || before != prompt+n || after != tokens-n {
			t.Errorf("after %q: %q, %s, %d + %d; want the rest of %q, %s, %d + %d", said, rest, why, before, after, whole, finish, prompt+n, tokens-n)
		}

		whole, finish, prompt, tokens = answerTo(t, address, complete, fmt.Sprintf(`{"prompt":"tell me %d","max_tokens":30}`, i))
		said = strings.Join(strings.Fields(whole)[:min(i+1, tokens-1)], " ")
		n = len(strings.Fields(said))
		rest, why, before, after = answerTo(t, address, complete, fmt.Sprintf(`{"prompt":"tell me %d%s","max_tokens":%d}`, i, said, 30-n))
		if said+rest != whole || why != finish || before != prompt+n || after != tokens-n {
			t.Errorf("after %q: %q, %s, %d + %d; want the rest of %q, %s, %d + %d", said, rest, why, before, after, whole, finish, prompt+n, tokens-n)
		}
	}
}

// TestWhatIsNoBeginning: words that the replica wouldn't have said are a prompt like
// any other, and both ways of asking at once are refused.
func TestWhatIsNoBeginning(t *testing.T) {
	_, address := start(t, Options{Size: "gemma-3-4b", MaxModelLen: 4096, MaxNumSeqs: 8, Speed: 200})
	body := func(more string) string {
		return `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"Nonsense, I"}],"max_tokens":9` + more + `}`
	}
	text, _, _, tokens := answerTo(t, address, "/v1/chat/completions", body(`,"continue_final_message":true,"add_generation_prompt":false`))
	if tokens == 0 || text == "" || text[0] == ' ' {
		t.Errorf("%d tokens: %q", tokens, text)
	}
	for _, more := range []string{`,"continue_final_message":true`, `,"continue_final_message":true,"add_generation_prompt":true`} {
		got := post(t, address, "/v1/chat/completions", body(more))
		if got.Status != 400 || !json.Valid(got.Body) || !strings.Contains(string(got.Body), "Cannot set both") {
			t.Errorf("%s: status %d, %s", more, got.Status, got.Body)
		}
	}
}
