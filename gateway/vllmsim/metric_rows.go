package vllmsim

import (
	"fmt"
	"strconv"
)

// family is one name in /metrics: gauges, counters, or a histogram.
type family struct {
	kind   string // as Prometheus calls it
	name   string // without vllm: and _total
	in     era
	lines  []series                // its series, in vLLM's order
	of     func(*stats) *histogram // the histogram
	bounds func(maxModelLen int) []float64
}

// era says which releases have a family.
type era uint8

const (
	ever  era = iota
	past      // 0.10.0, but not 0.32.0
	later     // the reverse
)

// has says whether the release has families of that era.
func (e era) has(r Release) bool { return e == ever || (e == past) == (r == V0100) }

// series is one line of a family: what it is labelled with beside model_name and
// engine, and where its value is.
type series struct {
	labels []label
	value  func(*snapshot) float64
}

func gauge(name string, in era, lines ...series) family {
	return family{kind: "gauge", name: name, in: in, lines: lines}
}

func counter(name string, in era, lines ...series) family {
	return family{kind: "counter", name: name, in: in, lines: lines}
}

func spread(name string, in era, bounds func(int) []float64, of func(*stats) *histogram) family {
	return family{kind: "histogram", name: name, in: in, of: of, bounds: bounds}
}

// only is the one series of a family.
func only(value func(*snapshot) float64) series { return series{value: value} }

// with is a series that has one label more.
func with(name, value string, read func(*snapshot) float64) series {
	return series{labels: []label{{name, value}}, value: read}
}

// byEnding is the series of request_success for one ending.
func byEnding(why ending) series {
	return with("finished_reason", why.String(), func(s *snapshot) float64 { return float64(s.success[why]) })
}

func waiting(s *snapshot) float64       { return float64(s.Waiting) }
func used(s *snapshot) float64          { return s.KV }
func prefixQueries(s *snapshot) float64 { return float64(s.PrefixQueries) }
func prefixHits(s *snapshot) float64    { return float64(s.PrefixHits) }
func cached(s *snapshot) float64        { return float64(s.cached) }
func computed(s *snapshot) float64      { return float64(s.PromptTokens - s.cached) }
func none(*snapshot) float64            { return 0 }
func always(*snapshot) float64          { return 1 }

