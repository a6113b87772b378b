package tune

import (
	"fmt"
	"slices"

	"sluice/router"
	"sluice/router/tpu"
)

// chunks are the sizes of steps that are compared, in tokens, beside what runs now.
// None is above 8,192, for which the model's memory was fitted.
var chunks = []int{1024, 2048, 4096, 8192}

// chunk proposes max_num_batched_tokens: the size with the best goodput.
func (r *replica) chunk(pool string) Proposal {
	p := Proposal{Pool: pool, Setting: "engine.max_num_batched_tokens", From: r.setup.MaxBatched, To: r.setup.MaxBatched}
	p.rests(r.traffic, r.traffic.requests(), "requests")
	sizes := chunks
	if !slices.Contains(sizes, p.From) {
		sizes = append(slices.Clone(sizes), p.From)
		slices.Sort(sizes)
	}
	now, best := r.knee(router.ClassNone).at, p.From
	goodput := map[int]float64{p.From: now.goodput}
	for _, n := range sizes {
		if n <= r.beside() {
			continue
		}
		if n != p.From {
			goodput[n] = r.chunked(n).kneeFrom(now.held/2, router.ClassNone).at.goodput
		}
		p.Table = append(p.Table, fmt.Sprintf("%5d tokens: goodput %.2f/s at its knee, %.0f ms for a full step", n, goodput[n], 1e3*r.fullStep(n)))
		if goodput[n] > goodput[best] {
			best = n
		}
	}
	full, then := r.fullStep(p.From), r.fullStep(best)
	if !clear(goodput[p.From], goodput[best]) {
		p.Reason = fmt.Sprintf("a full step lasts %.0f ms beside %d decoding sequences (modelled); no other size gains %.0f %% of goodput", 1e3*full, r.beside(), 100*Clear)
		return p
	}
	p.To, p.Flag = best, fmt.Sprintf("--max-num-batched-tokens %d", best)
	p.Reason = fmt.Sprintf("a full step lasts %.0f ms, with %d tokens %.0f ms (modelled), and each of the %d sequences that decode beside it waits so long for its next token",
		1e3*full, best, 1e3*then, r.beside())
	p.Effect = "goodput of a replica at its knee " + gained(goodput[p.From], goodput[best]) + " requests/s (modelled)"
	return p
}

func (r *replica) chunked(n int) *replica {
	return r.with(func(s *tpu.Setup) { s.MaxBatched = n })
}

// fullStep is the modelled seconds of a step that is as large as it may be.
func (r *replica) fullStep(batched int) float64 {
	bucket := tpu.Pad(tpu.TokenBuckets(batched, r.setup.Gap), batched)
	return r.setup.Fit.StepTime(r.setup.Model, r.setup.Slice, r.step(batched, bucket))
}
