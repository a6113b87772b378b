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
	Context   int // tokens that the sequences attend to in global layers, summed
	Local     int // the same in local layers: at most the model's window for each
}

// add counts n sequences that attend to so many tokens each.
func (s *Step) add(m *Model, n, context int) {
	s.Sequences += n
	s.Context += n * context
	s.Local += n * min(context, m.Window)
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
	read := m.WeightBytes() + m.kvRead(step.Context, step.Local)
	memory := read / (float64(s.Chips) * s.Bandwidth * f.MBU)
	return f.Fixed + f.PerSequence*float64(step.Sequences) + max(compute, memory)
}
