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
	// NoHybrid is --disable-hybrid-kv-cache-manager: one group of all layers,
	// and the local ones keep all tokens, too. Whether vLLM on TPU runs Gemma 3
	// with the hybrid manager in every release has not been confirmed.
	NoHybrid bool
}

// Pages is how many KV pages a replica has at a utilisation, after the weights
// and overhead (bytes: compiled programs, buffers). A page holds the tokens of
// one group of layers. It is an upper limit: that the overhead is no more than
// what utilisation leaves free has not been confirmed on hardware.
func (r Replica) Pages(utilisation, overhead float64) int {
	memory := float64(r.Slice.Chips)*r.Slice.HBM*utilisation - r.Model.WeightBytes() - overhead
	return max(int(memory/r.pageBytes()), 0)
}

// pageBytes is the memory of a page: a group has as many layers as the model has
// global ones.
func (r Replica) pageBytes() float64 {
	layers := r.Model.GlobalLayers
	if r.NoHybrid {
		layers += r.Model.LocalLayers
	}
	return float64(r.Page) * r.Model.KVBytes * float64(layers)
}

// PagesNeeded is the pages of one sequence of so many tokens: all its tokens in
// the global group; in each local group only those that the window reaches,
// plus one page that it is sliding out of.
func (r Replica) PagesNeeded(tokens int) int {
	pages := ceilDiv(tokens, r.Page)
	return pages + r.localGroups()*min(pages, r.windowPages())
}

// localGroups is how many groups vLLM's hybrid KV manager makes of the local
// layers: each as large as the group of global layers, the last one padded.
func (r Replica) localGroups() int {
	if r.NoHybrid {
		return 0
	}
	return ceilDiv(r.Model.LocalLayers, r.Model.GlobalLayers)
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
