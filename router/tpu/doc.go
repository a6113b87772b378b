// Package tpu says what work costs on a TPU, and plays a replica that does it:
// tables of slices and models, the buckets that vLLM pads its steps to, the
// pages of its KV cache, the price of a generated token in prompt tokens, and
// above them an engine that schedules as vLLM does. No goroutine, no I/O and no
// clock.
//
// Three kinds of figures stand here, and each is marked:
//
//   - published: data sheets of the chip, configurations of the models
//   - read: arithmetic of vLLM and tpu-inference, as their source does it
//   - prior, fit: constants of a model of the step time, fitted to published
//     multiples that identify them badly. What follows from them is modelled,
//     not measured; use it to start from, never to claim a speed.
//
// # Costs
//
// A step of vLLM runs the scheduled tokens of all sequences at once, padded to
// a bucket (TokenBuckets). Its time is a fixed part, a part for each sequence,
// and the longer of computing and reading memory (Fit.StepTime): a decode step
// reads all the weights for one token of each sequence, a prefill chunk shares
// that reading among thousands. Hence the exchange rate W between the two, and
// hence a request costs more or less by what else its replica holds
// (Costs.Prefill, Costs.Decode).
//
// # Engine
//
// Engine is one replica, the same in real and in virtual time: Step ends what
// should have ended, begins the next step, and says when to call again. The
// scheduling is that of vLLM V1 (the rules are with begin), and what happens is
// told by Observe as it happens. With a seed it is deterministic.
//
// Where it is simpler than vLLM:
//
//   - A sequence needs the pages that PagesNeeded says, from the first step on.
//     vLLM takes pages of all local groups for a whole chunk of prefill and
//     gives back those behind the window a step later.
//   - Pages that hold nothing of use are taken before idle ones; vLLM takes the
//     longest unused whatever it holds. A local block is lost as a whole.
//   - A burst (continue_decode) lasts as long as its single steps would.
//   - Scheduling is not overlapped with the step before.
package tpu
