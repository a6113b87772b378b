package vllmsim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
	"sluice/router/tpu"
)

// Over real sockets and at speed 1 an idle replica takes what the model says, to
// within 10 %: to the first token and from token to token. The medians of some
// requests are compared, because a busy machine may delay any of them.
func TestIdleReplicaKeepsTheModelledTime(t *testing.T) {
	const prompt, tokens, requests = 4000, 8, 5
	o := Options{Size: "gemma-3-27b", Model: "m"}.withDefaults()
	_, address := start(t, o)
	var first, each []float64
	for i := range requests {
		ttft, tpot := timed(t, address, i, prompt, tokens)
		first, each = append(first, ttft), append(each, tpot)
	}
	costs, err := tpu.NewCosts(o.setup())
	if err != nil {
		t.Fatal(err)
	}
	near(t, "TTFT", first, costs.Prefill(prompt, 0, tpu.Held{}).Time)
	near(t, "TPOT", each, costs.Decode(prompt+tokens/2, tpu.Held{}).Time)
}

// timed is TTFT and TPOT of one stream in seconds, from what is sent to what is
// read. Its prompt begins unlike others, so that no page is found in the cache.
func timed(t *testing.T, address string, i, prompt, tokens int) (ttft, tpot float64) {
	t.Helper()
	text := itoa(i) + strings.Repeat("x", bytesPerToken*(prompt-1)-1)
	body := fmt.Sprintf(`{"prompt":%q,"stream":true,"max_tokens":%d,"ignore_eos":true}`, text, tokens)
	c := gatewaytest.Connect(t, address)
	defer c.Close()
	began := time.Now()
	c.Send(gatewaytest.Request("POST", "/v1/completions", body))
	if head, err := c.ReadHead(); err != nil || head.Status != 200 {
		t.Fatalf("got %+v, %v", head, err)
	}
	var first, last time.Time
	for {
		event, err := c.ReadEvent()
		if err != nil {
			t.Fatal(err)
		}
		if event.Data() == "[DONE]" {
			break
		}
		last = time.Now()
		if first.IsZero() {
			first = last
		}
	}
	return first.Sub(began).Seconds(), last.Sub(first).Seconds() / float64(tokens-1)
}

func near(t *testing.T, what string, got []float64, want time.Duration) {
	t.Helper()
	slices.Sort(got)
	median := got[len(got)/2]
	t.Logf("%s: median %.4f s of %.4f, modelled %.4f s", what, median, got, want.Seconds())
	if math.Abs(median/want.Seconds()-1) > 0.10 {
		t.Errorf("%s is %.4f s, modelled %.4f s", what, median, want.Seconds())
	}
}
