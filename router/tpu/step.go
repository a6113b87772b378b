package tpu

// Fit is the constants of the step time. None was measured on a TPU: see
// Anchored.
type Fit struct {
	Fixed       float64 // seconds of a step for host and dispatch
	PerSequence float64 // seconds of a step for each sequence in it
	MFU         float64 // share of the chips' FLOP/s that computing reaches
	MBU         float64 // share of the HBM's bandwidth that reading reaches
}

// Anchored is the fit to start from. Fixed (prior 12 ms) and PerSequence (prior
// 0.12 ms) were fitted to published latency multiples of Gemma 3 on v6e 2x2;
// MFU (prior 0.57) and MBU (prior 0.60) hardly moved from their priors, because
// the multiples don't identify them. Times that follow are modelled, right in
// shape and order of magnitude at best.
func Anchored() Fit {
	return Fit{Fixed: 14.3e-3, PerSequence: 0.098e-3, MFU: 0.54, MBU: 0.56}
}

// Step is what one step of the engine runs.
type Step struct {
	Tokens    int // scheduled, padded to their bucket
	Sequences int // scheduled
	Padded    int // sequences that sampling is padded to
	Context   int // tokens that each sequence attends to, on average
}

// computeOverhead is the share of attention and the rest on top of the matrix
// products of the layers: prior.
const computeOverhead = 1.05

// StepTime is the modelled seconds of a step:
// fixed + per sequence + max(computing, reading).
func (f Fit) StepTime(m Model, s Slice, step Step) float64 {
	layers := 2 * m.Params * float64(step.Tokens) * computeOverhead
	logits := 2 * m.Embedding * float64(step.Padded)
	compute := (layers + logits) / (float64(s.Chips) * s.FLOPS * f.MFU)
	read := m.WeightBytes() + float64(step.Sequences)*m.kvRead(step.Context)
	memory := read / (float64(s.Chips) * s.Bandwidth * f.MBU)
	return f.Fixed + f.PerSequence*float64(step.Sequences) + max(compute, memory)
}

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
	decode := f.StepTime(m, s, Step{
		Tokens: Pad(buckets, mix.Sequences), Sequences: mix.Sequences,
		Padded: PadSequences(mix.Sequences, mix.MaxNumSeqs), Context: mix.Context,
	})
	prompts := max(mix.MaxBatched/mix.Prompt, 1)
	chunk := f.StepTime(m, s, Step{
		Tokens: Pad(buckets, mix.MaxBatched), Sequences: prompts,
		Padded: PadSequences(prompts, mix.MaxNumSeqs), Context: mix.Prompt,
	})
	return decode / float64(mix.Sequences) / (chunk / float64(mix.MaxBatched))
}
