package openai

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// TestContinuable: every shape that can be gone on with, and those that can't.
func TestContinuable(t *testing.T) {
	f := func(e Endpoint, members string, want bool) {
		t.Helper()
		body := `{"model":"m","stream":true,` + members + `}`
		if got := inspect(t, e, body).Continuable([]byte(body)); got != want {
			t.Errorf("%v of %s: got %v", e, body, got)
		}
	}
	const asked = `"messages":[{"role":"system","content":"s"},{"content":"hi","role":"user"}]`
	f(Chat, asked, true)
	f(Chat, asked+`,"max_tokens":5,"max_completion_tokens":6,"temperature":1,"top_p":0.5,"n":1,"user":"u","stream_options":{"include_usage":true}`, true)
	f(Chat, asked+`,"tools":null,"stop":[],"presence_penalty":0,"frequency_penalty" : 0.0 ,"logprobs":false,"seed":null`, true)
	f(Chat, `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"what?"}]}]`, true)
	f(Completions, `"prompt":"hi"`, true)
	f(Completions, `"prompt" : "hi","echo":false,"max_tokens":null`, true)

	for _, more := range []string{
		`"n":2`, `"tools":[{"type":"function"}]`, `"tool_choice":"auto"`, `"response_format":{"type":"text"}`, `"structured_outputs":{"regex":"a"}`,
		`"logprobs":true`, `"top_logprobs":1`, `"seed":0`, `"stop":"x"`, `"stop_token_ids":[1]`, `"min_tokens":3`, `"presence_penalty":0.1`,
		`"frequency_penalty":-1`, `"logit_bias":{"1":2}`, `"continue_final_message":false`, `"continue_final_message":null`, `"add_generation_prompt":null`,
		`"chat_template":"x"`, `"reasoning_effort":"low"`, `"skip_special_tokens":false`, `"a_field_of_next_year":1`, `"se\u0065d":1`,
	} {
		f(Chat, asked+","+more, false)
	}
	for _, more := range []string{`"suffix":"x"`, `"echo":true`, `"best_of":2`, `"logprobs":1`, `"prompt_logprobs":1`, `"return_token_ids":true`} {
		f(Completions, `"prompt":"hi",`+more, false)
	}
	f(Chat, `"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"I"}]`, false)
	f(Chat, `"messages":[{"role":"user","content":"hi"},{"role":"tool","content":"7"}]`, false)
	f(Chat, `"messages":[{"role":"user","content":"hi"},7]`, false)
	f(Chat, `"messages":[]`, false)
	f(Chat, `"messages":null`, false)
	f(Completions, `"prompt":["hi"]`, false)
	f(Completions, `"prompt":["a","b"]`, false)
	f(Completions, `"prompt":[1,2]`, false)
	f(Completions, `"prompt":[[1,2]]`, false)
	f(Responses, `"input":"hi"`, false)
	f(Messages, `"max_tokens":5,"messages":[{"role":"user","content":"hi"}]`, false)
	body := []byte(`{"model":"m",` + asked + `}`)
	if inspect(t, Chat, string(body)).Continuable(body) {
		t.Error("an answer that isn't streamed can be gone on with")
	}
}

