// Package tune proposes what a pool should be set to, from the traffic that its
// replicas have seen: caps, padding gap, max_num_seqs, max_num_batched_tokens.
// It reads no network and no clock; its caller brings the texts of /metrics.
//
// # How a pool is judged
//
// Traffic is what the metrics say: the sizes of prompts and answers by class
// (the gateway's histograms; or, where there are none, the replicas' own, with
// the classes told apart by the length of answers), the sizes of the engine's
// steps, preemptions, pages. A histogram is a rough thing: within a bucket its
// values are spread so that all together have the mean that its sum says (Dist).
//
// Then, each with what was chosen before:
//
//  1. padding gap: the steps seen, padded to each gap's buckets, in modelled time
//  2. max_num_batched_tokens: goodput of a replica with each chunk size
//  3. max_num_seqs: it decides the size of a KV page, hence how many sequences fit
//  4. caps: the most sequences at which goodput is still at its best
//
// Goodput comes from a closed loop on the engine model of router/tpu: a replica
// that always holds so many sequences, drawn from the traffic seen, each followed
// by another when it ends. What completes within the SLO of the routes counts.
//
// All of that is modelled: the step times are those of tpu.Anchored, which nobody
// has measured. So a change is proposed only where it gains clearly (Clear), and
// each says what it rests on. File makes the changes in the operator's own file.
package tune
