package gateway

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/gateway/vllmsim"
	"sluice/router"
)

// twinPools is a policy with two pools of one model: every request goes to the first
// while that is up. onBreak is the route's.
func twinPools(onBreak, first, second string) string {
	return fmt.Sprintf(`
pools:
  p: {model: served, replicas: [%q], cap: {total: 16}, engine: {max_model_len: 8192}, implicit_route: false}
  q: {model: served, replicas: [%q], cap: {total: 16}, engine: {max_model_len: 8192}, implicit_route: false}
routes:
  m:
    prefill: {pools: [{pool: p}, {pool: q}], queue: {max_waiting: 1000, max_wait: 30s}, slo: {ttft: 0s}, on_break: %[3]s}
    decode: {pools: [{pool: p}, {pool: q}], queue: {max_waiting: 1000, max_wait: 30s}, slo: {ttft: 0s, tpot: 0s}, on_break: %[3]s}
health: {interval: 50ms, timeout: 5s, failures_open: 1000}
retry: {budget: 1, budget_min: 1000}
timeouts: {between_events: 3s, release_after_cancel: 20ms}
`, first, second, onBreak)
}

// broken is a request whose first replica fails half-way.
type broken struct {
	path, body string
	exact      bool // its events tell the usage
	fault      vllmsim.Fault
}

// breaks are requests of every shape that can be gone on with, each with a fault
// after a token drawn by lot.
func breaks(n int) []broken {
	rng := rand.New(rand.NewPCG(5, 7))
	kinds := []vllmsim.FaultKind{vllmsim.Reset, vllmsim.Cut, vllmsim.Truncate, vllmsim.Garbage, vllmsim.ErrorEvent, vllmsim.Abort}
	list := make([]broken, n)
	for i := range list {
		said := fmt.Sprintf("say %d \\\"things\\\" é", i)
		b := broken{path: "/v1/chat/completions", fault: vllmsim.Fault{Kind: kinds[rng.IntN(len(kinds))], After: 1 + rng.IntN(39), Times: 1}}
		if i%50 == 0 {
			b.fault.Kind = vllmsim.Stall
		}
		switch i % 4 {
		case 0: // as long as it likes
			b.body = `{"model":"m","messages":[{"role":"user","content":"` + said + `"}],"stream":true}`
		case 1:
			b.body = `{"stream":true,"messages":[ {"role":"system","content":"be brief"}, {"role":"user","content":"` + said + `"} ] ,"model":"m","stream_options":{"include_usage":true},"temperature":0.7}`
		case 2:
			b.exact, b.body = true, `{"max_completion_tokens":40,"model":"m","ignore_eos":true,"messages":[{"role":"user","content":"`+said+`"}],"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`
		case 3:
			b.path = "/v1/completions"
			b.exact, b.body = true, `{"model":"m","prompt":"`+said+`","max_tokens":40,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"frequency_penalty":0}`
		}
		list[i] = b
	}
	return list
}

// read is what a client makes of a stream.
type read struct {
	text, finish   string
	heads          map[string]bool // id, time and model: one of each
	roles, gaps    int
	prompt, answer int // tokens
	done           bool
	failed         bool
}

func readStream(t *testing.T, answer *gatewaytest.Response) (got read) {
	t.Helper()
	got.heads = map[string]bool{}
	for _, ev := range answer.Events() {
		data := ev.Data()
		switch {
		case data == "[DONE]":
			got.done = true
			continue
		case strings.HasPrefix(ev.Raw, ": sluice:"):
			got.gaps++
			continue
		}
		got.chunk(t, data)
	}
	return got
}