// TestSpliceOfTheRest: what another replica is asked for.
func TestSpliceOfTheRest(t *testing.T) {
	f := func(e Endpoint, body string, left int, want string) {
		t.Helper()
		edit := Edit{Model: "s", AskUsage: true, Strip: []string{"user"}, Rest: &Rest{Text: []byte("a \"b\"\n"), Left: left}}
		got := string(bytes.Join(inspect(t, e, body).Splice(nil, []byte(body), edit), nil))
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\n got %s\nwant %s", body, got, want)
		}
	}
	const turn = `,{"role":"assistant","content":"a \"b\"\u000a"}`
	const front = `"continue_final_message":true,"add_generation_prompt":false,`
	const ask = `,"stream_options":{"include_usage":true}}`
	f(Chat, `{"model":"m","stream":true,"messages":[{"role":"user"}]}`, -1, `{`+front+`"model":"s","stream":true,"messages":[{"role":"user"}`+turn+`]`+ask)
	f(Chat, `{ "user":"u", "messages" : [ {"role":"user"} ] ,"model":"m","stream":true}`, -1, `{ `+front+`"messages" : [ {"role":"user"}`+turn+` ] ,"model":"s","stream":true`+ask)
	f(Chat, `{"max_tokens":9,"messages":[{"role":"user"}],"stream":true,"model":"m","max_completion_tokens":"8"}`, 5,
		`{`+front+`"max_tokens":5,"messages":[{"role":"user"}`+turn+`],"stream":true,"model":"s","max_completion_tokens":5`+ask)
	f(Chat, `{"max_tokens":null,"messages":[{"role":"user"}],"stream":true,"model":"m","max_completion_tokens":8}`, 5,
		`{`+front+`"max_tokens":null,"messages":[{"role":"user"}`+turn+`],"stream":true,"model":"s","max_completion_tokens":5`+ask)
	f(Completions, `{"model":"m","prompt":"say","stream":true}`, 11, `{"max_tokens":11,"model":"s","prompt":"saya \"b\"\u000a","stream":true`+ask)
	f(Completions, `{"prompt" : "say\\" ,"max_tokens":null,"model":"m","stream":true,"user":"u"}`, 11, `{"prompt" : "say\\a \"b\"\u000a" ,"max_tokens":11,"model":"s","stream":true`+ask)
}

func TestCanGoOn(t *testing.T) {
	f := func(e Endpoint, text string, want bool) {
		t.Helper()
		if e.CanGoOn([]byte(text)) != want {
			t.Errorf("%v of %q: want %v", e, text, want)
		}
	}
	for _, e := range []Endpoint{Chat, Completions} {
		f(e, "a", true)
		f(e, "wörd 東", true)
		f(e, "", false)
		f(e, "a\xff", false)
		f(e, "a\ufffd", false)
	}
	f(Chat, "a ", false)
	f(Chat, "\n\na", false)
	f(Completions, "a\n ", true)
}

// FuzzRest checks that a body with which a replica goes on says what the client's
// said, and what is to be gone on with, and nothing else.
func FuzzRest(f *testing.F) {
	f.Add([]byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}],"max_tokens":7}`), "a\"\x00é", uint8(3))
	f.Add([]byte(`{"max_completion_tokens":"7","model":"m","stream":1,"max_tokens":7,"messages":[{"role":"us\u0065r"} ] }`), "a", uint8(0))
	f.Add([]byte(` {"prompt":"x\ud83d","model":"m","stream":"true","user":{},"user":7}`), "\\", uint8(9))
	f.Fuzz(func(t *testing.T, body []byte, text string, left uint8) {
		for _, e := range []Endpoint{Chat, Completions} {
			facts, err := Inspect(e, body, MaxDepth)
			if err != nil || !facts.Continuable(body) || !e.CanGoOn([]byte(text)) {
				continue
			}
			rest := &Rest{Text: []byte(text), Left: min(facts.OutBound, int(left))}
			got := bytes.Join(facts.Splice(nil, body, Edit{Rest: rest}), nil)
			if again, err := Inspect(e, got, MaxDepth); err != nil || again.OutBound >= 0 && rest.Left > 0 && again.OutBound != rest.Left {
				t.Fatalf("%s became %s: %v", body, got, err)
			}
			if want := askedFor(t, e, body, rest); !reflect.DeepEqual(objectOf(t, got), want) {
				t.Errorf("%s became %s, want %v", body, got, want)
			}
		}
	})
}

func objectOf(t *testing.T, body []byte) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal(body, &object); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return object
}

// askedFor makes the object that a body is to become.
func askedFor(t *testing.T, e Endpoint, body []byte, rest *Rest) map[string]any {
	t.Helper()
	object := objectOf(t, body)
	if e == Chat {
		turn := map[string]any{"role": "assistant", "content": string(rest.Text)}
		object["messages"] = append(object["messages"].([]any), turn)
		object["continue_final_message"], object["add_generation_prompt"] = true, false
	} else {
		object["prompt"] = object["prompt"].(string) + string(rest.Text)
	}
	if rest.Left < 0 {
		return object
	}
	bounded := false
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if value, given := object[name]; given && (value != nil || e == Completions) {
			object[name], bounded = float64(rest.Left), true
		}
	}
	if !bounded {
		object["max_tokens"] = float64(rest.Left)
	}
	return object
}
