package openai

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

var fuzzSeeds = []string{
	`{}`, `{"model":"m"}`, `{"model":"m","stream":true,"stream_options":{"include_usage":false}}`, `[1,2.5e-7,-0,"\u00e9\ud83d\ude00"]`,
	`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}}]}],"max_tokens":5}`,
	`{"mod\u0065l":"m","max_tokens":1e2,"max_completion_tokens":null,"n":"3","seed":1,"seed":2}`,
	`{"model":"m","structured_outputs":{"choice":["yes","no"],"json":"{\"enum\":[1]}"},"response_format":{"json_schema":{"schema":{"type":"boolean"}}}}`,
	`{"model":"m","prompt":[[1,2],[3]],"input":["a"],"query":"q","documents":["d"]}`, `{"a":"\ud800"}`, "{\"model\":\"\xff\"}", ` {"model" : "m" , "seed":[{}] } `,
	`{"model":"m","tools":[{"function":{"name":"f"}}],"previous_response_id":"r","store":true,"truncate_prompt_tokens":-1}`,
}

// FuzzInspect compares every verdict with jsontext's. The two differ on purpose
// where the grammar and Python allow what jsontext does not: lone surrogates.
func FuzzInspect(f *testing.F) {
	for _, seed := range fuzzSeeds {
		for _, e := range []Endpoint{Chat, Completions, Responses, Messages, Embeddings, Score, Extra} {
			f.Add(byte(e), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		e := Chat + Endpoint(which)%(Extra-Chat+1)
		facts, err := Inspect(e, body, 200)
		var bad *BadBody
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("error %v is no *BadBody", err)
		}
		if bad != nil && (bad.Param != "" || strings.Contains(bad.Message, "members")) {
			return // refused for its fields, before the rest was read
		}
		if want := referenceAccepts(body); (err == nil) != want && !hasLoneSurrogate(body) {
			t.Fatalf("%q: got %v, but jsontext accepts: %v", body, err, want)
		}
		if err == nil && !hasLoneSurrogate(body) {
			checkFacts(t, facts, body)
		}
		if err == nil {
			checkConversation(t, facts, body)
		}
	})
}

// checkConversation: a turn that continues another is one itself, and differs.
func checkConversation(t *testing.T, facts *Facts, body []byte) {
	t.Helper()
	if now, before := facts.Conversation(body); before != 0 && (now == 0 || now == before) {
		t.Fatalf("%q is turn %x after turn %x", body, now, before)
	}
}

// referenceAccepts says whether jsontext takes the body for one object, not too
// deep.
func referenceAccepts(body []byte) bool {
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return false
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	for {
		_, err := d.ReadToken()
		if err == io.EOF {
			return true
		}
		if err != nil || d.StackDepth() > 200 {
			return false
		}
		if d.StackDepth() == 0 && len(bytes.TrimLeft(body[d.InputOffset():], " \t\r\n")) > 0 {
			return false
		}
	}
}

// hasLoneSurrogate looks for an escape that could be one.
func hasLoneSurrogate(body []byte) bool {
	return bytes.Contains(bytes.ToLower(body), []byte(`\ud`))
}

// checkFacts compares what can be seen by decoding as well.
func checkFacts(t *testing.T, facts *Facts, body []byte) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatalf("accepted %q: %v", body, err)
	}
	var model string
	if json.Unmarshal(members["model"], &model) == nil && model != facts.Model {
		t.Fatalf("%q: model %q, want %q", body, facts.Model, model)
	}
	var stream bool
	generates := facts.Endpoint.Generates() && !facts.Endpoint.Pools()
	if json.Unmarshal(members["stream"], &stream) == nil && generates && members["stream"][0] != '"' && stream != facts.Stream {
		t.Fatalf("%q: stream %v", body, facts.Stream)
	}
	var bound uint16
	name := map[Endpoint]string{Chat: "max_completion_tokens", Responses: "max_output_tokens", Messages: "max_tokens"}[facts.Endpoint]
	if name != "" && json.Unmarshal(members[name], &bound) == nil && bound > 0 && facts.OutBound > int(bound) {
		t.Fatalf("%q: bound %d, want at most %d", body, facts.OutBound, bound)
	}
	for name, value := range members {
		if utf8Safe(name) && len(name) < 40 && facts.Field(name) != (string(value) != "null") && !repeated(body) {
			t.Fatalf("%q: Field(%q) = %v for %s", body, name, facts.Field(name), value)
		}
	}
	if facts.Text < 0 || facts.Text > float64(len(body)) || facts.Longest > facts.Text && facts.Prompts == 1 {
		if !facts.Endpoint.Pools() {
			t.Fatalf("%q: text of %v tokens, longest %v", body, facts.Text, facts.Longest)
		}
	}
}

func utf8Safe(name string) bool { return !strings.ContainsRune(name, '\ufffd') }

// repeated reports whether any member is given twice, at any depth.
func repeated(body []byte) bool { return !jsontext.Value(body).IsValid() }

// FuzzSplice edits whatever passes, and compares the result with the same edit
// made by decoding.
func FuzzSplice(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add([]byte(seed), "served", true)
	}
	f.Fuzz(func(t *testing.T, body []byte, model string, ask bool) {
		facts, err := Inspect(Chat, body, 200)
		if err != nil || repeated(body) {
			return
		}
		edit := Edit{Model: strings.ToValidUTF8(model, ""), AskUsage: ask, Strip: []string{"seed", "x"}}
		got := bytes.Join(facts.Splice(nil, slices.Clone(body), edit), nil)
		if !jsontext.Value(got).IsValid() {
			t.Fatalf("%q became %q", body, got)
		}
		compareSplice(t, facts, body, got, edit)
		again, err := Inspect(Chat, got, 200)
		if err != nil || edit.Model != "" && again.Model != edit.Model || again.AsksUsage() && ask {
			t.Fatalf("%q became %q: %v", body, got, err)
		}
	})
}

// compareSplice checks that members are the same but for the edit.
func compareSplice(t *testing.T, facts *Facts, body, got []byte, e Edit) {
	t.Helper()
	var before, after map[string]json.RawMessage
	if json.Unmarshal(body, &before) != nil || json.Unmarshal(got, &after) != nil {
		t.Fatalf("%q became %q", body, got)
	}
	delete(before, "seed")
	delete(before, "x")
	if e.Model != "" {
		delete(before, "model")
		delete(after, "model")
	}
	if e.AskUsage && facts.AsksUsage() {
		delete(before, "stream_options")
		delete(after, "stream_options")
	}
	for name, value := range before {
		if !bytes.Equal(after[name], value) {
			t.Fatalf("%q became %q: member %q", body, got, name)
		}
	}
	if len(before) != len(after) {
		t.Fatalf("%q became %q", body, got)
	}
}
