package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// told walks a stream and notes all of it.
func told(e Endpoint, stream string) *Told {
	w, t := NewWalker(e, 1, false), new(Told)
	for buf := []byte(stream); ; {
		ev := w.Next(buf)
		if ev.Raw == nil {
			return t
		}
		buf = buf[len(ev.Raw):]
		t.Note(&ev)
	}
}

func TestTold(t *testing.T) {
	f := func(stream, text string, events int) {
		t.Helper()
		got := told(Chat, stream)
		if got.Odd || string(got.Text) != text || got.Events != events {
			t.Errorf("%s: got %+v (%q)", stream, got, got.Text)
		}
	}
	chunk := func(delta string) string {
		return `data: {"id":"c","created":7,"model":"m","choices":[{"index":0,"delta":{` + delta + `},"logprobs":null,"finish_reason":null,"token_ids":null}]}` + "\n\n"
	}
	f("", "", 0)
	f(chunk(`"role":"assistant","content":""`)+": ping\n\n"+chunk(`"content":"a\u00e9\n"`)+chunk(`"content":null,"tool_calls":[]`)+chunk(`"content":" b"`), "aé\n b", 3)
	f(`data: {"choices":[{"text":"x"}]}`+"\n\n", "x", 1)
	role, unseen := chunk(`"role":"assistant","content":""`), chunk(`"content":""`)
	f(role+chunk(``)+unseen+chunk(`"content":"a"`)+unseen+chunk(`"content":"b"`)+unseen, "ab", 5) // what was at the end comes again
	for _, odd := range []string{
		chunk(`"reasoning_content":"hm"`), chunk(`"reasoning":"hm"`), chunk(`"content":"a","tool_calls":[{"index":0}]`), chunk(`"refusal":"no"`),
		chunk(`"audio":{"id":"x"}`), chunk(`"content":[{"text":"a"}]`), strings.Replace(chunk(`"content":"a"`), `"index":0`, `"index":1`, 1),
		strings.Replace(chunk(`"content":"a"`), `"logprobs":null`, `"logprobs":{"content":[1]}`, 1),
		strings.Replace(chunk(`"content":"a"`), `"token_ids":null`, `"token_ids":[7]`, 1),
		strings.Replace(chunk(`"content":"a"`), `"finish_reason":null`, `"finish_reason":"stop"`, 1),
		"data: what?\n\n", "data: [DONE]\n\n", `data: {"choices":[],"usage":{"total_tokens":3}}` + "\n\n", "event: x\ndata: {}\n\n",
	} {
		if got := told(Chat, chunk(`"content":"a"`)+odd+chunk(`"content":"b"`)); !got.Odd || got.Text != nil {
			t.Errorf("after %s: got %+v", odd, got)
		}
	}
}

func TestSequel(t *testing.T) {
	first := told(Chat, `data: {"id":"chatcmpl-1","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}`+"\n\n")
	f := func(prompt int, event, want string) {
		t.Helper()
		ev := NewWalker(Chat, 1, false).Next([]byte(event))
		if got := string(NewSequel(first, prompt, 10).Event([]byte("-"), &ev)); got != "-"+want {
			t.Errorf("%q:\n got %q\nwant %q", event, got, "-"+want)
		}
	}
	f(0, `data: {"id":"chatcmpl-2","object":"o","created":9,"model":"m","choices":[{"id":"x","delta":{"content":"b"}}]}`+"\n\n",
		`data: {"id":"chatcmpl-1","object":"o","created":7,"model":"m","choices":[{"id":"x","delta":{"content":"b"}}]}`+"\n\n")
	f(0, `data: {"choices":[],"usage":{"prompt_tokens":110,"total_tokens":130,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":104,"x":1}}}`+"\n\n",
		`data: {"choices":[],"usage":{"prompt_tokens":100,"total_tokens":130,"completion_tokens":30,"prompt_tokens_details":{"cached_tokens":100,"x":1}}}`+"\n\n")
	f(101, `data: {"usage":{"completion_tokens":20,"prompt_tokens":110,"prompt_tokens_details":null},"id":null}`+"\n\n",
		`data: {"usage":{"completion_tokens":30,"prompt_tokens":101,"prompt_tokens_details":null},"id":"chatcmpl-1"}`+"\n\n")
	f(0, "event: e\r\ndata: {\"id\":\r\ndata: \"2\"}\r\n\r\n", "data: {\"id\": \"chatcmpl-1\"}\n\n")
	for _, asItIs := range []string{"data: [DONE]\n\n", ": ping\n\n", "data: {\"error\":{\"message\":\"x\"}}\r\n\r\n", "data: {\"id\":\n\n", "\n"} {
		f(0, asItIs, asItIs)
	}
}

// FuzzSequel checks that a chunk stays one event of the same kind that says the same,
// but for what must be the first replica's.
func FuzzSequel(f *testing.F) {
	f.Add([]byte(`{"id":"b","created":1,"model":"x","choices":[{"delta":{"content":"b"}}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`), uint8(3))
	f.Add([]byte("{\"usage\":{\"total_tokens\":1e3},\r\n\"id\":{}, \"id\":7}"), uint8(0))
	first := told(Completions, `data: {"id":"a","created":7,"model":"m","choices":[{"index":0,"text":"a"}]}`+"\n\n")
	f.Fuzz(func(t *testing.T, data []byte, tokens uint8) {
		raw := "data: " + strings.NewReplacer("\r\n", "\ndata: ", "\n", "\ndata: ", "\r", "\ndata: ").Replace(string(data)) + "\n\n"
		ev := NewWalker(Completions, 1, false).Next([]byte(raw))
		got := NewSequel(first, 0, int(tokens)).Event(nil, &ev)
		again := NewWalker(Completions, 1, false).Next(got)
		if len(again.Raw) != len(got) || again.Kind != ev.Kind || again.Tokens != ev.Tokens {
			t.Fatalf("%q became %q: kind %d, was %d", raw, got, again.Kind, ev.Kind)
		}
		if _, ok := readChunk(ev.Data); !ok {
			if !bytes.Equal(got, ev.Raw) {
				t.Errorf("what can't be read, %q, became %q", raw, got)
			}
			return
		}
		var was, is map[string]any
		if json.Unmarshal(ev.Data, &was) != nil || json.Unmarshal(again.Data, &is) != nil {
			t.Fatalf("%q became %q", raw, got)
		}
		if _, given := was["id"]; given && fmt.Sprint(is["id"]) != "a" {
			t.Errorf("%q became %q", raw, got)
		}
		for _, name := range []string{"id", "created", "model", "usage"} {
			delete(was, name)
			delete(is, name)
		}
		if !reflect.DeepEqual(was, is) {
			t.Errorf("%q became %q", raw, got)
		}
	})
}

// FuzzTold checks that whatever a replica sends, what is kept of it is a text with
// the events that bore it, or nothing.
func FuzzTold(f *testing.F) {
	f.Add("data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\ud83d\\ude00 a\\n\"}}]}\n\ndata: {\"choices\":[{\"text\":\"b\"}],\"usage\":{\"completion_tokens\":2}}\n\n")
	f.Add(": ping\n\ndata: {\"choices\":[{\"delta\":{\"delta\":{\"content\":[[\"a\"]]}}}]}\n\n")
	f.Add("data: {\"choices\":{}}\n\ndata: {\"choices\":[7]}\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		for _, e := range []Endpoint{Chat, Completions} {
			got := told(e, stream)
			if !got.Odd && (!utf8.Valid(got.Text) || (len(got.Text) > 0) != (got.Events > 0)) {
				t.Errorf("%q: %+v", stream, got)
			}
		}
	})
}
