package openai

import (
	"strings"
	"testing"
)

const sentence = "the quick brown fox jumps over the lazy dog and runs away "

// TestInspectTextShapes puts the same text into every place that reaches the
// prompt: it must count the same there, but for the template's tokens.
func TestInspectTextShapes(t *testing.T) {
	plain := inspect(t, Completions, `{"model":"m","prompt":"`+sentence+`"}`).Text
	f := func(e Endpoint, members string, times float64) {
		t.Helper()
		got := inspect(t, e, `{"model":"m",`+strings.ReplaceAll(members, "WORDS", sentence)+`}`).Text
		if got < plain*times*0.99 || got > plain*times*1.01 {
			t.Errorf("%v %s: text of %.1f tokens, want %.1f × %.1f", e, members, got, times, plain)
		}
	}
	f(Chat, `"messages":[{"role":"user","content":"WORDS"}]`, 1)
	f(Chat, `"messages":[{"content":"WORDS","role":"system"},{"role":"user","content":"WORDS"}]`, 2)
	f(Chat, `"messages":[{"role":"user","content":[{"type":"text","text":"WORDS"},{"text":"WORDS","type":"text"},"WORDS"]}]`, 3)
	f(Chat, `"messages":[{"role":"user","content":[]}]`, 0)
	f(Chat, `"messages":[{"role":"user","content":[{"type":"mystery","payload":"WORDS"}]}]`, 0)
	f(Chat, `"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"WORDS"}}]}]`, 0)
	f(Chat, `"prompt":"WORDS","input":"WORDS"`, 0)
	f(Responses, `"input":"WORDS","instructions":"WORDS"`, 2)
	f(Responses, `"input":[{"role":"user","content":"WORDS"},{"type":"message","role":"user","content":[{"type":"input_text","text":"WORDS"}]},{"type":"function_call_output","call_id":"c","output":"WORDS"}]`, 3)
	f(Responses, `"input":[{"type":"function_call","name":"f","arguments":"WORDS"}]`, 1)
	f(Messages, `"system":"WORDS","messages":[{"role":"user","content":"WORDS"}]`, 2)
	f(Messages, `"system":[{"type":"text","text":"WORDS"}],"messages":[{"role":"user","content":[{"type":"tool_result","content":"WORDS"},{"type":"tool_result","content":[{"type":"text","text":"WORDS"}]}]}]`, 3)
	f(Embeddings, `"input":"WORDS"`, 1)
	f(Embeddings, `"input":["WORDS","WORDS"]`, 2)
	f(Embeddings, `"texts":["WORDS"]`, 1)
	f(Embeddings, `"inputs":[{"content":[{"type":"text","text":"WORDS"}]}]`, 1)
	f(Embeddings, `"messages":[{"role":"user","content":"WORDS"}]`, 1)
	f(Rerank, `"query":"WORDS","documents":["WORDS","WORDS"]`, 4)
	f(Rerank, `"documents":[{"text":"WORDS"}],"query":"WORDS"`, 2)
	f(Score, `"text_1":["WORDS","WORDS"],"text_2":["WORDS","WORDS"]`, 4)
	f(Score, `"queries":"WORDS","documents":["WORDS","WORDS","WORDS"]`, 6)
	f(Tokenize, `"messages":[{"role":"user","content":"WORDS"}]`, 0)
}

func TestInspectToolsAndSchemas(t *testing.T) {
	tool := `{"type": "function", "function": {"name": "f", "description": "` + sentence + `"}}`
	f := inspect(t, Chat, `{"model":"m","tools":[`+tool+`],"response_format":{"type":"json_schema","json_schema":{"description":"`+sentence+`"}}}`)
	if f.Tools < 25 || f.Tools > 60 || f.Schemas < 20 || f.Schemas > 50 {
		t.Errorf("tools %.1f, schemas %.1f tokens", f.Tools, f.Schemas)
	}
	spread := "\n\t" + strings.Join(strings.SplitAfter(tool, "{"), "\n        ") + "\n"
	if wide := inspect(t, Chat, `{"model":"m","tools":[`+spread+`]}`); wide.Tools != f.Tools {
		t.Errorf("white space between tokens changes the tools from %.1f to %.1f tokens", f.Tools, wide.Tools)
	}
	call := inspect(t, Chat, `{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]}]}`)
	use := inspect(t, Messages, `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"city":"Oslo"}}]}]}`)
	if call.Text < 10 || use.Text < 4 {
		t.Errorf("tool calls in turns count %.1f and %.1f tokens", call.Text, use.Text)
	}
}

