package fleet

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"sluice/router"
)

// Of vLLM before and after December 2025, shortened.
const (
	oldMetrics = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="google/gemma-3-27b-it"} 12.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="google/gemma-3-27b-it"} 3.0
# TYPE vllm:gpu_cache_usage_perc gauge
vllm:gpu_cache_usage_perc{engine="0",model_name="google/gemma-3-27b-it"} 0.42
vllm:prompt_tokens_total{engine="0",model_name="google/gemma-3-27b-it"} 123456.0
`
	newMetrics = `vllm:num_requests_running{engine="0",model_name="m"} 12.0
vllm:num_requests_running{engine="1",model_name="m"} 8.0
vllm:num_requests_waiting{engine="0",model_name="m"} 0.0
vllm:num_requests_waiting{engine="1",model_name="m"} 5.0
vllm:num_requests_waiting_by_reason{engine="1",model_name="m",reason="capacity"} 5.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.75
`
)

func TestParseLoad(t *testing.T) {
	f := func(text string, want router.Load) {
		t.Helper()
		got, err := parseLoad(strings.NewReader(text))
		if err != nil || got != want {
			t.Errorf("%.60q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	f(oldMetrics, router.Load{Running: 12, Waiting: 3, KVUsage: .42, KVSum: .42, Tokens: 123456})
	f(newMetrics, router.Load{Running: 20, Waiting: 5, KVUsage: .75, KVSum: 1})
	f("vllm:num_requests_running 1\n", router.Load{Running: 1})
	f("vllm:num_requests_running\t1 1700000000000\r\n", router.Load{Running: 1})
	f(`vllm:num_requests_running{model_name="a} \"9\\"} 2`+"\n", router.Load{Running: 2})
	f("vllm:num_requests_running 1\nvllm:num_requests_running NaN\nvllm:num_requests_running -5\n", router.Load{Running: 1})
	f("vllm:num_requests_running 1\nvllm:num_requests_waiting 1e300\n", router.Load{Running: 1})
	f("vllm:num_requests_running 1\nvllm:kv_cache_usage_perc 7\n", router.Load{Running: 1, KVUsage: 1, KVSum: 1})
	f("vllm:num_requests_running 1\nvllm:num_requests_waiting 2", router.Load{Running: 1}) // the last line may be cut
	f(`vllm:num_requests_running 1
vllm:iteration_tokens_total_sum{engine="0"} 900.0
vllm:iteration_tokens_total_count{engine="0"} 40.0
vllm:iteration_tokens_total_count{engine="1"} 2.0
vllm:prompt_tokens_total{engine="0"} 1e+06
vllm:prompt_tokens_by_source_total{engine="0"} 7.0
vllm:generation_tokens_total{engine="0"} 500.0
vllm:generation_tokens_total{engine="1"} 1e300
`, router.Load{Running: 1, TellsSteps: true, Steps: 42, Tokens: 1000500})
	f("x"+strings.Repeat("y", 3*maxMetricsLine)+"\nvllm:num_requests_running 1\n", router.Load{Running: 1})
}

func TestNoLoad(t *testing.T) {
	f := func(text string) {
		t.Helper()
		if got, err := parseLoad(strings.NewReader(text)); !errors.Is(err, errNoLoad) {
			t.Errorf("%.60q: got %+v, %v, want %v", text, got, err, errNoLoad)
		}
	}
	f("")
	f("not metrics at all\n")
	f("vllm:num_requests_running")
	f("vllm:num_requests_running{\n")
	f("vllm:num_requests_running many\n")
	f("vllm:num_requests_running 1 2 3\n")
	f("vllm:num_requests_waiting 1\n")
	f("# vllm:num_requests_running 1\n")
	f(strings.Repeat("y", 3*maxMetricsLine))
}

func TestCutMetricsTellNothing(t *testing.T) {
	cut := io.MultiReader(strings.NewReader(oldMetrics), iotest.ErrReader(io.ErrUnexpectedEOF))
	if got, err := parseLoad(cut); err != io.ErrUnexpectedEOF {
		t.Errorf("got %+v, %v, want %v", got, err, io.ErrUnexpectedEOF)
	}
}

func FuzzParseLoad(f *testing.F) {
	f.Add(oldMetrics)
	f.Add(newMetrics)
	f.Add("vllm:num_requests_running{a=\"\\\"}\"} 1e3 5\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseLoad(iotest.OneByteReader(strings.NewReader(text)))
		if err != nil && got != (router.Load{}) {
			t.Errorf("got both %+v and %v", got, err)
		}
		if got.Running < 0 || got.Waiting < 0 || got.Running > maxSequences || got.Waiting > maxSequences || got.KVUsage < 0 || got.KVUsage > 1 {
			t.Errorf("got the impossible %+v", got)
		}
	})
}

func BenchmarkParseLoad(b *testing.B) {
	text := strings.Repeat("vllm:e2e_request_latency_seconds_bucket{engine=\"0\",le=\"0.3\",model_name=\"m\"} 5.0\n", 1000) + newMetrics
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = parseLoad(strings.NewReader(text))
	}
}

// Slots of a request that was given up are closing until the metrics show it
// gone, so they are read soon.
func TestLoadIsReadSoonAfterADeparture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, "http://a")
		b.becomes("a", up)
		b.mu.Lock()
		b.metrics["a"] = "vllm:num_requests_running 3\n"
		b.mu.Unlock()
		for range 10 {
			b.after(3*time.Second + 3*readSoon)
			v, ok := b.fleet.Member("http://a").Begin()
			if !ok {
				t.Fatal("the breaker refuses")
			}
			v.Report(router.Completed)
			left := time.Now()
			v.Ended(router.ClientGoneStreaming)
			for range 2 { // two readings tell what it has let go of
				b.after(readSoon + time.Millisecond)
				b.mu.Lock()
				at := b.loads["http://a"].At
				b.mu.Unlock()
				if !at.After(left) {
					t.Errorf("last read %v before", left.Sub(at))
				}
				left = at
			}
		}
	})
}
