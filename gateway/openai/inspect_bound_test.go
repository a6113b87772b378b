package openai

import (
	"fmt"
	"strings"
	"testing"
)

// TestInspectBoundCostumes gives max_tokens in every costume that clients were
// seen to send.
func TestInspectBoundCostumes(t *testing.T) {
	costumes := []struct {
		value string
		want  int
	}{
		{"null", -1}, {"0", -1}, {"-1", -1}, {"1", 1}, {"100.0", 100}, {"1e3", 1000}, {"6000.5", -1}, {`"100"`, 100},
		{`" 100 "`, 100}, {`"1e3"`, -1}, {`"inf"`, -1}, {`""`, -1}, {"true", 1}, {"false", -1}, {"2147483648", 1<<31 - 1},
		{"9223372036854775808", 1<<31 - 1}, {"1e400", -1}, {"[]", -1}, {"{}", -1}, {"-0", -1}, {"1000000000", 1e9}, {`"\u0031"`, 1}, {`"\t100\n"`, 100},
	}
	for _, c := range costumes {
		body := fmt.Sprintf(`{"model":"m","max_tokens":%s}`, c.value)
		if got := inspect(t, Chat, body).OutBound; got != c.want {
			t.Errorf("%s: bound %d, want %d", body, got, c.want)
		}
		body = fmt.Sprintf(`{"model":"m","max_tokens":8000,"max_completion_tokens":%s}`, c.value)
		want := c.want
		if want == -1 {
			want = 8000
		}
		if got := inspect(t, Chat, body).OutBound; got != want {
			t.Errorf("%s: bound %d, want %d", body, got, want)
		}
	}
}

func TestInspectBound(t *testing.T) {
	f := func(e Endpoint, members string, want int) {
		t.Helper()
		if got := inspect(t, e, `{"model":"m"`+members+`}`).OutBound; got != want {
			t.Errorf("%v %s: bound %d, want %d", e, members, got, want)
		}
	}
	f(Chat, ``, -1)
	f(Chat, `,"max_completion_tokens":50,"max_tokens":8000`, 50)
	f(Chat, `,"max_tokens":50,"max_completion_tokens":8000`, 8000)
	f(Chat, `,"max_output_tokens":5`, -1)
	f(Completions, ``, 16)
	f(Completions, `,"max_tokens":null`, 16)
	f(Completions, `,"max_tokens":300`, 300)
	f(Completions, `,"max_tokens":0`, 16)
	f(Completions, `,"max_tokens":0,"echo":true`, 1)
	f(Completions, `,"max_completion_tokens":5`, 16)
	f(Responses, `,"max_output_tokens":70,"max_tokens":5`, 70)
	f(Responses, `,"max_tokens":5`, -1)
	f(Messages, `,"max_tokens":1024`, 1024)
	f(Messages, ``, -1)
	f(Embeddings, `,"max_tokens":5`, 0)
	f(Tokenize, ``, 0)
	f(Extra, ``, -1)
}

func TestInspectBoundOfShapes(t *testing.T) {
	f := func(e Endpoint, members string, low, high int) {
		t.Helper()
		if got := inspect(t, e, `{"model":"m"`+members+`}`).OutBound; got < low || got > high {
			t.Errorf("%v %s: bound %d, want %d to %d", e, members, got, low, high)
		}
	}
	f(Chat, `,"structured_outputs":{"choice":["yes","no"]}`, 2, 4)
	f(Chat, `,"max_tokens":500,"structured_outputs":{"choice":["yes","no"]}`, 2, 4)
	f(Chat, `,"max_tokens":1,"structured_outputs":{"choice":["yes","no"]}`, 1, 1)
	f(Completions, `,"structured_outputs":{"choice":["a rather long answer that has about ten words","no"]}`, 9, 16)
	f(Chat, `,"structured_outputs":{"choice":[]}`, -1, -1)
	f(Chat, `,"structured_outputs":{"regex":"a*"}`, -1, -1)
	f(Chat, `,"structured_outputs":{"json":{"type":"boolean"}}`, 2, 3)
	f(Chat, `,"structured_outputs":{"json":"{\"enum\":[\"red\",\"green\"]}"}`, 3, 8)
	f(Chat, `,"guided_choice":["yes","no"]`, -1, -1)
	f(Chat, `,"response_format":{"type":"json_object"}`, -1, -1)
	f(Chat, `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"boolean"}}}`, 2, 3)
	f(Chat, `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"string","enum":["spam","ham",null,3]}}}`, 3, 8)
	f(Chat, `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"const":"x"}}}`, 3, 8)
	f(Chat, `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object","properties":{"a":{"enum":["b"]}}}}}`, -1, -1)
	f(Responses, `,"text":{"format":{"type":"json_schema","name":"n","schema":{"enum":["spam","ham"]}}}`, 3, 8)
	f(Messages, `,"structured_outputs":{"choice":["yes"]}`, -1, -1)
}

func TestInspectSequences(t *testing.T) {
	f := func(e Endpoint, members string, prompts, sequences int) {
		t.Helper()
		got := inspect(t, e, `{"model":"m",`+members+`}`)
		if got.Prompts != prompts || got.Sequences != sequences {
			t.Errorf("%v %s: %d prompts, %d sequences; want %d, %d", e, members, got.Prompts, got.Sequences, prompts, sequences)
		}
	}
	f(Chat, `"n":8`, 1, 8)
	f(Chat, `"n":"\u0038"`, 1, 8)
	f(Chat, `"n":0`, 1, 1)
	f(Chat, `"n":null,"best_of":8`, 1, 1)
	f(Chat, `"n":1e9`, 1, 1e9)
	f(Completions, `"n":3,"prompt":["a","b"]`, 2, 6)
	f(Completions, `"prompt":[[1,2],[3]]`, 2, 2)
	f(Completions, `"prompt":[1,2,3]`, 1, 1)
	f(Completions, `"prompt":[]`, 1, 1)
	f(Completions, `"n":2147483647,"prompt":["a","b"]`, 2, 1<<31-1)
	f(Embeddings, `"n":3,"input":["a","b","c"]`, 3, 3)
	f(Embeddings, `"messages":[{"role":"user","content":"a"}]`, 1, 1)
	f(Rerank, `"query":"q","documents":["a","b",{"text":"c"}]`, 3, 3)
	f(Score, `"text_1":["a","b"],"text_2":["a","b"]`, 2, 2)
	f(Score, `"text_1":"a","text_2":"b"`, 1, 1)

	if got := inspect(t, Chat, `{"model":"m","best_of":8,"min_tokens":5,"ignore_eos":true}`); got.BestOf != 8 || got.MinTokens != 5 || !got.IgnoreEOS {
		t.Errorf("hints: %+v", got)
	}
}

func TestInspectIDs(t *testing.T) {
	f := func(members string, total, longest int) {
		t.Helper()
		facts := inspect(t, Completions, `{"model":"m",`+members+`}`)
		count := NewEstimator().Estimate(facts)
		if !count.Exact || count.Total != total || count.Longest != longest || count.LongestSurely != longest {
			t.Errorf("%.60s: %+v, want %d in all, longest %d", members, count, total, longest)
		}
	}
	f(`"prompt":[1,2,3]`, 3, 3)
	f(`"prompt":[[1,2],[3]]`, 3, 2)
	f(`"prompt":[`+strings.Repeat("7,", 9999)+`262143]`, 10_000, 10_000)
}
