package openai

import (
	"errors"
	"strings"
	"testing"
)

// inspect is Inspect for bodies that must be good.
func inspect(t *testing.T, e Endpoint, body string) *Facts {
	t.Helper()
	f, err := Inspect(e, []byte(body), 200)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return f
}

func TestInspectModel(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		if got := inspect(t, Chat, body).Model; got != want {
			t.Errorf("%s: model %q, want %q", body, got, want)
		}
	}
	f(`{"model":"gemma-3"}`, "gemma-3")
	f(`{"messages":5,"model":"a\u002fb\"c"}`, `a/b"c`)
	f(`{"mod\u0065l":"m"}`, "m")
	f(`{"model":"m","Model":"x","MODEL":1,"model ":2}`, "m")
	f(`{"metadata":{"model":"x"},"model":"m"}`, "m")
}

func TestInspectBadBody(t *testing.T) {
	f := func(e Endpoint, body, param, want string) {
		t.Helper()
		_, err := Inspect(e, []byte(body), 200)
		var bad *BadBody
		if !errors.As(err, &bad) || bad.Param != param || !strings.Contains(bad.Message, want) {
			t.Errorf("%.80s: got %#v, want param %q and %q", body, err, param, want)
		}
	}
	f(Chat, ``, "", "at byte 0")
	f(Chat, `null`, "", "must be an object")
	f(Chat, `[]`, "", "must be an object")
	f(Chat, `"x"`, "", "must be an object")
	f(Chat, strings.Repeat(" ", 5<<20), "", "ends where a value should be")
	f(Chat, `{}`, "model", "model is missing")
	f(Chat, `{"model":null}`, "model", "model is missing")
	f(Chat, `{"model":""}`, "model", "model is missing")
	f(Chat, `{"model":7}`, "model", "must be a string")
	f(Extra, `{"model":["a"]}`, "model", "must be a string")
	f(Chat, `{"model":"m"} {}`, "", "after the end")
	f(Chat, `{"model":"m","messages":[{]}`, "", "at byte 26")
	f(Chat, `{"model":"m","messages":[{"content":"\`, "", "at byte 38: it ends inside a string")
	f(Chat, `{"model":"m","messages":[{"content":"\u00`, "", "four hex digits")
	f(Chat, `{"model":"m","x":`+strings.Repeat("[", 10_000), "", "limits.json_depth=200")
	f(Chat, `{"model":"m","messages":[{"content":`+strings.Repeat(`[{"content":`, 10_000), "", "limits.json_depth=200")
	f(Chat, `{"model":"m","model":"x"}`, "model", "given twice")
	f(Chat, `{"model":"m","mod\u0065l":"x"}`, "model", "given twice")
	f(Chat, `{"\u006dodel":"m","model":"x"}`, "model", "given twice")
	f(Chat, `{"model":"m","max_tokens":1,"max_tokens":9}`, "max_tokens", "given twice, the second time at byte 28")
	f(Chat, `{"model":"m","stream":true,"stream":false}`, "stream", "given twice")
	f(Chat, `{"model":"m","messages":[],"messages":[]}`, "messages", "given twice")
	f(Chat, `{"model":"m","stream_options":{"include_usage":true,"include_usage":false}}`, "stream_options", "given twice")
	f(Chat, `{"model":"m","response_format":{"json_schema":{},"json_schema":{}}}`, "json_schema", "given twice")
	f(Completions, `{"model":"m","structured_outputs":{"choice":["a"],"choice":["b"]}}`, "choice", "given twice")
	f(Chat, `{"model":"m"`+strings.Repeat(`,"k":0`, 100_000)+`}`, "", "more than 1024 members")
}

// TestInspectLeavesToReplica shows bodies that are odd, and none of our business.
func TestInspectLeavesToReplica(t *testing.T) {
	deep := `{"model":"m","tools":` + strings.Repeat("[", 199) + strings.Repeat("]", 199) + `}`
	for _, body := range []string{
		`{"model":"m"}`, `{"model":"m","messages":[]}`, `{"model":"m","messages":null}`, `{"model":"m","messages":5}`,
		`{"model":"m","messages":[null,1,"x",[]]}`, `{"model":"m","messages":[{}]}`, `{"model":"m","messages":[{"role":"user"}]}`,
		`{"model":"m","messages":{"role":"user"}}`, `{"model":"m","messages":[{"role":5,"content":{"a":[1]}}]}`,
		`{"model":"m","messages":[{"content":[{"type":7,"text":null},[],3,null]}]}`,
		`{"model":"m","stream_options":5,"tools":7,"n":"x","response_format":[]}`,
		`{"model":"m","structured_outputs":{"choice":5,"json":"not json"},"response_format":{"json_schema":[1]}}`,
		`{"model":"m","seed":1,"seed":2}`, deep,
	} {
		for e := Chat; e <= Extra; e++ {
			if f := inspect(t, e, body); f.Model != "m" || f.Sequences != 1 || f.Prompts != 1 {
				t.Errorf("%v %.60s: %d sequences, %d prompts", e, body, f.Sequences, f.Prompts)
			}
		}
	}
	if f := inspect(t, Extra, `{}`); f.Model != "" {
		t.Error("an extra path needs no model")
	}
}

func TestInspectStream(t *testing.T) {
	f := func(body string, stream, asked, asks bool) {
		t.Helper()
		got := inspect(t, Chat, body)
		if got.Stream != stream || got.UsageAsked != asked || got.AsksUsage() != asks {
			t.Errorf("%s: stream %v, usage asked %v, asks %v", body, got.Stream, got.UsageAsked, got.AsksUsage())
		}
	}
	f(`{"model":"m"}`, false, false, false)
	f(`{"model":"m","stream":null}`, false, false, false)
	f(`{"model":"m","stream":true}`, true, false, true)
	f(`{"model":"m","stream":1}`, true, false, true)
	f(`{"model":"m","stream":"True"}`, true, false, true)
	f(`{"model":"m","stream":"nope"}`, false, false, false)
	f(`{"model":"m","stream":0.5}`, false, false, false)
	f(`{"model":"m","stream":true,"stream_options":null}`, true, false, true)
	f(`{"model":"m","stream":true,"stream_options":{}}`, true, false, true)
	f(`{"model":"m","stream":true,"stream_options":{"include_usage":false}}`, true, false, true)
	f(`{"model":"m","stream":true,"stream_options":{"include_usage":null}}`, true, false, true)
	f(`{"model":"m","stream":true,"stream_options":{"include_usage":true}}`, true, true, false)
	f(`{"model":"m","stream":true,"stream_options":{"include_usage":true,"x":0}}`, true, true, false)
	f(`{"model":"m","stream":true,"stream_options":{"include_usage":"what"}}`, true, false, false)
	f(`{"model":"m","stream":true,"stream_options":{"continuous_usage_stats":true}}`, true, false, false)
	f(`{"model":"m","stream":true,"stream_options":{"continuous_usage_stats":false}}`, true, false, true)
	f(`{"model":"m","stream":true,"stream_options":[]}`, true, false, false)
	f(`{"model":"m","stream_options":{"include_usage":true}}`, false, true, false)
}

func TestInspectState(t *testing.T) {
	f := func(e Endpoint, body, want string) {
		t.Helper()
		if got := inspect(t, e, body).StateField; got != want {
			t.Errorf("%v %s: %q, want %q", e, body, got, want)
		}
	}
	f(Responses, `{"model":"m","previous_response_id":"r1"}`, "previous_response_id")
	f(Responses, `{"model":"m","previous_response_id":null}`, "")
	f(Responses, `{"model":"m","conversation":{"id":"c"}}`, "conversation")
	f(Responses, `{"model":"m","background":true}`, "background")
	f(Responses, `{"model":"m","background":false,"store":false}`, "")
	f(Responses, `{"model":"m","store":true}`, "store")
	f(Responses, `{"model":"m","store":null,"background":true,"conversation":"c"}`, "background")
	f(Chat, `{"model":"m","store":true,"previous_response_id":"r"}`, "")
}

func TestFactsField(t *testing.T) {
	f := inspect(t, Chat, `{"model":"m","seed":1,"logit_bias":null,"us\u0065r":"u","x":{"inner":1}}`)
	for name, want := range map[string]bool{"seed": true, "logit_bias": false, "user": true, "x": true, "inner": false, "Seed": false, "model": true, "": false} {
		if f.Field(name) != want {
			t.Errorf("Field(%q) = %v", name, !want)
		}
	}
}

// TestFactsReuse uses facts again after a body with more members than there is
// room for without allocation.
func TestFactsReuse(t *testing.T) {
	big := `{"model":"m"` + strings.Repeat(`,"k":null`, 100) + `,"last":1}`
	f := inspect(t, Chat, big)
	if !f.Field("last") || f.Field("k") {
		t.Error("members beyond the first are lost")
	}
	if err := f.Inspect(Chat, []byte(`{"model":"n"}`), 200); err != nil || f.Model != "n" || f.Field("last") {
		t.Errorf("used again: %v, model %q", err, f.Model)
	}
	if err := f.Inspect(Chat, []byte(`{`), 200); err == nil {
		t.Error("a bad body passed because the one before was good")
	}
}

func TestInspectAllocations(t *testing.T) {
	body := chatBody(16 << 10)
	if n := testing.AllocsPerRun(100, func() { inspect(t, Chat, string(body)) }); n > 4 { // two are the conversions to and from string
		t.Errorf("%v allocations, want the facts and the model's name", n)
	}
	var f Facts
	if n := testing.AllocsPerRun(100, func() { _ = f.Inspect(Chat, body, 200) }); n > 1 {
		t.Errorf("%v allocations when facts are used again, want the model's name", n)
	}
}
