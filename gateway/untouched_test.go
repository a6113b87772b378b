package gateway

import (
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// nasty are members that a gateway which decodes and encodes again would lose or
// alter: what it doesn't know, numbers that no float holds, the order and the
// spaces, escapes, nulls and nothings.
const nasty = `"zz_unknown": {"b":[],"a":{},"deep":[[[{"x":null}]]]},
	"seed":9007199254740993,"temperature":1.0,"top_p":1e-7,   "min_p":-0,"presence_penalty":-0.0,"frequency_penalty":0.10,
	"big":123456789012345678901234567890.5e-310, "user":null,"tools":null,"metadata":{},"stop":[],"logit_bias":{"50256":-100},
	"chat_template_kwargs":{"enable_thinking":false,"é":"\u00e9é"},"return_token_ids":true,"\u0061lias":"\/","model_":"m","Model":"M",`

const nastyText = "\\u00e9 é <b>&amp;</b> \u2028\u2029 \\ud83d\\ude00 😀 \\u0000 \\\"model\\\":\\\"m\\\" \\\\ \\/ \\b\\f\\n\\r\\t \u00a0\ufeff"

// nastyBody asks a model, streamed with usage or not at all.
func nastyBody(model string, stream bool) string {
	streams := ""
	if stream {
		streams = `"stream" : true , "stream_options":{ "include_usage" :true , "x":null},`
	}
	return " \n\t{ " + nasty + streams + ` "messages":[ {"role":"user", "content":"` + nastyText + `","model":"m"} ] , "model" : ` + model + "\t, \"a\":\"\" }\r\n \n"
}

// withSeed lets the seed pass, which a pool refuses by default, and prompts of any length.
func withSeed(policy string) string {
	return strings.Replace(policy, "engine: {max_model_len: 8192}", "engine: {fields: {seed: pass}}", 1)
}

// The replica gets the client's bytes, but for the value of model; and the client
// the replica's.
func TestBodiesPassUntouched(t *testing.T) {
	answer := `{ "id":"x","object":"chat.completion","zz":{"b":1.0,"a":-0}, "created":9007199254740993,"choices":[{"index":0,"finish_reason":"stop","message":{"content":"` +
		nastyText + `","role":"assistant","unknown":[{}]}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"zz":1e-7} }` + "\n\n"
	streamed := strings.Join([]string{": hello\r\n\r\n", "event: zz\nid: 7\nretry: 10\ndata:  {\"zz\":1.0}\n\n", gatewaytest.Role, gatewaytest.Content("<é>\u2028"),
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}],\ndata: \"zz\":-0}\n\n", gatewaytest.Finish("", "stop"), gatewaytest.Usage(1, 1), gatewaytest.Done}, "")
	rep := gatewaytest.NewReplica(t)
	r := start(t, withSeed(onePool(4, rep)))
	calls := 0
	for _, tc := range []struct {
		name, sent, want string
		stream           bool
	}{
		{"alias", nastyBody(`"m"`, false), nastyBody(`"served"`, false), false},
		{"alias, escaped", nastyBody(`"\u006d"`, false), nastyBody(`"served"`, false), false},
		{"the replicas' own name", nastyBody(`"served"`, false), nastyBody(`"served"`, false), false},
		{"alias, streamed", nastyBody(`"m"`, true), nastyBody(`"served"`, true), true},
		{"large", strings.Replace(nastyBody(`"m"`, false), "<b>", strings.Repeat("<b>é", 100000), 1), strings.Replace(nastyBody(`"served"`, false), "<b>", strings.Repeat("<b>é", 100000), 1), false},
	} {
		for _, framing := range []string{"with a length", "in chunks"} {
			t.Run(tc.name+", "+framing, func(t *testing.T) {
				want := answer
				if tc.stream {
					want = streamed
					rep.Next(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(split(streamed)...), gatewaytest.Send(gatewaytest.FinalChunk))
				} else {
					rep.Next(gatewaytest.Send(gatewaytest.JSON(200, answer)))
				}
				got := gatewaytest.Target{Address: r.data}.Fetch(t, framed(tc.sent, framing == "in chunks"))
				if got.Status != 200 || got.Ending != gatewaytest.Whole || string(got.Body) != want {
					t.Errorf("status %d, %v, the client got\n%q\nwant\n%q", got.Status, got.Ending, got.Body, want)
				}
				if len(rep.Calls()) == calls {
					t.Fatal("the replica got nothing")
				}
				if body := string(rep.Call(calls).Body); body != tc.want {
					t.Errorf("the replica got\n%.2000q\nwant\n%.2000q", body, tc.want)
				}
				calls++
			})
		}
	}
	r.quiet()
	if n := r.outcomes(router.Completed); n != calls {
		t.Errorf("completed %d, want %d", n, calls)
	}
}

// framed is a chat request whose body has a length, or comes in chunks of 1,000 bytes.
func framed(body string, chunked bool) string {
	if !chunked {
		return gatewaytest.Request("POST", "/v1/chat/completions", body)
	}
	var b strings.Builder
	b.WriteString("POST /v1/chat/completions HTTP/1.1\r\nHost: gateway.test\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
	for len(body) > 0 {
		n := min(1000, len(body))
		b.WriteString(gatewaytest.Chunk(body[:n]))
		body = body[n:]
	}
	return b.String() + gatewaytest.FinalChunk
}

// split cuts a stream into pieces that end anywhere.
func split(s string) (pieces []string) {
	for n := 1; len(s) > 0; n = n%17 + 3 {
		n = min(n, len(s))
		pieces = append(pieces, s[:n])
		s = s[n:]
	}
	return pieces
}

// A field that the engine can't take is refused by name, or taken out alone.
func TestFieldsThatTheEngineCannotTake(t *testing.T) {
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("a", "stop", 1, 1)))
	for action, want := range map[string]string{"refuse": "", "strip": strings.Replace(nastyBody(`"served"`, false), `"seed":9007199254740993,`, "", 1)} {
		t.Run(action, func(t *testing.T) {
			r := start(t, strings.Replace(withSeed(onePool(4, rep)), "seed: pass", "seed: "+action, 1))
			before := len(rep.Calls())
			answer := r.post(nastyBody(`"m"`, false))
			if want == "" {
				if answer.Status != 400 || !strings.Contains(string(answer.Body), `"param":"seed"`) || len(rep.Calls()) != before {
					t.Errorf("status %d: %s", answer.Status, answer.Body)
				}
				return
			}
			if got := string(rep.Call(before).Body); got != want {
				t.Errorf("the replica got\n%q\nwant\n%q", got, want)
			}
		})
	}
}
