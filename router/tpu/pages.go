package tpu

import "math/bits"

// Utilisation is vLLM's default --gpu-memory-utilization on TPU: the share of
// HBM that weights and KV cache may fill.
const Utilisation = 0.90

// Reserved is the HBM in bytes that neither weights nor KV get although
// Utilisation would allow it: compiled programs and buffers. Fit (prior 6 GiB),
// together with Anchored. Capacity without it is an upper limit.
const Reserved = 8.7 * gib

// PageSize is the tokens of a KV page. Read from tpu-inference: the block table
// of max_num_seqs sequences must fit in scalar memory (half of 1 MiB, 4 bytes
// an entry), so long contexts and many sequences force large pages: 128,000
// tokens and 512 sequences need 512 tokens a page, 64 sequences only 64.
// Both arguments are at least 1.
func PageSize(maxModelLen, maxNumSeqs int) int {
	const smallest = 16
	entries := max(1<<20/2/maxNumSeqs/4, 1) // of one sequence
	return max(smallest, nextPowerOfTwo(ceilDiv(maxModelLen, entries)))
}

// Replica is a model on a slice, with pages of a size.
type Replica struct {
	Model Model
	Slice Slice
	Page  int // tokens
}

// Pages is how many KV pages a replica has at a utilisation, after the weights
// and overhead (bytes: compiled programs, buffers). A page holds the tokens of
// one group of layers, as many as the model has global ones. It is an upper
// limit: that the hybrid KV manager is active, and that the overhead is no more
// than what utilisation leaves free, has not been confirmed on hardware.
func (r Replica) Pages(utilisation, overhead float64) int {
	memory := float64(r.Slice.Chips)*r.Slice.HBM*utilisation - r.Model.WeightBytes() - overhead
	page := float64(r.Page) * r.Model.KVBytes * float64(r.Model.GlobalLayers)
	return max(int(memory/page), 0)
}

// PagesNeeded is the pages of one sequence of so many tokens: all its tokens in
// the global group; in each local group only those that the window reaches,
// plus one page that it is sliding out of.
func (r Replica) PagesNeeded(tokens int) int {
	pages := ceilDiv(tokens, r.Page)
	return pages + r.Model.localGroups()*min(pages, r.windowPages())
}

// windowPages is the most pages that a sequence holds in a local group.
func (r Replica) windowPages() int { return ceilDiv(r.Model.Window, r.Page) + 1 }

// MaxSequences is how many sequences of so many tokens (at least 1) fit in the
// KV cache at the same time, at vLLM's default utilisation without overhead.
// Beyond it vLLM preempts: it throws away a sequence's work and starts it again.
func (r Replica) MaxSequences(tokens int) int {
	return r.Pages(Utilisation, 0) / r.PagesNeeded(tokens)
}

// nextPowerOfTwo is the smallest power of two of at least n; n is at least 1.
func nextPowerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }
