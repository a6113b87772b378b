package openai

import (
	"strings"
	"testing"
)

// conversation is the hashes of a body's conversation.
func conversation(t testing.TB, e Endpoint, members string) (now, before uint64) {
	t.Helper()
	body := []byte(`{"model":"m",` + members + `}`)
	facts := new(Facts)
	if err := facts.Inspect(e, body, 20); err != nil {
		t.Fatal(err)
	}
	return facts.Conversation(body)
}

// TestConversationGoesOn: a turn finds the one that it continues, on each endpoint,
// whatever else its body says.
func TestConversationGoesOn(t *testing.T) {
	f := func(e Endpoint, earlier, later string) {
		t.Helper()
		now, _ := conversation(t, e, earlier)
		next, before := conversation(t, e, later)
		if now == 0 || before != now || next == now {
			t.Errorf("%v: %x, then %x after %x\n%s\n%s", e, now, next, before, earlier, later)
		}
	}
	f(Chat, `"messages":[{"role":"user","content":"hi"}]`,
		`"temperature":0.5,"messages":[{"role":"user","content":"hi"}, {"role":"assistant","content":"yes?"}, {"role":"user","content":"what's up"}]`)
	f(Chat, `"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}],"stream":true`,
		`"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},`+
			`{"role":"assistant","content":null,"tool_calls":[{"id":"x"}]},{"role":"tool","content":"1"},{"role":"tool","content":"2"}]`)
	f(Messages, `"max_tokens":9,"system":"s","messages":[{"role":"user","content":"a"}]`,
		`"max_tokens":5,"system":"s","messages":[{"role":"user","content":"a"},{"content":[{"type":"text","text":"b"}],"role":"assistant"},{"role":"user","content":"c"}]`)
	f(Responses, `"instructions":"i","input":[{"role":"user","content":"a"}]`,
		`"instructions":"i","input":[{"role":"user","content":"a"},{"type":"reasoning","summary":[]},{"type":"function_call","name":"n","arguments":"{}"},`+
			`{"type":"function_call_output","output":"1"}]`)
}

// TestConversationsThatAreNone: what isn't the turn before isn't found.
func TestConversationsThatAreNone(t *testing.T) {
	const before = `"messages":[{"role":"system","content":"long instructions"},{"role":"user","content":"a"}]`
	const after = `"messages":[{"role":"system","content":"long instructions"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`
	served, _ := conversation(t, Chat, before)
	f := func(name string, e Endpoint, members string, begins bool) {
		t.Helper()
		now, earlier := conversation(t, e, members)
		if earlier == served || begins != (earlier == 0) || now == served {
			t.Errorf("%s: %x after %x, the turn served was %x", name, now, earlier, served)
		}
	}
	f("the same instructions", Chat, strings.Replace(before, `"a"`, `"x"`, 1), true)
	f("the same instructions, later", Chat, strings.Replace(after, `"a"`, `"x"`, 1), false)
	f("another tool", Chat, `"tools":[{"type":"function"}],`+after, false)
	f("two turns later", Chat, strings.Replace(after, `]`, `,{"role":"assistant","content":"d"},{"role":"user","content":"e"}]`, 1), false)
	f("the model speaks first", Chat, `"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"b"}]`, true)
	f("words that aren't messages", Chat, `"messages":["a",7,{"role":"user"}]`, true)
	if now, earlier := conversation(t, Completions, `"prompt":"long instructions"`); now != 0 || earlier != 0 {
		t.Errorf("a prompt is a conversation: %x after %x", now, earlier)
	}
	if now, earlier := conversation(t, Responses, `"input":"a"`); now != 0 || earlier != 0 {
		t.Errorf("a text is a conversation: %x after %x", now, earlier)
	}
}

func BenchmarkConversation(b *testing.B) {
	said := strings.Repeat(`{"role":"user","content":"`+strings.Repeat("word ", 300)+`"},{"role":"assistant","content":"yes"},`, 10)
	body := []byte(`{"model":"m","messages":[` + said + `{"role":"user","content":"and?"}]}`)
	f, err := Inspect(Chat, body, 20)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		f.Conversation(body)
	}
}