func TestInspectImages(t *testing.T) {
	data := "data:image/png;base64," + strings.Repeat("iVBORw0KGgo", 1000)
	f := func(e Endpoint, members string, images int) {
		t.Helper()
		facts := inspect(t, e, `{"model":"m",`+strings.ReplaceAll(members, "DATA", data)+`}`)
		count := NewEstimator().Estimate(facts)
		if facts.Images != images || count.Total < images*imageTokens || count.Total > images*imageTokens+40 || count.Exact {
			t.Errorf("%v %s: %d images, %+v", e, members, facts.Images, count)
		}
	}
	f(Chat, `"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"DATA"}}]}]`, 1)
	f(Chat, `"messages":[{"role":"user","content":[{"image_url":"DATA"},{"image_url":{"url":"DATA"},"type":"image_url"}]}]`, 2)
	f(Chat, `"messages":[{"role":"user","content":[{"type":"text","text":"hi","image_url":null}]}]`, 0)
	f(Chat, `"messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"DATA"}},{"type":"file","file":{"file_data":"DATA"}}]}]`, 0)
	f(Responses, `"input":[{"role":"user","content":[{"type":"input_image","image_url":"DATA"}]}]`, 1)
	f(Messages, `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"DATA"}}]}]`, 1)
	f(Messages, `"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"image","source":{"data":"DATA"}}]}]}]`, 1)
	f(Embeddings, `"images":["DATA","DATA"]`, 2)
}

func TestInspectTurns(t *testing.T) {
	f := func(e Endpoint, members string, turns, frame int) {
		t.Helper()
		got := inspect(t, e, `{"model":"m",`+members+`}`)
		if got.Turns != turns || got.Frame != frame {
			t.Errorf("%v %s: %d turns, frame %d; want %d, %d", e, members, got.Turns, got.Frame, turns, frame)
		}
	}
	f(Chat, `"messages":[{"role":"user","content":"a"}]`, 1, 9)
	f(Chat, `"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}]`, 1, 10)
	f(Chat, `"messages":[{"content":"s","role":"developer"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`, 3, 20)
	f(Messages, `"system":"s","messages":[{"role":"user","content":"a"}]`, 1, 10)
	f(Messages, `"system":null,"messages":[{"role":"user","content":"a"}]`, 1, 9)
	f(Responses, `"input":"a"`, 1, 9)
	f(Responses, `"input":"a","instructions":"s"`, 1, 10)
	f(Completions, `"prompt":"a"`, 0, 1)
	f(Completions, `"prompt":["a","b"]`, 0, 2)
	f(Completions, `"prompt":[1,2]`, 0, 0)
	f(Rerank, `"query":"q","documents":["a","b"]`, 0, 4)
}

// TestInspectEscapes shows that text counts by what it says, not by how it is
// spelled.
func TestInspectEscapes(t *testing.T) {
	f := func(spelled, plain string) {
		t.Helper()
		a := inspect(t, Completions, `{"model":"m","prompt":"`+spelled+`"}`)
		b := inspect(t, Completions, `{"model":"m","prompt":"`+plain+`"}`)
		if a.Text != b.Text {
			t.Errorf("%s counts %v, %s %v", spelled, a.Text, plain, b.Text)
		}
	}
	f(`caf\u00e9 \u4f60\u597d`, `café 你好`)
	f(`\ud83d\ude00 smile`, `😀 smile`)
	f(`\u0068\u0065llo`, `hello`)
	f(`a\/b\/c`, `a/b/c`)
	f(`a\u000ab`, `a\nb`)
}
