package openai

import (
	"bytes"
	"testing"
)

func TestSplice(t *testing.T) {
	f := func(body string, e Edit, want string) {
		t.Helper()
		facts := inspect(t, Chat, body)
		if got := string(bytes.Join(facts.Splice(nil, []byte(body), e), nil)); got != want {
			t.Errorf("%s with %+v:\n got %s\nwant %s", body, e, got, want)
		}
	}
	// The model.
	f(`{"model":"a"}`, Edit{}, `{"model":"a"}`)
	f(`{"model":"a"}`, Edit{Model: "a"}, `{"model":"a"}`)
	f(`{"model":"\u0061"}`, Edit{Model: "a"}, `{"model":"\u0061"}`)
	f(`{"model":"a"}`, Edit{Model: "google/gemma-3-27b-it"}, `{"model":"google/gemma-3-27b-it"}`)
	f(` { "x" : 1 , "model" : "a" , "y":2 } `+"\n", Edit{Model: "b"}, ` { "x" : 1 , "model" : "b" , "y":2 } `+"\n")
	f(`{"mod\u0065l":"a"}`, Edit{Model: "q\"\\\n\x01é\xff"}, `{"mod\u0065l":"q\"\\\u000a\u0001é�"}`)

	// Asking for usage.
	ask := Edit{AskUsage: true}
	f(`{"model":"a"}`, ask, `{"model":"a"}`)
	f(`{"model":"a","stream":false}`, ask, `{"model":"a","stream":false}`)
	f(`{"model":"a","stream":true}`, ask, `{"model":"a","stream":true,"stream_options":{"include_usage":true}}`)
	f(`{"model":"a","stream":true  }  `, ask, `{"model":"a","stream":true,"stream_options":{"include_usage":true}  }  `)
	f(`{"stream_options":null,"model":"a","stream":true}`, ask, `{"stream_options":{"include_usage":true},"model":"a","stream":true}`)
	f(`{"stream_options": { } ,"model":"a","stream":true}`, ask, `{"stream_options": {"include_usage":true } ,"model":"a","stream":true}`)
	f(`{"stream_options":{ "z":{"y":1}},"model":"a","stream":true}`, ask, `{"stream_options":{"include_usage":true, "z":{"y":1}},"model":"a","stream":true}`)
	f(`{"stream_options":{"include_usage": false ,"z":1},"model":"a","stream":true}`, ask, `{"stream_options":{"include_usage": true ,"z":1},"model":"a","stream":true}`)
	f(`{"stream_options":{"include_us\u0061ge":null},"model":"a","stream":true}`, ask, `{"stream_options":{"include_us\u0061ge":true},"model":"a","stream":true}`)
	f(`{"stream_options":{"include_usage":true},"model":"a","stream":true}`, ask, `{"stream_options":{"include_usage":true},"model":"a","stream":true}`)
	f(`{"stream_options":7,"model":"a","stream":true}`, ask, `{"stream_options":7,"model":"a","stream":true}`)

	// Leaving members out.
	seed := Edit{Strip: []string{"seed", "model", "stream_options"}}
	f(`{"model":"a"}`, seed, `{"model":"a"}`)
	f(`{"seed":1,"model":"a"}`, seed, `{"model":"a"}`)
	f(`{ "seed" : 1 , "model":"a" }`, seed, `{ "model":"a" }`)
	f(`{"model":"a","seed":1}`, seed, `{"model":"a"}`)
	f(`{ "model":"a" , "seed" : [1,2] }`, seed, `{ "model":"a" }`)
	f(`{"seed":1,"model":"a","se\u0065d":2,"x":0,"seed":3,"seed":4}`, seed, `{"model":"a","x":0}`)
	f(`{"seed":1,"seed":2,"model":"a"}`, seed, `{"model":"a"}`)
	f(`{"x":{"seed":1},"Seed":1,"model":"a"}`, seed, `{"x":{"seed":1},"Seed":1,"model":"a"}`)

	// All at once.
	all := Edit{Model: "b", AskUsage: true, Strip: []string{"seed", "x"}}
	f(`{"seed":1,"model":"a","stream":true,"x":{},"seed":2}`, all, `{"model":"b","stream":true,"stream_options":{"include_usage":true}}`)
	f(`{"x":1,"stream":true,"seed":1,"model":"a"}`, all, `{"stream":true,"model":"b","stream_options":{"include_usage":true}}`)
	f(`{"model":"a","stream":true,"seed":2,"stream_options":null,"x":9}`, all, `{"model":"b","stream":true,"stream_options":{"include_usage":true}}`)
}

// TestSpliceEmpties leaves out all there is.
func TestSpliceEmpties(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		facts := inspect(t, Extra, body)
		if got := string(bytes.Join(facts.Splice(nil, []byte(body), Edit{Model: "m", AskUsage: true, Strip: []string{"seed"}}), nil)); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	f(`{}`, `{}`)
	f(` { } `, ` { } `)
	f(`{ "seed":1 }`, `{  }`)
	f(`{"seed":1,"seed":2}`, `{}`)
}

// TestSpliceOtherEndpoints shows that usage is asked for only where the event
// that comes of it is known.
func TestSpliceOtherEndpoints(t *testing.T) {
	for e := Chat; e <= Extra; e++ {
		body := `{"model":"a","stream":true}`
		facts := inspect(t, e, body)
		want := body
		if e == Chat || e == Completions {
			want = `{"model":"a","stream":true,"stream_options":{"include_usage":true}}`
		}
		if got := string(bytes.Join(facts.Splice(nil, []byte(body), Edit{AskUsage: true}), nil)); got != want {
			t.Errorf("%v: got %s, want %s", e, got, want)
		}
	}
}

// TestSpliceKeepsBytes sends what gateways were seen to lose: big numbers, odd
// spellings, the order of keys, unknown fields.
func TestSpliceKeepsBytes(t *testing.T) {
	head := "\n{\"z\":{\"b\":[ ],\"a\":{}},\"temperature\":1.0,\"seed\":9007199254740993,\"top_p\":1e-7,\"x\":-0,  \"esc\":\"\\u00e9é<>&\u2028\\/\",\"model\":"
	tail := ",\"null\":null,\"return_token_ids\":true,\"dup\":1,\"dup\":2,\"chat_template_kwargs\":{\"k\":{}}\t}\r\n"
	body := head + `"route"` + tail
	parts := inspect(t, Chat, body).Splice(nil, []byte(body), Edit{Model: "served"})
	if got, want := string(bytes.Join(parts, nil)), head+`"served"`+tail; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if len(parts) != 3 {
		t.Errorf("%d parts, want the head, the model and the tail", len(parts))
	}
}

// TestSpliceShares shows that an unchanged body isn't copied.
func TestSpliceShares(t *testing.T) {
	body := []byte(`{"model":"a"}`)
	parts := inspect(t, Chat, string(body)).Splice(nil, body, Edit{Model: "b"})
	if &parts[0][0] != &body[0] {
		t.Error("the body was copied")
	}
}
