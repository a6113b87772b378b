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

// find is the value, as written, of the series with this name and, among others,
// these labels.
func (text scrape) find(name string, labels []string) (string, bool) {
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, name+"{")
		set, number, _ := strings.Cut(rest, "} ")
		for _, label := range labels {
			found = found && (label == "" || strings.Contains(","+set+",", ","+label+","))
		}
		if found {
			return strings.TrimSpace(number), true
		}
	}
	return "", false
}

// value is find's as a number; a series must be there.
func (text scrape) value(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	number, found := text.find(name, labels)
	if !found {
		t.Errorf("no series %s%v", name, labels)
		return 0
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		t.Fatalf("%s%v: %v", name, labels, err)
	}
	return v
}

// The upper bounds of histograms.
const (
	firstTimes   = ".001 .005 .01 .02 .04 .06 .08 .1 .25 .5 .75 1 2.5 5 7.5 10 20 40 80 160 640 2560"
	tokenTimes   = ".01 .025 .05 .075 .1 .15 .2 .3 .4 .5 .75 1 2.5 5 7.5 10 20 40 80"
	requestTimes = ".3 .5 .8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 1920 7680"
	sizes        = "1 2 5 10 20 50 100 200 500" // and on to max_model_len
)

// The series that the gateway, its dashboards and autoscalers read.
var (
	gauges = []string{"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"}
	totals = []string{
		"vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:num_preemptions_total",
		"vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total",
	}
	buckets = map[string]string{
		"vllm:time_to_first_token_seconds":       firstTimes,
		"vllm:e2e_request_latency_seconds":       requestTimes,
		"vllm:request_queue_time_seconds":        requestTimes,
		"vllm:request_inference_time_seconds":    requestTimes,
		"vllm:request_prefill_time_seconds":      requestTimes,
		"vllm:request_decode_time_seconds":       requestTimes,
		"vllm:iteration_tokens_total":            "1 8 16 32 64 128 256 512 1024 2048 4096 8192 16384",
		"vllm:request_prompt_tokens":             sizes,
		"vllm:request_generation_tokens":         sizes,
		"vllm:request_max_num_generation_tokens": sizes,
		"vllm:request_params_max_tokens":         sizes,
		"vllm:request_params_n":                  "1 2 5 10 20",
	}
)

// What newer releases have in addition, or call so.
var (
	newGauges = map[string][]string{
		"vllm:num_requests_waiting_by_reason": {`reason="capacity"`, `reason="deferred"`},
		"vllm:engine_sleep_state":             {`sleep_state="awake"`, `sleep_state="weights_offloaded"`, `sleep_state="discard_all"`},
	}
	newTotals = map[string][]string{
		"vllm:external_prefix_cache_queries":  {""},
		"vllm:external_prefix_cache_hits":     {""},
		"vllm:mm_cache_queries":               {""},
		"vllm:mm_cache_hits":                  {""},
		"vllm:prompt_tokens_cached":           {""},
		"vllm:prompt_tokens_by_source":        {`source="local_compute"`, `source="local_cache_hit"`, `source="external_kv_transfer"`},
		"vllm:prompt_tokens_cached_by_source": {`source="device"`, `source="host"`, `source="p2p"`, `source="disk"`, `source="external_unspecified"`},
		"vllm:request_success":                {`finished_reason="error"`, `finished_reason="repetition"`},
		"vllm:estimated_flops_per_gpu":        {""},
		"vllm:estimated_read_bytes_per_gpu":   {""},
		"vllm:estimated_write_bytes_per_gpu":  {""},
	}
	newBuckets = map[string]string{
		"vllm:inter_token_latency_seconds":           tokenTimes,
		"vllm:request_time_per_output_token_seconds": tokenTimes,
		"vllm:request_num_preemptions":               "1 2 3 4 5 10 20",
		"vllm:request_prefill_kv_computed_tokens":    sizes,
	}
)

// labels are those of every series of vLLM's.
func (s *server) labels(more ...string) []string {
	return append([]string{fmt.Sprintf("model_name=%q", s.model), `engine="0"`}, more...)
}

// bounds checks a histogram's upper bounds.
func (text scrape) bounds(t *testing.T, name, bounds string, labels ...string) {
	t.Helper()
	for _, bound := range strings.Fields(bounds) {
		le, _ := strconv.ParseFloat(bound, 64)
		written := strconv.FormatFloat(le, 'f', -1, 64)
		if !strings.Contains(written, ".") {
			written += ".0"
		}
		text.value(t, name+"_bucket", append(labels, fmt.Sprintf("le=%q", written))...)
	}
	text.value(t, name+"_bucket", append(labels, `le="+Inf"`)...)
	text.value(t, name+"_sum", labels...)
	text.value(t, name+"_created", labels...)
}