func (got *read) chunk(t *testing.T, data string) {
	t.Helper()
	var c struct {
		ID      string
		Created int
		Model   string
		Error   any
		Choices []struct {
			Text   string
			Finish *string `json:"finish_reason"`
			Delta  struct{ Role, Content string }
		}
		Usage *struct {
			Prompt int `json:"prompt_tokens"`
			Answer int `json:"completion_tokens"`
			Total  int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	if c.Error != nil {
		got.failed = true
		return
	}
	got.heads[fmt.Sprint(c.ID, c.Created, c.Model)] = true
	if c.Usage != nil {
		got.prompt, got.answer = c.Usage.Prompt, c.Usage.Answer
		if c.Usage.Total != got.prompt+got.answer {
			t.Errorf("the usage doesn't add up: %s", data)
		}
	}
	for _, choice := range c.Choices {
		got.text += choice.Text + choice.Delta.Content
		if choice.Delta.Role != "" {
			got.roles++
		}
		if choice.Finish != nil {
			got.finish += *choice.Finish
		}
	}
}

// TestBrokenAnswersAreMended: 200 answers whose replica fails at a token drawn by
// lot, in seven ways. Where the route says so another replica goes on, and the client
// has the answer that one replica would have given: no token lost, none twice. Where
// it doesn't, all end in a typed error.
func TestBrokenAnswersAreMended(t *testing.T) {
	options := vllmsim.Options{Size: "gemma-3-4b", Model: "served", MaxModelLen: 8192, MaxNumSeqs: 32, Speed: 200}
	for _, onBreak := range []string{"continue", "end"} {
		t.Run(onBreak, func(t *testing.T) {
			all := breaks(200)
			sick, first := simulate(t, options)
			_, second := simulate(t, options)
			r := start(t, twinPools(onBreak, first, second))
			inTurn(t, all, 8, func(b broken) {
				alone := gatewaytest.Post(t, strings.TrimPrefix(second, "http://"), b.path, strings.Replace(b.body, `"model":"m"`, `"model":"served"`, 1))
				checkMended(t, b, onBreak == "continue", readStream(t, alone), r.askBroken(sick, b))
			})
			r.quiet()
			m := r.metrics()
			gone := int(sum(m, "sluice_broken_answers_total", `result="continued"`))
			completed, attempts := r.outcomes(router.Completed), int(sum(m, "sluice_attempts_total"))
			if onBreak == "continue" && (gone != 200 || completed != 200 || attempts != 400) {
				t.Errorf("%d were gone on with, %d completed in %d attempts; want 200, 200 in 400", gone, completed, attempts)
			}
			if onBreak == "end" && (gone != 0 || completed != 0 || attempts != 200) {
				t.Errorf("%d were gone on with, %d completed in %d attempts; want 0, 0 in 200", gone, completed, attempts)
			}
			if n := strings.Count(r.access.String(), `"broken_at":"`+first+`"`); n != gone {
				t.Errorf("%d lines of the log say where an answer broke, want %d", n, gone)
			}
		})
	}
}

// inTurn runs do for all, so many at once.
func inTurn(t *testing.T, all []broken, atOnce int, do func(broken)) {
	t.Helper()
	var workers sync.WaitGroup
	next := make(chan broken)
	for range atOnce {
		workers.Go(func() {
			for b := range next {
				do(b)
			}
		})
	}
	for _, b := range all {
		next <- b
	}
	close(next)
	workers.Wait()
}

// askBroken asks for an answer that breaks at the first replica.
func (r *rig) askBroken(sick *vllmsim.Server, b broken) *gatewaytest.Response {
	r.t.Helper()
	if err := sick.Inject(b.fault); err != nil {
		r.t.Error(err)
	}
	return gatewaytest.Post(r.t, r.data, b.path, b.body)
}

func checkMended(t *testing.T, b broken, mended bool, alone read, answer *gatewaytest.Response) {
	t.Helper()
	got := readStream(t, answer)
	switch {
	case !mended:
		if answer.Status != 200 || answer.Ending != gatewaytest.Cut || !got.failed || got.done || !strings.HasPrefix(alone.text, got.text) {
			t.Errorf("%s: status %d, %v, %+v", b.fault, answer.Status, answer.Ending, got)
		}
	case answer.Ending != gatewaytest.Whole || !got.done || got.failed || got.gaps != 1:
		t.Errorf("%s of %s: %v, %+v", b.fault, b.body, answer.Ending, got)
	case got.text != alone.text || got.finish != alone.finish:
		t.Errorf("%s of %s:\n got %q, %s\nwant %q, %s", b.fault, b.body, got.text, got.finish, alone.text, alone.finish)
	case len(got.heads) != 1 || got.roles != alone.roles:
		t.Errorf("%s: %d heads, %d roles, want 1, %d", b.fault, len(got.heads), got.roles, alone.roles)
	case got.prompt+got.answer != alone.prompt+alone.answer || b.exact && got.prompt != alone.prompt:
		t.Errorf("%s of %s: usage %d + %d, want %d + %d", b.fault, b.body, got.prompt, got.answer, alone.prompt, alone.answer)
	}
}
