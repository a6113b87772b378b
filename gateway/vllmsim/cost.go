package vllmsim

import "time"

// model is what the cost of a Gemma 3 model depends on (bf16).
type model struct {
	params    float64 // parameters outside the embedding
	embedding float64 // parameters of the (tied) embedding
	weights   float64 // bytes in HBM
	global    int     // layers that attend to everything
	local     int     // layers that attend to the last window tokens
	slices    int     // KV groups of local layers, each as large as the global one
}

var models = map[string]model{
	"gemma-3-12b": {params: 10.76e9, embedding: 1.01e9, weights: 22.7 * gib, global: 8, local: 40, slices: 5},
	"gemma-3-27b": {params: 25.60e9, embedding: 1.41e9, weights: 51.1 * gib, global: 10, local: 52, slices: 6},
}

const gib = 1 << 30

// The slice: v6e-2x2, four chips. From Google's documentation.
const (
	chips     = 4
	chipFLOPS = 918e12  // per second, bf16
	chipHBM   = 31.25   // GiB usable
	chipBytes = 1638e9  // HBM bytes per second
	kvBytes   = 8192    // KV bytes of a token in a layer, both Gemma 3 sizes
	window    = 1024    // tokens that a local layer sees
	usable    = 0.90    // --gpu-memory-utilization
	overhead  = 8.7     // GiB of HBM beyond weights and KV; modelled
	smem      = 1 << 20 // bytes of scalar memory for the block tables
	minPage   = 16      // tokens
	minBucket = 16      // tokens
	minSeqs   = 8       // request padding starts here
)

// The modelled priors: efficiencies and fixed times that nobody measured. They
// give plausible orders of magnitude and the right shapes, nothing more.
const (
	priorMFU      = 0.54                     // of the peak FLOPS
	priorMBU      = 0.56                     // of the HBM bandwidth
	priorFixed    = 14300 * time.Microsecond // per step: host and dispatch
	priorPerSeq   = 98 * time.Microsecond    // per sequence of a step
	priorOverhead = 1.05                     // attention FLOPS on top of the weights'
)

// stepLoad is what a step computes.
type stepLoad struct {
	tokens    int // scheduled, prefill and decode
	sequences int
	context   int // Σ tokens that the global layers read
	windowed  int // Σ of the same, at most window each
}

// stepTime is the modelled duration of a step: fixed costs plus the longer of
// computing and reading memory.
func (m model) stepTime(l stepLoad, gap int) time.Duration {
	flops := 2*m.params*float64(padTokens(l.tokens, gap))*priorOverhead + 2*m.embedding*float64(padSequences(l.sequences))
	compute := flops / (chips * chipFLOPS * priorMFU)
	read := m.weights + kvBytes*(float64(m.global)*float64(l.context)+float64(m.local)*float64(l.windowed))
	memory := read / (chips * chipBytes * priorMBU)
	return priorFixed + time.Duration(l.sequences)*priorPerSeq + time.Duration(max(compute, memory)*float64(time.Second))
}

// padTokens rounds a step's tokens up to the compiled shape that holds them:
// powers of two from minBucket; with a gap, powers of two up to it and then its multiples.
func padTokens(n, gap int) int {
	bucket := minBucket
	for bucket < n {
		if gap > 0 && bucket*2 > gap {
			return bucket + (n-bucket+gap-1)/gap*gap
		}
		bucket *= 2
	}
	return bucket
}

// padSequences rounds a step's sequences up to the compiled shape.
func padSequences(n int) int {
	padded := minSeqs
	for padded < n {
		padded *= 2
	}
	return padded
}

// pageTokens is the KV page size in tokens: as large as it must be for the block
// tables of all sequences to fit into scalar memory.
func pageTokens(maxModelLen, maxNumSeqs int) int {
	perSequence := smem / 2 / maxNumSeqs / 4
	page := minPage
	for page*perSequence < maxModelLen {
		page *= 2
	}
	return page
}

// pages is how many KV pages of one group a replica holds, with reserved GiB
// of HBM that neither weights nor KV may use.
func (m model) pages(page int, reserved float64) int {
	free := (chips*chipHBM*usable-reserved)*gib - m.weights
	return int(free / float64(page*kvBytes*m.global))
}

// pagesFor is how many pages a sequence of n tokens occupies: all of its tokens
// in the global group, only the window's in each local one.
func (m model) pagesFor(n, page int) int {
	all := (n + page - 1) / page
	return all + m.slices*min(all, window/page+1)
}
