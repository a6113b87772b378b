package openai

import (
	"fmt"
	"strings"
	"testing"
)

// shown is what was said, in one line.
func shown(s Said, ok bool) string {
	if !ok {
		return "no"
	}
	var b strings.Builder
	for _, p := range s.Prompts {
		fmt.Fprintf(&b, "%q ", p)
	}
	if s.HasSystem {
		fmt.Fprintf(&b, "system %q ", s.System)
	}
	for _, t := range s.Turns {
		fmt.Fprintf(&b, "%s %q ", t.Role, t.Texts)
	}
	return strings.TrimSpace(b.String())
}

func TestSaid(t *testing.T) {
	f := func(e Endpoint, members, want string) {
		t.Helper()
		body := []byte(`{"model":"m",` + members + `}`)
		facts, err := Inspect(e, body, 100)
		if err != nil {
			t.Fatalf("%s: %v", members, err)
		}
		if got := shown(facts.Said(body)); got != want {
			t.Errorf("%v %s:\n got %s\nwant %s", e, members, got, want)
		}
	}
	chat := func(messages, want string) { t.Helper(); f(Chat, `"messages":[`+messages+`]`, want) }
	chat(`{"role":"user","content":"a\nb"}`, `user ["a\nb"]`)
	chat(`{"content":"\u00e9","role":"user","name":"x","refusal":null}`, `user ["é"]`)
	chat(`{"role":"system","content":"s"},{"role":"user","content":""}`, `system "s" user [""]`)
	chat(`{"role":"system","content":[{"type":"text","text":"s"},{"type":"text","text":"t"}]},{"role":"user","content":"u"}`, `system "s" user ["u"]`)
	chat(`{"role":"user","content":[{"type":"text","text":"a"},{"text":"b","type":"text"}]},{"role":"assistant","content":"c"}`, `user ["a" "b"] assistant ["c"]`)
	chat(`{"role":"user","content":"u"},{"role":"system","content":"s"}`, `user ["u"] system ["s"]`)
	chat(``, ``)
	chat(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}}]}`, "no")
	chat(`{"role":"user","content":[{"type":"video_url","text":"x"}]}`, "no")
	chat(`{"role":"user","content":["a"]}`, "no")
	chat(`{"role":"user","content":null}`, "no")
	chat(`{"role":"user","content":[]}`, "no")
	chat(`{"role":"user","content":7}`, "no")
	chat(`{"role":7,"content":"a"}`, "no")
	chat(`{"content":"a"}`, "no")
	chat(`"a"`, "no")
	chat(`{"role":"assistant","content":"a","tool_calls":[{}]}`, "no")
	chat(`{"role":"assistant","content":"a","tool_calls":null}`, `assistant ["a"]`)
	f(Chat, `"messages":"a"`, "no")
	f(Chat, `"other":1`, "no")
	for _, field := range []string{`"tools":[{}]`, `"add_generation_prompt":false`, `"chat_template":"x"`, `"documents":[{"text":"x"}]`, `"reasoning_effort":"low"`} {
		f(Chat, `"messages":[{"role":"user","content":"a"}],`+field, "no")
	}
	f(Chat, `"messages":[{"role":"user","content":"a"}],"tools":null,"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object"}}}`, `user ["a"]`)

	f(Completions, `"prompt":"a"`, `"a"`)
	f(Completions, `"prompt":["a","b\tc"]`, `"a" "b\tc"`)
	f(Completions, `"prompt":["a",[1,2]]`, "no")
	f(Completions, `"prompt":[1,2]`, "no")
	f(Completions, `"prompt":[]`, "no")
	f(Completions, `"prompt":"a","suffix":"b"`, "no")
	f(Embeddings, `"input":["a","b"]`, `"a" "b"`)
	f(Embeddings, `"input":"a"`, `"a"`)
	f(Score, `"text_1":"a","text_2":"b"`, "no")

	f(Responses, `"input":"a","instructions":"s"`, `system "s" user ["a"]`)
	f(Responses, `"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},{"role":"assistant","id":"x","status":"completed","content":[{"type":"output_text","text":"b","annotations":[]}]}]`,
		`user ["a"] assistant ["b"]`)
	f(Responses, `"input":[{"type":"function_call_output","call_id":"x","output":"y"}]`, "no")
	f(Responses, `"input":"a","instructions":""`, "no")
	f(Responses, `"input":"a","reasoning":{"effort":"low"}`, "no")

	f(Messages, `"max_tokens":5,"system":[{"type":"text","text":"s"},{"type":"text","text":"t"}],"messages":[{"role":"user","content":"a"}]`, `system "st" user ["a"]`)
	f(Messages, `"max_tokens":5,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"y"}]}]`, "no")
}

func TestCountedExactly(t *testing.T) {
	f := func(truncate int, want Count) {
		t.Helper()
		facts := Facts{Features: Features{Truncate: truncate, Prompts: 2}}
		if got := facts.CountedExactly(100, 60); got != want {
			t.Errorf("truncate %d: got %+v, want %+v", truncate, got, want)
		}
	}
	f(0, Count{Total: 100, Longest: 60, LongestSurely: 60, LongestAtMost: 60, Exact: true})
	f(40, Count{Total: 80, Longest: 40, LongestSurely: 40, LongestAtMost: 40, Exact: true})
	f(-1, Count{Total: 100, Longest: 60, LongestAtMost: 60, Exact: true})
}

// FuzzSaid must say no more than Inspect has priced, and end.
func FuzzSaid(f *testing.F) {
	f.Add(uint8(Chat), `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a\u00e9"}]}]}`)
	f.Add(uint8(Responses), `{"model":"m","input":[{"role":"user","content":"x"}],"instructions":"y"}`)
	f.Add(uint8(Completions), `{"model":"m","prompt":["a","b"]}`)
	f.Fuzz(func(t *testing.T, e uint8, body string) {
		facts, err := Inspect(Endpoint(e%uint8(Extra+1)), []byte(body), 100)
		if err != nil {
			return
		}
		said, ok := facts.Said([]byte(body))
		if !ok {
			return
		}
		if said.Chat && facts.Turns < len(said.Turns)-1 || !said.Chat && facts.Prompts != len(said.Prompts) {
			t.Fatalf("%s: %+v, but %d turns and %d prompts", body, said, facts.Turns, facts.Prompts)
		}
	})
}
