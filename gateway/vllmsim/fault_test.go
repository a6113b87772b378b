package vllmsim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

func TestParseFault(t *testing.T) {
	f := func(text string, want Fault) {
		t.Helper()
		got, err := ParseFault(text)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
		if again, err := ParseFault(got.String()); err != nil || again != got {
			t.Errorf("%s: written as %s it is read as %+v, %v", text, got, again, err)
		}
	}
	f("hang", Fault{Kind: Hang, Status: 503, Factor: 1})
	f("reset:after=20,share=0.25,times=3", Fault{Kind: Reset, After: 20, Share: .25, Times: 3, Status: 503, Factor: 1})
	f(" busy:status=429 ", Fault{Kind: Busy, Status: 429, Factor: 1})
	f("slow:factor=2.5", Fault{Kind: Slow, Status: 503, Factor: 2.5})
}

func TestWrongFaultsAreExplained(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if _, err := ParseFault(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	f("", "half-header")
	f("explode", `there is no "explode"`)
	f("reset:after", `after: "" is not a number`)
	f("reset:before=3", "not one of after, times")
	f("reset:after=-1", "0 or more")
	f("reset:share=2", "0 to 1")
	f("reset:share=NaN", "0 to 1")
	f("busy:status=200", "429 or 503")
	f("slow:factor=-1", "more than 0")
	f("refuse:times=3", "whole replica")
}

func FuzzParseFault(f *testing.F) {
	f.Add("reset:after=20,share=0.1")
	f.Add("busy:status=429")
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := ParseFault(text)
		if err != nil {
			return
		}
		if again, err := ParseFault(fault.String()); err != nil || again != fault {
			t.Errorf("%+v is written as %s, which is read as %+v, %v", fault, fault, again, err)
		}
	})
}

func TestSharesAreSpreadEvenly(t *testing.T) {
	f := func(fault Fault, want string) {
		t.Helper()
		var s faults
		s.add(fault)
		var got strings.Builder
		for range len(want) {
			got.WriteString(map[bool]string{true: "x", false: "-"}[s.next().Kind == fault.Kind])
		}
		if got.String() != want {
			t.Errorf("%s hits %s, want %s", fault, got.String(), want)
		}
	}
	f(Fault{Kind: Cut}, "xxxx")
	f(Fault{Kind: Cut, Share: .25}, "---x---x")
	f(Fault{Kind: Cut, Times: 2}, "xx--")
	f(Fault{Kind: Cut, Share: .5, Times: 2}, "-x-x----")
}

const (
	chatPath     = "/v1/chat/completions"
	streamed     = `{"model":"m","stream":true,"max_tokens":20,"ignore_eos":true,"messages":[{"role":"user","content":"hello"}]}`
	notStreamed  = `{"model":"m","max_tokens":20,"ignore_eos":true,"messages":[{"role":"user","content":"hello"}]}`
	faultingLine = faultHeader + ": "
)

// seen sums up what a client saw of a chat.
func seen(r *gatewaytest.Response) string {
	if r.Status == 0 {
		return "no answer"
	}
	tokens, last := 0, ""
	for _, e := range r.Events() {
		tokens += brought(e)
		for _, word := range []string{`"finish_reason":"length"`, `"finish_reason":"abort"`, `"error"`, "[DONE]"} {
			if strings.Contains(e.Data(), word) {
				last += " " + word
			}
		}
	}
	if !json.Valid(r.Body) && r.Events() == nil {
		last += " half"
	}
	return fmt.Sprint(r.Status, " ", tokens, last, " ", r.Ending)
}

// brought is how many tokens an event brings: here, each is a word.
func brought(e gatewaytest.Event) int {
	var chunk struct {
		Choices []struct{ Delta struct{ Content string } }
	}
	if json.Unmarshal([]byte(e.Data()), &chunk) != nil || len(chunk.Choices) == 0 {
		return 0
	}
	return len(strings.Fields(chunk.Choices[0].Delta.Content))
}

// Every fault of a request, as a client sees it. The other requests go on.
func TestFaultsOfARequest(t *testing.T) {
	s, address := start(t, Options{Speed: 100})
	f := func(fault, body, want string) {
		t.Helper()
		if got := seen(gatewaytest.Post(t, address, chatPath, body, faultingLine+fault)); got != want {
			t.Errorf("%s: got %q, want %q", fault, got, want)
		}
		waitHeld(t, s, 0)
		if got := post(t, address, chatPath, notStreamed); got.Status != 200 {
			t.Errorf("after %s: got %d", fault, got.Status)
		}
	}
	f("cut:after=21", streamed, `200 20 "finish_reason":"length" [DONE] whole`)
	f("error-event:after=5", streamed, `200 5 "error" [DONE] whole`)
	f("error-event", streamed, `200 0 "error" [DONE] whole`)
	f("error-event", notStreamed, `500 0 whole`)
	f("abort:after=5", streamed, `200 5 "finish_reason":"abort" [DONE] whole`)
	f("truncate:after=5", streamed, `200 5 whole`)
	f("truncate", streamed, `200 0 half whole`)
	f("truncate:after=5", notStreamed, `200 0 half whole`)
	f("cut:after=5", streamed, `200 5 cut`)
	f("cut:after=5", notStreamed, `200 0 half cut`)
	f("reset", streamed, `200 0 half cut`)
	f("busy", streamed, `503 0 whole`)
	f("busy:status=429", notStreamed, `429 0 whole`)
	f("garbage", streamed, `no answer`)
	f("garbage:after=3", streamed, `200 3 cut`)
	f("half-header", notStreamed, `no answer`)
	f("refuse", notStreamed, `400 0 whole`)
	f("nonsense", notStreamed, `400 0 whole`)
	if got := gatewaytest.Post(t, address, chatPath, streamed, faultingLine+"busy:status=429"); !strings.Contains(string(got.Body), `"type":"Too Many Requests"`) {
		t.Errorf("429 says %s", got.Body)
	}
}

// One stream falls silent, and its sequence is let go when the client leaves.
func TestStallIsSilentUntilTheClientLeaves(t *testing.T) {
	s, address := start(t, Options{Speed: 100})
	c := gatewaytest.Connect(t, address)
	c.Send(gatewaytest.Request("POST", chatPath, streamed, faultingLine+"stall:after=3"))
	if head, err := c.ReadHead(); err != nil || head.Status != 200 {
		t.Fatalf("got %+v, %v", head, err)
	}
	readTokens(t, c, 3)
	silent(t, c)
	c.Close()
	waitHeld(t, s, 0)
}