var metricChecks = []check{
	{"names and labels", "what the gateway scrapes is there, under these names, with model_name and engine", func(t *testing.T, s *server) {
		text := s.scrape(t)
		for _, name := range append(gauges, totals...) {
			text.value(t, name, s.labels()...)
		}
		for _, reason := range []string{"stop", "length", "abort"} {
			text.value(t, "vllm:request_success_total", s.labels(fmt.Sprintf("finished_reason=%q", reason))...)
		}
		if text.value(t, "vllm:cache_config_info", `engine="0"`) != 1 || !regexp.MustCompile(`vllm:cache_config_info\{[^\n]*block_size="\d+"[^\n]*num_gpu_blocks="\d+"`).MatchString(string(text)) {
			t.Error("no cache_config_info with block_size and num_gpu_blocks")
		}
	}},
	{"names of newer releases", "what dashboards of newer releases read in addition", func(t *testing.T, s *server) {
		text := s.scrape(t)
		for name, series := range newGauges {
			for _, label := range series {
				text.value(t, name, s.labels(label)...)
			}
		}
		for name, series := range newTotals {
			for _, label := range series {
				text.value(t, name+"_total", s.labels(label)...)
				text.value(t, name+"_created", s.labels(label)...)
			}
		}
		for name, bounds := range newBuckets {
			text.bounds(t, name, bounds, s.labels()...)
		}
		text.value(t, "vllm:admission_rejections_total", fmt.Sprintf("model_name=%q", s.model), `reason="max_num_queued_reqs"`)
	}},
	{"buckets", "the histograms' upper bounds", func(t *testing.T, s *server) {
		text := s.scrape(t)
		for name, bounds := range buckets {
			text.bounds(t, name, bounds, s.labels()...)
		}
	}},
	{"requests by route", "the web framework counts requests by route, method and class of status, but not those of probes and scrapes", func(t *testing.T, s *server) {
		before := s.scrape(t)
		s.post(t, "/v1/completions", `{"model":MODEL,"prompt":"hello","max_tokens":1}`)
		s.post(t, "/v1/completions", `{"model":MODEL}`)
		s.post(t, "/v1/nothing", `{}`)
		after := s.scrape(t)
		const handler, post = `handler="/v1/completions"`, `method="POST"`
		grew(t, before, after, "http_requests_total", 1, handler, post, `status="2xx"`)
		grew(t, before, after, "http_requests_total", 1, handler, post, `status="4xx"`)
		grew(t, before, after, "http_requests_total", 1, `handler="none"`, post, `status="4xx"`)
		grew(t, before, after, "http_request_size_bytes_count", 2, handler)
		grew(t, before, after, "http_response_size_bytes_count", 2, handler)
		grew(t, before, after, "http_request_duration_seconds_count", 2, handler, post)
		after.bounds(t, "http_request_duration_seconds", ".1 .5 1", handler, post)
		for _, path := range []string{"/metrics", "/health", "/load", "/ping", "/version"} {
			if strings.Contains(string(after), `handler="`+path+`"`) {
				t.Errorf("%s is counted", path)
			}
		}
	}},
	{"counters count", "tokens, endings and engine steps move with each request", func(t *testing.T, s *server) {
		before := s.scrape(t)
		used := decode[chunk](t, s.post(t, "/v1/chat/completions", strings.TrimSuffix(askChat, `,"stream":true`)+`}`)).Usage
		after := s.scrape(t)
		grew(t, before, after, "vllm:generation_tokens_total", 4)
		grew(t, before, after, "vllm:prefix_cache_queries_total", float64(used.Prompt))
		grew(t, before, after, "vllm:request_success_total", 1, `finished_reason="length"`)
		grew(t, before, after, "vllm:request_prompt_tokens_count", 1)
		grew(t, before, after, "vllm:time_to_first_token_seconds_count", 1)
		grew(t, before, after, s.tokenTime()+"_count", 3)
		grew(t, before, after, "vllm:e2e_request_latency_seconds_count", 1)
		grew(t, before, after, "vllm:iteration_tokens_total_count", 4)
		for _, name := range []string{"request_queue_time_seconds", "request_inference_time_seconds", "request_prefill_time_seconds", "request_decode_time_seconds", "request_params_n", "request_generation_tokens"} {
			grew(t, before, after, "vllm:"+name+"_count", 1)
		}
		grew(t, before, after, "vllm:request_params_n_sum", 1)
		grew(t, before, after, "vllm:request_max_num_generation_tokens_sum", 4)
		grew(t, before, after, "vllm:request_params_max_tokens_sum", 4)
		grew(t, before, after, "vllm:request_prompt_tokens_sum", float64(used.Prompt))
	}},
}

// grew checks how much a series has grown.
func grew(t *testing.T, before, after scrape, name string, want float64, labels ...string) {
	t.Helper()
	was := 0.0
	if _, found := before.find(name, labels); found {
		was = before.value(t, name, labels...)
	}
	if got := after.value(t, name, labels...) - was; got != want {
		t.Errorf("%s%v grew by %v, want %v", name, labels, got, want)
	}
}

// tokenTime is the histogram of the time between two tokens.
func (s *server) tokenTime() string {
	if s.before("0.11.0") {
		return "vllm:time_per_output_token_seconds"
	}
	return "vllm:inter_token_latency_seconds"
}

// scrapeEvery leaves the machine to the server between two looks at its metrics.
const scrapeEvery = 5 * time.Millisecond

// load waits until as many sequences run and wait.
func (s *server) load(t *testing.T, running, waiting int) (took time.Duration) {
	t.Helper()
	began, pace := time.Now(), time.NewTicker(scrapeEvery)
	defer pace.Stop()
	for ; ; <-pace.C {
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
