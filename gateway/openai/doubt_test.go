package openai

import "testing"

func TestDoubt(t *testing.T) {
	const unknown = -1
	for _, tc := range []struct {
		name   string
		e      Endpoint
		body   string
		said   int
		tokens int // completion tokens by the replica's count
		want   Doubt
	}{
		{"an answer", Chat, `"messages":[]`, 5, 5, NoDoubt},
		{"several tokens in an event", Chat, `"messages":[]`, 5, 50, NoDoubt},
		{"not counted", Chat, `"messages":[]`, 5, unknown, NoDoubt},
		{"the token that ends, alone", Chat, `"messages":[]`, 0, 1, NoDoubt},
		{"hidden reasoning alone", Responses, `"input":"a"`, 0, 300, NoDoubt},
		{"nothing", Chat, `"messages":[]`, 0, 0, NothingSaid},
		{"nothing, not counted", Completions, `"prompt":"a"`, 0, unknown, NothingSaid},
		{"nothing in a response", Responses, `"input":"a"`, 0, 0, NothingSaid},
		{"nothing in a message", Messages, `"messages":[],"max_tokens":5`, 0, 0, NothingSaid},
		{"vectors", Embeddings, `"input":"a"`, 0, 0, NoDoubt},
		{"ids", Tokenize, `"prompt":"a"`, 0, unknown, NoDoubt},
		{"a prompt alone, echoed", Completions, `"prompt":"a","echo":true,"max_tokens":0`, 1, 0, NoDoubt},
		{"said, counted as nothing", Chat, `"messages":[]`, 3, 0, UsageContradicts},
		{"said, counted as nothing, in a response", Responses, `"input":"a"`, 3, 0, UsageContradicts},
		{"said, counted as nothing, in a message", Messages, `"messages":[],"max_tokens":5`, 3, 0, UsageContradicts},
		{"fewer tokens than events", Completions, `"prompt":"a"`, 3, 2, UsageContradicts},
		{"fewer tokens than events, of a parser", Chat, `"messages":[],"tools":[{"type":"function","function":{"name":"f"}}]`, 3, 2, NoDoubt},
		{"fewer tokens than events, of a message", Messages, `"messages":[],"max_tokens":5`, 3, 2, NoDoubt},
		{"to the bound", Chat, `"messages":[],"max_tokens":5`, 5, 5, NoDoubt},
		{"above the bound", Chat, `"messages":[],"max_tokens":5`, 5, 6, UsageContradicts},
		{"above the usual bound", Completions, `"prompt":"a"`, 5, 17, UsageContradicts},
		{"the newer bound counts", Chat, `"messages":[],"max_tokens":5,"max_completion_tokens":9`, 5, 9, NoDoubt},
		{"a bound for each sequence", Completions, `"prompt":["a","b"],"n":2,"max_tokens":5`, 20, 20, NoDoubt},
		{"above that of each sequence", Completions, `"prompt":["a","b"],"n":2,"max_tokens":5`, 20, 21, UsageContradicts},
		{"turns with tools of its own", Responses, `"input":"a","max_output_tokens":5`, 5, 20, NoDoubt},
		{"above what it may choose from", Chat, `"messages":[],"structured_outputs":{"choice":["a","b"]}`, 5, 40, NoDoubt},
		{"a bound beyond all numbers", Chat, `"messages":[],"max_tokens":9007199254740991,"n":1000000`, 5, 40, NoDoubt},
	} {
		f := inspect(t, tc.e, `{"model":"m",`+tc.body+`}`)
		if got := f.Doubt(tc.said, Usage{CompletionTokens: max(tc.tokens, 0)}, tc.tokens != unknown); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
