package vllmsim

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

// Every series that counts has counted what one request with two answers was.
func TestMetricsCount(t *testing.T) {
	_, address := start(t, Options{Speed: 100})
	post(t, address, "/v1/completions", `{"prompt":"12345678","n":2,"max_tokens":5,"ignore_eos":true}`)
	post(t, address, "/v1/nothing", `{}`)
	text := string(gatewaytest.Get(t, address, "/metrics").Body)
	for _, want := range []string{
		`vllm:num_requests_running{engine="0",model_name="m"} 0.0`,
		`vllm:num_requests_waiting{engine="0",model_name="m"} 0.0`,
		`vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="deferred"} 0.0`,
		`vllm:engine_sleep_state{engine="0",model_name="m",sleep_state="awake"} 1.0`,
		`vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.0`,
		`vllm:cache_config_info{block_size="512",`,
		`vllm:prompt_tokens_total{engine="0",model_name="m"} 6.0`,
		`vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_compute"} 6.0`,
		`vllm:prompt_tokens_cached_total{engine="0",model_name="m"} 0.0`,
		`vllm:generation_tokens_total{engine="0",model_name="m"} 10.0`,
		`vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 2.0`,
		`vllm:request_success_total{engine="0",finished_reason="repetition",model_name="m"} 0.0`,
		`vllm:iteration_tokens_total_count{engine="0",model_name="m"} 5.0`,
		`vllm:iteration_tokens_total_bucket{engine="0",le="8.0",model_name="m"} 5.0`,
		`vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} 2.0`,
		`vllm:inter_token_latency_seconds_count{engine="0",model_name="m"} 8.0`,
		`vllm:e2e_request_latency_seconds_bucket{engine="0",le="+Inf",model_name="m"} 2.0`,
		`vllm:request_queue_time_seconds_count{engine="0",model_name="m"} 2.0`,
		`vllm:request_inference_time_seconds_count{engine="0",model_name="m"} 2.0`,
		`vllm:request_params_n_count{engine="0",model_name="m"} 1.0`,
		`vllm:request_params_n_sum{engine="0",model_name="m"} 2.0`,
		`vllm:request_max_num_generation_tokens_sum{engine="0",model_name="m"} 5.0`,
		`vllm:request_params_max_tokens_sum{engine="0",model_name="m"} 10.0`,
		`vllm:request_prefill_kv_computed_tokens_sum{engine="0",model_name="m"} 6.0`,
		`vllm:request_num_preemptions_bucket{engine="0",le="1.0",model_name="m"} 2.0`,
		`vllm:num_preemptions_total{engine="0",model_name="m"} 0.0`,
		`http_requests_total{handler="/v1/completions",method="POST",status="2xx"} 1.0`,
		`http_requests_total{handler="none",method="POST",status="4xx"} 1.0`,
		`http_request_size_bytes_sum{handler="none"} 2.0`,
		`http_request_duration_highr_seconds_count 2.0`,
		`http_request_duration_seconds_bucket{handler="/v1/completions",le="+Inf",method="POST"} 1.0`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// What the prefix cache had isn't counted as computed.
func TestMetricsOfCachedPrompts(t *testing.T) {
	_, address := start(t, Options{Speed: 100})
	prompt := `{"prompt":"` + strings.Repeat("word", 1023) + `","max_tokens":1}` // 1,024 tokens
	post(t, address, "/v1/completions", prompt)
	post(t, address, "/v1/completions", prompt)
	text := string(gatewaytest.Get(t, address, "/metrics").Body)
	for _, want := range []string{
		`vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_compute"} 1536.0`,
		`vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_cache_hit"} 512.0`,
		`vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="m",source="device"} 512.0`,
		`vllm:request_prefill_kv_computed_tokens_sum{engine="0",model_name="m"} 1536.0`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// Every line can be read, its family was declared just before, and what counts
// says since when.
func TestMetricsAreWellFormed(t *testing.T) {
	line := regexp.MustCompile(`^[a-z0-9:_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.e+-]+$`)
	for _, release := range Releases() {
		_, address := start(t, Options{Release: release})
		post(t, address, "/v1/completions", `{"prompt":"hi","max_tokens":1}`)
		kinds, kind, name := map[string]string{}, "", ""
		for text := range strings.Lines(string(gatewaytest.Get(t, address, "/metrics").Body)) {
			text = strings.TrimSuffix(text, "\n")
			if declared, found := strings.CutPrefix(text, "# TYPE "); found {
				name, kind, _ = strings.Cut(declared, " ")
				if kinds[name] != "" {
					t.Errorf("%s: %s is declared twice", release, name)
				}
				kinds[name] = kind
				continue
			}
			if !line.MatchString(text) || !strings.HasPrefix(text, name) {
				t.Errorf("%s: %q under %s", release, text, name)
			}
		}
		for name, kind := range kinds {
			since := strings.TrimSuffix(name, "_total") + "_created"
			if kind == "histogram" || kind == "summary" {
				since = name + "_created"
			}
			if kind != "gauge" && kinds[since] != "gauge" {
				t.Errorf("%s: %s has no %s", release, name, since)
			}
		}
	}
}

// The two generations call some things by other names.
func TestNamesOfMetrics(t *testing.T) {
	old := names(t, V0100)
	for _, name := range []string{"gpu_cache_usage_perc", "kv_cache_usage_perc", "gpu_prefix_cache_queries_total", "gpu_prefix_cache_hits_total", "time_per_output_token_seconds"} {
		if !slices.Contains(old, "vllm:"+name) {
			t.Errorf("%s has no %s", V0100, name)
		}
	}
	for _, name := range names(t, V0320) {
		if strings.HasPrefix(name, "vllm:gpu_") || name == "vllm:time_per_output_token_seconds" {
			t.Errorf("%s has %s", V0320, name)
		}
	}
	for _, name := range []string{"num_requests_waiting_by_reason", "engine_sleep_state", "inter_token_latency_seconds", "request_time_per_output_token_seconds"} {
		if slices.Contains(old, "vllm:"+name) {
			t.Errorf("%s has %s", V0100, name)
		}
	}
}

// names is what a release's metrics are called.
func names(t *testing.T, release Release) []string {
	_, address := start(t, Options{Release: release})
	var names []string
	for line := range strings.Lines(string(gatewaytest.Get(t, address, "/metrics").Body)) {
		if name, found := strings.CutPrefix(line, "# TYPE "); found {
			name, _, _ = strings.Cut(name, " ")
			names = append(names, name)
		}
	}
	return names
}

func TestNumber(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		if got := number(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
	f(0, "0.0")
	f(1487, "1487.0")
	f(2.5, "2.5")
	f(4.57770656900891e-05, "4.57770656900891e-05")
	f(1234567, "1.234567e+06")
	f(1e6, "1e+06")
}