// rows is vLLM's own series of /metrics, in its order. What a replica without LoRA,
// speculation and KV transfer always has at 0 is there too.
var families = []family{
	counter("estimated_flops_per_gpu", later, only(none)),
	counter("estimated_read_bytes_per_gpu", later, only(none)),
	counter("estimated_write_bytes_per_gpu", later, only(none)),
	gauge("num_requests_running", ever, only(func(s *snapshot) float64 { return float64(s.Running) })),
	gauge("num_requests_waiting", ever, only(waiting)),
	gauge("num_requests_waiting_by_reason", later, with("reason", "capacity", waiting), with("reason", "deferred", none)),
	gauge("engine_sleep_state", later, with("sleep_state", "awake", always), with("sleep_state", "weights_offloaded", none), with("sleep_state", "discard_all", none)),
	gauge("gpu_cache_usage_perc", past, only(used)),
	counter("gpu_prefix_cache_queries", past, only(prefixQueries)),
	counter("gpu_prefix_cache_hits", past, only(prefixHits)),
	gauge("kv_cache_usage_perc", ever, only(used)),
	counter("prefix_cache_queries", ever, only(prefixQueries)),
	counter("prefix_cache_hits", ever, only(prefixHits)),
	counter("external_prefix_cache_queries", later, only(none)),
	counter("external_prefix_cache_hits", later, only(none)),
	counter("mm_cache_queries", later, only(none)),
	counter("mm_cache_hits", later, only(none)),
	counter("num_preemptions", ever, only(func(s *snapshot) float64 { return float64(s.Preemptions) })),
	counter("prompt_tokens", ever, only(func(s *snapshot) float64 { return float64(s.PromptTokens) })),
	counter("prompt_tokens_by_source", later, with("source", "local_compute", computed), with("source", "local_cache_hit", cached), with("source", "external_kv_transfer", none)),
	counter("prompt_tokens_cached", later, only(cached)),
	counter("prompt_tokens_cached_by_source", later, with("source", "device", prefixHits), with("source", "host", none), with("source", "p2p", none), with("source", "disk", none), with("source", "external_unspecified", none)),
	counter("generation_tokens", ever, only(func(s *snapshot) float64 { return float64(s.GenerationTokens) })),
	counter("request_success", past, byEnding(stopped), byEnding(reached), byEnding(aborted)),
	counter("request_success", later, byEnding(stopped), byEnding(reached), byEnding(aborted), byEnding(failed), with("finished_reason", "repetition", none)),
	spread("request_prompt_tokens", ever, sizes, func(s *stats) *histogram { return &s.promptSize }),
	spread("request_generation_tokens", ever, sizes, func(s *stats) *histogram { return &s.generatedSize }),
	spread("iteration_tokens_total", ever, fixedBounds(1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384), func(s *stats) *histogram { return &s.iteration }),
	spread("request_max_num_generation_tokens", ever, sizes, func(s *stats) *histogram { return &s.longestSize }),
	spread("request_params_n", ever, fixedBounds(1, 2, 5, 10, 20), func(s *stats) *histogram { return &s.answers }),
	spread("request_params_max_tokens", ever, sizes, func(s *stats) *histogram { return &s.boundSize }),
	spread("time_to_first_token_seconds", ever, fixedBounds(.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560), func(s *stats) *histogram { return &s.ttft }),
	spread("time_per_output_token_seconds", past, tokenTimes, func(s *stats) *histogram { return &s.itl }),
	spread("inter_token_latency_seconds", later, tokenTimes, func(s *stats) *histogram { return &s.itl }),
	spread("request_time_per_output_token_seconds", later, tokenTimes, func(s *stats) *histogram { return &s.tpot }),
	spread("e2e_request_latency_seconds", ever, requestTimes, func(s *stats) *histogram { return &s.e2e }),
	spread("request_queue_time_seconds", ever, requestTimes, func(s *stats) *histogram { return &s.queue }),
	spread("request_inference_time_seconds", ever, requestTimes, func(s *stats) *histogram { return &s.inference }),
	spread("request_prefill_time_seconds", ever, requestTimes, func(s *stats) *histogram { return &s.prefill }),
	spread("request_decode_time_seconds", ever, requestTimes, func(s *stats) *histogram { return &s.decode }),
	spread("request_num_preemptions", later, fixedBounds(1, 2, 3, 4, 5, 10, 20), func(s *stats) *histogram { return &s.preemptions }),
	spread("request_prefill_kv_computed_tokens", later, sizes, func(s *stats) *histogram { return &s.computedSize }),
}

func fixedBounds(bounds ...float64) func(int) []float64 {
	return func(int) []float64 { return bounds }
}

// The upper bounds of what lasts as long as a token, and as long as a request.
func tokenTimes(int) []float64 {
	return []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
}

func requestTimes(int) []float64 {
	return []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
}

// sizes is the 1-2-5 series up to limit.
func sizes(limit int) []float64 {
	var bounds []float64
	for decade := 1; ; decade *= 10 {
		for _, digit := range []int{1, 2, 5} {
			if decade*digit > limit {
				return bounds
			}
			bounds = append(bounds, float64(decade*digit))
		}
	}
}

// write appends vLLM's own metrics under the names of the release.
func (s *snapshot) write(t *exposition, o *Options) {
	r, served := o.Release, o.Model
	t.common, t.created = []label{{"engine", "0"}, {"model_name", served}}, s.created
	for _, f := range families {
		if !f.in.has(r) {
			continue
		}
		if f.of != nil {
			t.histogram("vllm:"+f.name, series{}, f.of(s.stats))
			continue
		}
		t.family(f, s)
	}
	if later.has(r) {
		t.common = []label{{"model_name", served}}
		t.family(counter("admission_rejections", later,
			with("reason", "max_num_queued_reqs", func(s *snapshot) float64 { return float64(s.busy) }), with("reason", "max_num_queued_tokens", none)), s)
	}
	t.common = []label{{"engine", "0"}}
	t.family(gauge("cache_config_info", ever, series{labels: []label{
		{"block_size", strconv.Itoa(s.page)}, {"cache_dtype", "auto"}, {"enable_prefix_caching", "True"},
		{"gpu_memory_utilization", fmt.Sprint(o.Utilisation)}, {"num_gpu_blocks", strconv.Itoa(s.pages)},
	}, value: always}), s)
}
