package tpu

import (
	"fmt"
	"time"
)

// Setup is how a replica was started: the model and the slice, and vLLM's flags
// that decide what work costs and how much fits.
type Setup struct {
	Model       Model
	Slice       Slice
	Fit         Fit
	MaxModelLen int     // --max-model-len: tokens, prompt and answer together
	MaxNumSeqs  int     // --max-num-seqs: sequences that run at once
	MaxBatched  int     // --max-num-batched-tokens: tokens of a step
	Gap         int     // VLLM_TPU_BUCKET_PADDING_GAP; 0: powers of two
	NoHybrid    bool    // --disable-hybrid-kv-cache-manager
	Utilisation float64 // --gpu-memory-utilization, 0 … 1
	Overhead    float64 // bytes of HBM for neither weights nor KV: see Reserved
}

// SetupOf is a model on a slice with the flags of the published measurements:
// 128,000 tokens of context, 512 sequences, 8,192 tokens a step, no gap. The
// error names what is not in the tables.
func SetupOf(model, slice string) (Setup, error) {
	m, ok := ModelOf(model)
	if !ok {
		return Setup{}, fmt.Errorf("model %q is not in the tables: use one of %v", model, Models())
	}
	s, ok := SliceOf(slice)
	if !ok {
		return Setup{}, fmt.Errorf("slice %q is not in the tables: use one of %v", slice, Slices())
	}
	return Setup{
		Model: m, Slice: s, Fit: Anchored(),
		MaxModelLen: 128000, MaxNumSeqs: 512, MaxBatched: 8192,
		Utilisation: Utilisation, Overhead: Reserved,
	}, nil
}

// Replica is the KV arithmetic of the setup.
func (s Setup) Replica() Replica {
	return Replica{Model: s.Model, Slice: s.Slice, Page: PageSize(s.MaxModelLen, s.MaxNumSeqs), NoHybrid: s.NoHybrid}
}

// Costs is what a setup's steps cost: its tables, worked out once.
type Costs struct {
	setup   Setup
	replica Replica
	buckets []int
	pages   int
}

// NewCosts works out a setup's tables. It fails where vLLM's start would: when
// the KV cache can't hold one sequence of MaxModelLen tokens.
func NewCosts(s Setup) (*Costs, error) {
	if s.MaxModelLen < 1 || s.MaxNumSeqs < 1 || s.MaxBatched < 1 {
		return nil, fmt.Errorf("max-model-len %d, max-num-seqs %d, max-num-batched-tokens %d: each must be at least 1",
			s.MaxModelLen, s.MaxNumSeqs, s.MaxBatched)
	}
	c := &Costs{setup: s, replica: s.Replica(), buckets: TokenBuckets(s.MaxBatched, s.Gap)}
	c.pages = c.replica.Pages(s.Utilisation, s.Overhead)
	if need := c.replica.PagesNeeded(s.MaxModelLen); need > c.pages {
		return nil, fmt.Errorf("one sequence of %d tokens needs %d KV pages of %d tokens, the memory holds %d: lower max-model-len",
			s.MaxModelLen, need, c.replica.Page, c.pages)
	}
	return c, nil
}

// Pages is how many KV pages there are.
func (c *Costs) Pages() int { return c.pages }

// Page is the tokens of a KV page.
func (c *Costs) Page() int { return c.replica.Page }

// time is the modelled duration of a step. Tokens are those scheduled; they and
// the sequences are padded here.
func (c *Costs) time(step Step) time.Duration {
	step.Tokens = Pad(c.buckets, step.Tokens)
	step.Padded = PadSequences(step.Sequences, c.setup.MaxNumSeqs)
	return seconds(c.setup.Fit.StepTime(c.setup.Model, c.setup.Slice, step))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
