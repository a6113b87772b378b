package tpu

// Counters only rise; they are what vLLM's counters of the same name count.
type Counters struct {
	Steps            int
	StepTokens       int // scheduled, without padding
	PaddedTokens     int // the buckets that they ran in
	Preemptions      int
	PromptTokens     int // of prompts whose computing has ended, cached ones included
	GenerationTokens int
	PrefixQueries    int // tokens that were looked up in the prefix cache
	PrefixHits       int // tokens that were found there
	Finished         int
	Left             int // dropped because their client had left
	Stalls           int // steps that waited for their program to be compiled
}

// Gauges are as the last step left them: like vLLM's, they don't move between
// steps, and not at all while the engine hangs.
type Gauges struct {
	Running int
	Waiting int
	KV      float64 // share of the KV pages in use, 0 … 1
}

// Counters is what happened so far.
func (e *Engine) Counters() Counters { return e.counters }

// Gauges is what the last step left.
func (e *Engine) Gauges() Gauges { return e.gauges }

func (e *Engine) observe(waiting int) {
	e.gauges = Gauges{Running: len(e.running), Waiting: waiting, KV: e.cache.used()}
}
