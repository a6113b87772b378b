package vllmsim

import (
	"fmt"
	"io"
	"slices"

	"sluice/router/tpu"
)

// stats is what /metrics shows beside the engine's own counters and gauges.
// Times are real seconds.
type stats struct {
	success [endings]int // by ending

	iteration, ttft, itl, tpot, e2e, queue, prefill, decode, promptSize, generatedSize histogram
}

// snapshot is all of a scrape.
type snapshot struct {
	*stats
	tpu.Counters
	tpu.Gauges
	page, pages int // tokens of a KV page, and how many there are
}

var (
	firstTokenBuckets = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	tokenBuckets      = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	requestBuckets    = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	iterationBuckets  = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
)

func newStats(maxModelLen int) stats {
	return stats{
		iteration:  newHistogram(iterationBuckets),
		ttft:       newHistogram(firstTokenBuckets),
		itl:        newHistogram(tokenBuckets),
		tpot:       newHistogram(tokenBuckets),
		prefill:    newHistogram(requestBuckets),
		decode:     newHistogram(requestBuckets),
		e2e:        newHistogram(requestBuckets),
		queue:      newHistogram(requestBuckets),
		promptSize: newHistogram(sizeBuckets(maxModelLen)), generatedSize: newHistogram(sizeBuckets(maxModelLen)),
	}
}

// sizeBuckets is the 1-2-5 series up to limit.
func sizeBuckets(limit int) []float64 {
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

// write renders the metrics in Prometheus' text format with vLLM's names.
func (s *snapshot) write(w io.Writer, served string) {
	labels := fmt.Sprintf(`engine="0",model_name=%q`, served)
	gauge := func(name string, value float64) {
		fmt.Fprintf(w, "# TYPE vllm:%s gauge\nvllm:%s{%s} %v\n", name, name, labels, value)
	}
	counter := func(name string, value int) {
		fmt.Fprintf(w, "# TYPE vllm:%s_total counter\nvllm:%s_total{%s} %d\n", name, name, labels, value)
	}
	gauge("num_requests_running", float64(s.Running))
	gauge("num_requests_waiting", float64(s.Waiting))
	fmt.Fprintf(w, "# TYPE vllm:num_requests_waiting_by_reason gauge\nvllm:num_requests_waiting_by_reason{%s,reason=\"capacity\"} %d\nvllm:num_requests_waiting_by_reason{%s,reason=\"deferred\"} 0\n", labels, s.Waiting, labels)
	gauge("kv_cache_usage_perc", s.KV)
	fmt.Fprintf(w, "# TYPE vllm:engine_sleep_state gauge\nvllm:engine_sleep_state{%s,sleep_state=\"awake\"} 1\n", labels)
	fmt.Fprintf(w, "# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{block_size=\"%d\",cache_dtype=\"auto\",enable_prefix_caching=\"True\",engine=\"0\",gpu_memory_utilization=\"%v\",num_gpu_blocks=\"%d\"} 1\n",
		s.page, tpu.Utilisation, s.pages)
	counter("num_preemptions", s.Preemptions)
	counter("prompt_tokens", s.PromptTokens)
	counter("generation_tokens", s.GenerationTokens)
	counter("prefix_cache_queries", s.PrefixQueries)
	counter("prefix_cache_hits", s.PrefixHits)
	fmt.Fprint(w, "# TYPE vllm:request_success_total counter\n")
	for why := stopped; why < endings; why++ {
		fmt.Fprintf(w, "vllm:request_success_total{%s,finished_reason=%q} %d\n", labels, why, s.success[why])
	}
	fmt.Fprintf(w, "vllm:request_success_total{%s,finished_reason=\"repetition\"} 0\n", labels)
	s.iteration.write(w, "iteration_tokens_total", labels)
	s.ttft.write(w, "time_to_first_token_seconds", labels)
	s.itl.write(w, "inter_token_latency_seconds", labels)
	s.tpot.write(w, "request_time_per_output_token_seconds", labels)
	s.prefill.write(w, "request_prefill_time_seconds", labels)
	s.decode.write(w, "request_decode_time_seconds", labels)
	s.e2e.write(w, "e2e_request_latency_seconds", labels)
	s.queue.write(w, "request_queue_time_seconds", labels)
	s.promptSize.write(w, "request_prompt_tokens", labels)
	s.generatedSize.write(w, "request_generation_tokens", labels)
}

// answered books a whole answer, whose first and last token came at these times.
func (s *stats) answered(tokens int, seconds float64) {
	s.decode.add(seconds)
	if tokens > 1 {
		s.tpot.add(seconds / float64(tokens-1))
	} else {
		s.tpot.add(0)
	}
}

// clone is a copy that later steps don't change.
func (s *stats) clone() *stats {
	c := *s
	for _, h := range []*histogram{&c.iteration, &c.ttft, &c.itl, &c.tpot, &c.e2e, &c.queue, &c.prefill, &c.decode, &c.promptSize, &c.generatedSize} {
		h.counts = slices.Clone(h.counts)
	}
	return &c
}

// histogram counts observations by upper bound.
type histogram struct {
	bounds []float64
	counts []int // one more than bounds: the rest
	sum    float64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]int, len(bounds)+1)}
}

func (h *histogram) add(v float64) {
	i, _ := slices.BinarySearch(h.bounds, v)
	h.counts[i]++
	h.sum += v
}

func (h *histogram) write(w io.Writer, name, labels string) {
	fmt.Fprintf(w, "# TYPE vllm:%s histogram\n", name)
	total := 0
	for i, n := range h.counts {
		total += n
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = fmt.Sprintf("%.1f", h.bounds[i])
			if h.bounds[i] != float64(int(h.bounds[i])) {
				bound = fmt.Sprint(h.bounds[i])
			}
		}
		fmt.Fprintf(w, "vllm:%s_bucket{%s,le=%q} %d\n", name, labels, bound, total)
	}
	fmt.Fprintf(w, "vllm:%s_sum{%s} %v\nvllm:%s_count{%s} %d\n", name, labels, h.sum, name, labels, total)
}
