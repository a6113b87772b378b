package tpu

// Mix is the work that an exchange rate is for.
type Mix struct {
	Sequences  int // that decode together: the pool's cap
	Context    int // of each, tokens on average
	Prompt     int // tokens of a prompt that is prefilled
	MaxBatched int // max_num_batched_tokens
	Gap        int // padding gap
	MaxNumSeqs int
}

// Benchmark is the mix of the published measurements at a number of sequences:
// generation from 500 tokens to 1,500, thus 1,000 on average; prompts of 4,000.
func Benchmark(sequences int) Mix {
	return Mix{Sequences: sequences, Context: 1000, Prompt: 4000, MaxBatched: 8192, MaxNumSeqs: 512}
}

// W is the exchange rate of classification: how many prompt tokens cost as much
// chip time as one generated token. A decode step yields one token for each of
// its sequences; a chunk of prefill, as large as a step may be, yields its
// tokens. Modelled, not measured: about 24 for Gemma 3 27B at 64 sequences on
// v6e 2x2.
func (f Fit) W(m Model, s Slice, mix Mix) float64 {
	buckets := TokenBuckets(mix.MaxBatched, mix.Gap)
	stepTime := func(tokens, sequences, context int) float64 {
		step := Step{Tokens: Pad(buckets, tokens), Padded: PadSequences(sequences, mix.MaxNumSeqs)}
		step.add(&m, sequences, context)
		return f.StepTime(m, s, step)
	}
	decode := stepTime(mix.Sequences, mix.Sequences, mix.Context)
	chunk := stepTime(mix.MaxBatched, max(mix.MaxBatched/mix.Prompt, 1), mix.Prompt)
	return decode / float64(mix.Sequences) / (chunk / float64(mix.MaxBatched))
}
