package tune

import (
	"embed"
	"fmt"
	"math"
	"testing"
)

//go:embed testdata/*.metrics
var texts embed.FS

// recorded is metrics that simulated replicas and their gateway have told.
func recorded(t testing.TB, name string) *Metrics {
	t.Helper()
	text, err := texts.ReadFile("testdata/" + name + ".metrics")
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseMetrics(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// made is metrics from lines.
func made(t testing.TB, format string, args ...any) *Metrics {
	t.Helper()
	m, err := ParseMetrics(fmt.Sprintf(format, args...))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func near(a, b float64) bool { return math.Abs(a-b) <= 0.01*math.Abs(b) }

func TestSeenByReplicas(t *testing.T) {
	m := recorded(t, "replica-12b")
	got := Seen("gemma-12b", nil, []*Metrics{m, m})
	if !got.Guessed || got.Finished != 2*976 || got.Preemptions != 0 || got.Page != 32 || got.Pages != 41520 || got.Late != -1 {
		t.Errorf("got %+v", got)
	}
	if n := got.requests(); !near(n, 2*976) {
		t.Errorf("%v requests, want %d", n, 2*976)
	}
	all := (got.Decode.Prompts.sum() + got.Prefill.Prompts.sum()) / got.requests()
	if !near(all, 378234.0/976) || !near(got.Iterations.Mean(), 743519.0/18665) || !near(got.InStep, 366261.0/18665) {
		t.Errorf("prompts of %v tokens, steps of %v, %v sequences in them", all, got.Iterations.Mean(), got.InStep)
	}
}

// The gateway knows the classes.
func TestSeenByTheGateway(t *testing.T) {
	got := Seen("gemma-27b", recorded(t, "gateway"), []*Metrics{recorded(t, "replica-27b")})
	if got.Guessed || got.Decode.count() != 0 || !near(got.Prefill.count(), 9118) || got.Late != 0 {
		t.Errorf("got %s, late %v", got.words(), got.Late)
	}
	if !near(got.Prefill.Prompts.Mean(), 34411116.0/9118) || !near(got.Prefill.Answers.Mean(), 68934.0/9118) {
		t.Errorf("got %s", got.words())
	}
	if other := Seen("gemma-4b", recorded(t, "gateway"), nil); other.requests() != 0 {
		t.Errorf("a pool that the gateway hasn't got saw %s", other.words())
	}
}

// Without a gateway the short answers are prefill's, and the long prompts theirs.
func TestGuess(t *testing.T) {
	m := made(t, `vllm:request_prompt_tokens_bucket{le="500"} 30
vllm:request_prompt_tokens_bucket{le="5000"} 100
vllm:request_prompt_tokens_sum 290000
vllm:request_generation_tokens_bucket{le="10"} 70
vllm:request_generation_tokens_bucket{le="1000"} 100
vllm:request_generation_tokens_sum 20000
`)
	got := Seen("p", nil, []*Metrics{m})
	if !near(got.Prefill.count(), 70) || !near(got.Prefill.Answers.Count(), 70) || !near(got.Decode.count(), 30) {
		t.Errorf("got %s", got.words())
	}
	if low, high := got.Prefill.Prompts[0].Value, got.Decode.Prompts.Quantile(1); low < 500 || high > 500 {
		t.Errorf("prefill's prompts begin at %v, decode's end at %v", low, high)
	}
}

// Those who waited for long, and those who were refused, would have used room.
func TestLate(t *testing.T) {
	m := made(t, `sluice_queue_wait_seconds_bucket{pool="p",le="0.1"} 90
sluice_queue_wait_seconds_bucket{pool="p",le="1"} 96
sluice_queue_wait_seconds_bucket{pool="q",le="1"} 1000
sluice_requests_finished_total{outcome="queue_full",pool=""} 4
sluice_requests_finished_total{outcome="completed"} 96
`)
	if got := Seen("p", m, nil).Late; got != 0.1 {
		t.Errorf("got %v, want 0.1", got)
	}
}
