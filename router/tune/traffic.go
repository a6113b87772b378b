package tune

import (
	"strconv"

	"sluice/router"
)

// Sizes is what was seen of a class: tokens of prompts and of answers.
type Sizes struct {
	Prompts, Answers Points
}

// count is how many requests were seen.
func (s *Sizes) count() float64 { return s.Prompts.Count() }

// Traffic is what the replicas of a pool have seen.
type Traffic struct {
	Prefill, Decode Sizes
	Guessed         bool    // the classes were told apart by the length of answers
	Iterations      Points  // tokens of the engine's steps; nil: not known
	InStep          float64 // sequences that decode in a step, on average; 0: not known
	Finished        float64 // requests; 0: not known
	Preemptions     float64
	Hits            float64 // share of prompt tokens that the prefix cache had
	Page, Pages     int     // of the KV cache of one replica, by its own account; 0: not known
	Late            float64 // share of requests that waited in the gateway or were refused; -1: not known
	Workload        string  // name of the workload that it was drawn from; empty: it was seen
}

// Of is a class's sizes.
func (t *Traffic) Of(c router.Class) *Sizes {
	if c == router.Prefill {
		return &t.Prefill
	}
	return &t.Decode
}

// requests is how many were seen.
func (t *Traffic) requests() float64 { return t.Prefill.count() + t.Decode.count() }

// shortAnswer is the most tokens of an answer that make a request prefill-heavy
// whatever its prompt: the router's own rule.
const shortAnswer = 16

// Seen puts together what the replicas of a pool say and what the gateway says of
// the pool; it may be nil.
func Seen(pool string, gateway *Metrics, replicas []*Metrics) Traffic {
	t := Traffic{Late: -1}
	var prompts, answers, iterations Dist
	var queries, hits, generated float64
	for _, m := range replicas {
		prompts.add(m.dist("vllm:request_prompt_tokens", nil))
		answers.add(m.dist("vllm:request_generation_tokens", nil))
		iterations.add(m.dist("vllm:iteration_tokens_total", nil))
		t.Finished += m.sum("vllm:request_success_total", nil)
		t.Preemptions += m.sum("vllm:num_preemptions_total", nil)
		generated += m.sum("vllm:generation_tokens_total", nil)
		queries += m.sum("vllm:prefix_cache_queries_total", nil)
		hits += m.sum("vllm:prefix_cache_hits_total", nil)
		t.cache(m)
	}
	t.Iterations = iterations.Points()
	if n := t.Iterations.Count(); n > 0 {
		t.InStep = generated / n
	}
	if queries > 0 {
		t.Hits = min(hits/queries, 1)
	}
	if gateway == nil || !t.gateway(pool, gateway) {
		t.guess(prompts.Points(), answers.Points())
	}
	return t
}

// cache takes the size of the KV cache; that of the smallest counts.
func (t *Traffic) cache(m *Metrics) {
	for _, s := range m.byName["vllm:cache_config_info"] {
		page, err := strconv.Atoi(s.labels["block_size"])
		pages, err2 := strconv.Atoi(s.labels["num_gpu_blocks"])
		if err == nil && err2 == nil && page > 0 && pages > 0 && (t.Pages == 0 || pages < t.Pages) {
			t.Page, t.Pages = page, pages
		}
	}
}

// gateway takes the sizes by class that the gateway knows; false: it has none of
// this pool.
func (t *Traffic) gateway(pool string, m *Metrics) bool {
	for _, c := range []router.Class{router.Prefill, router.Decode} {
		w := with{"pool": pool, "class": c.String()}
		t.Of(c).Prompts = m.dist("sluice_prompt_tokens", w).Points()
		t.Of(c).Answers = m.dist("sluice_output_tokens", w).Points()
	}
	t.late(pool, m)
	return t.requests() > 0
}

// late is how many waited for longer than a tenth of a second. Those who were
// refused have no pool: all of them count for every pool.
func (t *Traffic) late(pool string, m *Metrics) {
	waits := m.dist("sluice_queue_wait_seconds", with{"pool": pool})
	late, all := 0.0, 0.0
	for i, bound := range waits.Bounds {
		all += waits.Counts[i]
		if bound > 0.1 {
			late += waits.Counts[i]
		}
	}
	for _, outcome := range []router.Outcome{router.QueueFull, router.WaitExpired} {
		refused := m.sum("sluice_requests_finished_total", with{"outcome": outcome.String()})
		late, all = late+refused, all+refused
	}
	if all > 0 {
		t.Late = late / all
	}
}

// guess tells the classes apart where nobody has: the short answers are
// prefill's, and theirs are the longest prompts.
func (t *Traffic) guess(prompts, answers Points) {
	t.Guessed = true
	short := 0.0
	for _, x := range answers {
		if x.Value <= shortAnswer {
			short += x.Weight
		}
	}
	t.Prefill.Answers, t.Decode.Answers = answers.split(short)
	t.Decode.Prompts, t.Prefill.Prompts = prompts.split(prompts.Count() - short)
}
