package vllmsim

import (
	"log/slog"
	"time"

	"sluice/router/tpu"
)

// Options are a replica's settings; most repeat a flag of vLLM. Zero values
// mean the default.
type Options struct {
	Model               string        // --served-model-name; default: Size
	Size                string        // the architecture, one of tpu.Models; default gemma-3-27b
	MaxModelLen         int           // tokens, prompt and answer together; default 128000
	MaxNumSeqs          int           // sequences running at once; default 512
	MaxNumBatchedTokens int           // tokens in a step; default 8192
	PaddingGap          int           // VLLM_TPU_BUCKET_PADDING_GAP; 0: powers of two
	Speed               float64       // modelled seconds per real second; default 1
	APIKey              string        // --api-key; empty: open
	KeepAlive           time.Duration // an idle connection is closed after this; default 5 s, as uvicorn does
	Logger              *slog.Logger  // default: slog.Default()
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	setDefault(&o.Size, "gemma-3-27b")
	setDefault(&o.Model, o.Size)
	setDefault(&o.MaxModelLen, 128000)
	setDefault(&o.MaxNumSeqs, 512)
	setDefault(&o.MaxNumBatchedTokens, 8192)
	setDefault(&o.Speed, 1)
	setDefault(&o.KeepAlive, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// accelerator is the slice that every simulated replica has.
const accelerator = "v6e-2x2"

// setup is what steps cost and what the KV cache holds. It panics on an unknown
// size.
func (o Options) setup() tpu.Setup {
	s, err := tpu.SetupOf(o.Size, accelerator)
	if err != nil {
		panic("BUG: simulated replica: " + err.Error())
	}
	s.MaxModelLen, s.MaxNumSeqs, s.MaxBatched, s.Gap = o.MaxModelLen, o.MaxNumSeqs, o.MaxNumBatchedTokens, o.PaddingGap
	return s
}

func setDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}
