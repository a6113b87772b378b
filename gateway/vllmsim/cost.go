package vllmsim

import (
	"time"

	"sluice/router/tpu"
)

// accelerator is the slice that every simulated replica has.
const accelerator = "v6e-2x2"

// reserved is the HBM that neither weights nor KV may use, in bytes: compiled
// programs and buffers. From the same fit as tpu.Anchored.
const reserved = 8.7 * (1 << 30)

// hardware is what steps cost and what the KV cache holds. The arithmetic is
// router/tpu's; nothing here was measured.
type hardware struct {
	replica tpu.Replica
	fit     tpu.Fit
	buckets []int // of tokens
	maxSeqs int
}

// newHardware panics on an unknown size.
func newHardware(o Options) hardware {
	model, ok := tpu.ModelOf(o.Size)
	if !ok {
		panic("BUG: vllmsim knows no model size " + o.Size)
	}
	slice, ok := tpu.SliceOf(accelerator)
	if !ok {
		panic("BUG: router/tpu knows no " + accelerator)
	}
	return hardware{
		replica: tpu.Replica{Model: model, Slice: slice, Page: tpu.PageSize(o.MaxModelLen, o.MaxNumSeqs)},
		fit:     tpu.Anchored(),
		buckets: tpu.TokenBuckets(o.MaxNumBatchedTokens, o.PaddingGap),
		maxSeqs: o.MaxNumSeqs,
	}
}

// pages is how many KV pages there are.
func (h *hardware) pages() int { return h.replica.Pages(tpu.Utilisation, reserved) }

// stepLoad is what a step computes.
type stepLoad struct {
	tokens    int // scheduled, prefill and decode
	sequences int // at least 1
	context   int // Σ tokens that the sequences attend to
}

// stepTime is the modelled duration of a step.
func (h *hardware) stepTime(l stepLoad) time.Duration {
	seconds := h.fit.StepTime(h.replica.Model, h.replica.Slice, tpu.Step{
		Tokens:    tpu.Pad(h.buckets, l.tokens),
		Sequences: l.sequences,
		Padded:    tpu.PadSequences(l.sequences, h.maxSeqs),
		Context:   l.context / l.sequences,
	})
	return time.Duration(seconds * float64(time.Second))
}
