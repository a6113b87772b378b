// Package tpu says what work costs on a TPU: tables of slices and models, the
// buckets that vLLM pads its steps to, the pages of its KV cache, and the price
// of a generated token in prompt tokens. Pure tables and functions.
//
// Three kinds of figures stand here, and each is marked:
//
//   - published: data sheets of the chip, configurations of the models
//   - read: arithmetic of vLLM and tpu-inference, as their source does it
//   - prior, fit: constants of a model of the step time, fitted to published
//     multiples that identify them badly. What follows from them is modelled,
//     not measured; use it to start from, never to claim a speed.
//
// A step of vLLM runs the scheduled tokens of all sequences at once, padded to
// a bucket (TokenBuckets). Its time is a fixed part, a part for each sequence,
// and the longer of computing and reading memory (Fit.StepTime): a decode step
// reads all the weights for one token of each sequence, a prefill chunk shares
// that reading among thousands. Hence the exchange rate W between the two.
package tpu
