package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

// scrape is the text of /metrics.
type scrape string

func (s *server) scrape(t *testing.T) scrape {
	t.Helper()
	got := gatewaytest.Get(t, s.address, "/metrics")
	if got.Status != 200 || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/plain; version=") {
		t.Fatalf("got status %d, %v (%v)", got.Status, got.Header, got.Err)
	}
	return scrape(got.Body)
}

// value is that of the series with this name and, among others, these labels.
func (text scrape) value(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, name+"{")
		set, number, _ := strings.Cut(rest, "} ")
		for _, label := range labels {
			found = found && strings.Contains(","+set+",", ","+label+",")
		}
		if found {
			v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return v
		}
	}
	t.Errorf("no series %s%v", name, labels)
	return 0
}

// The series that the gateway, its dashboards and autoscalers read.
var (
	gauges = []string{"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"}
	totals = []string{
		"vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:num_preemptions_total",
		"vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total",
	}
	buckets = map[string]string{
		"vllm:time_to_first_token_seconds":           ".001 .005 .01 .02 .04 .06 .08 .1 .25 .5 .75 1 2.5 5 7.5 10 20 40 80 160 640 2560",
		"vllm:inter_token_latency_seconds":           ".01 .025 .05 .075 .1 .15 .2 .3 .4 .5 .75 1 2.5 5 7.5 10 20 40 80",
		"vllm:request_time_per_output_token_seconds": ".01 .025 .05 .075 .1 .15 .2 .3 .4 .5 .75 1 2.5 5 7.5 10 20 40 80",
		"vllm:e2e_request_latency_seconds":           ".3 .5 .8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 1920 7680",
		"vllm:request_queue_time_seconds":            ".3 .5 .8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 1920 7680",
		"vllm:request_prefill_time_seconds":          ".3 .5 .8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 1920 7680",
		"vllm:request_decode_time_seconds":           ".3 .5 .8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 1920 7680",
		"vllm:iteration_tokens_total":                "1 8 16 32 64 128 256 512 1024 2048 4096 8192 16384",
		"vllm:request_prompt_tokens":                 "1 2 5 10 20 50 100 200 500",
		"vllm:request_generation_tokens":             "1 2 5 10 20 50 100 200 500",
	}
)

var metricChecks = []check{
	{"names and labels", "B: what the gateway scrapes is there, under these names, with model_name and engine", func(t *testing.T, s *server) {
		text := s.scrape(t)
		labels := []string{fmt.Sprintf("model_name=%q", s.model), `engine="0"`}
		for _, name := range append(gauges, totals...) {
			text.value(t, name, labels...)
		}
		for _, reason := range []string{"stop", "length", "abort", "error", "repetition"} {
			text.value(t, "vllm:request_success_total", append(labels, fmt.Sprintf("finished_reason=%q", reason))...)
		}
		for _, reason := range []string{"capacity", "deferred"} {
			text.value(t, "vllm:num_requests_waiting_by_reason", append(labels, fmt.Sprintf("reason=%q", reason))...)
		}
		text.value(t, "vllm:engine_sleep_state", append(labels, `sleep_state="awake"`)...)
		if text.value(t, "vllm:cache_config_info", `engine="0"`) != 1 || !regexp.MustCompile(`vllm:cache_config_info\{[^\n]*block_size="\d+"[^\n]*num_gpu_blocks="\d+"`).MatchString(string(text)) {
			t.Error("no cache_config_info with block_size and num_gpu_blocks")
		}
	}},
	{"buckets", "B: the histograms' upper bounds", func(t *testing.T, s *server) {
		text := s.scrape(t)
		for name, bounds := range buckets {
			for _, bound := range strings.Fields(bounds) {
				le, _ := strconv.ParseFloat(bound, 64)
				written := strconv.FormatFloat(le, 'f', -1, 64)
				if !strings.Contains(written, ".") {
					written += ".0"
				}
				text.value(t, name+"_bucket", fmt.Sprintf("le=%q", written))
			}
			text.value(t, name+"_bucket", `le="+Inf"`)
			text.value(t, name+"_sum")
		}
	}},
	{"counters count", "B: tokens, endings and engine steps move with each request", func(t *testing.T, s *server) {
		before := s.scrape(t)
		used := decode[chunk](t, s.post(t, "/v1/chat/completions", strings.TrimSuffix(askChat, `,"stream":true`)+`}`)).Usage
		after := s.scrape(t)
		grew := func(name string, want float64, labels ...string) {
			t.Helper()
			if got := after.value(t, name, labels...) - before.value(t, name, labels...); got != want {
				t.Errorf("%s%v grew by %v, want %v", name, labels, got, want)
			}
		}
		grew("vllm:generation_tokens_total", 4)
		grew("vllm:prefix_cache_queries_total", float64(used.Prompt))
		grew("vllm:request_success_total", 1, `finished_reason="length"`)
		grew("vllm:request_prompt_tokens_count", 1)
		grew("vllm:time_to_first_token_seconds_count", 1)
		grew("vllm:inter_token_latency_seconds_count", 3)
		grew("vllm:e2e_request_latency_seconds_count", 1)
		grew("vllm:iteration_tokens_total_count", 4)
	}},
}

// load waits until as many sequences run and wait.
func (s *server) load(t *testing.T, running, waiting int) (took time.Duration) {
	t.Helper()
	began := time.Now()
	for {
		text := s.scrape(t)
		r, w := text.value(t, "vllm:num_requests_running"), text.value(t, "vllm:num_requests_waiting")
		took = time.Since(began)
		if int(r) == running && int(w) == waiting {
			return took
		}
		if took > gatewaytest.Patience {
			t.Fatalf("%v run and %v wait, want %d and %d", r, w, running, waiting)
		}
	}
}
