package tune

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"sluice/router"
	"sluice/router/tpu"
)

// gaps are the padding gaps that are compared, in tokens. 64 is not proposed: vLLM
// recommends multiples of 128 for TPU.
var gaps = []int{0, 64, 128, 256, 512, 1024}

// padded is the steps seen under one padding gap. Modelled.
type padded struct {
	gap      int
	programs int     // sizes of steps that vLLM compiles when it starts
	waste    float64 // padding for each real token
	time     float64 // seconds of all steps
}

// gap proposes a padding gap for the steps seen; or, where these gain nothing but
// the replica was less than half full, for the steps that it would have when full.
func (r *replica) gap(pool string) Proposal {
	if len(r.traffic.Iterations) == 0 {
		return r.gapFor(pool, r.fullSteps(), r.traffic.requests(), "requests; the steps are modelled, none were seen")
	}
	p := r.gapFor(pool, r.traffic.Iterations, r.traffic.Iterations.Count(), "steps")
	if p.Changes() || r.traffic.InStep >= float64(r.held)/2 {
		return p
	}
	if full := r.gapFor(pool, r.fullSteps(), r.traffic.requests(), "requests; the steps are modelled"); full.Changes() {
		full.Reason = fmt.Sprintf("with the %.0f sequences that steps had, no gap gains much; with the %d of the cap (modelled) %s", r.traffic.InStep, r.held, full.Reason)
		return full
	}
	return p
}

// gapFor proposes for steps: the gap with the fewest programs among those whose
// steps last at most 1 % longer than the shortest.
func (r *replica) gapFor(pool string, steps Points, samples float64, of string) Proposal {
	p := Proposal{Pool: pool, Setting: "engine.padding_gap", From: r.setup.Gap, To: r.setup.Gap}
	p.rests(r.traffic, samples, of)
	now := r.pad(p.From, steps)
	all := map[int]padded{now.gap: now}
	for _, g := range gaps {
		if g < r.setup.MaxBatched {
			all[g] = r.pad(g, steps)
		}
	}
	best := now
	for _, g := range gaps {
		if x, tried := all[g]; tried && g%128 == 0 && x.time < best.time {
			best = x
		}
	}
	choice := best
	for _, x := range all {
		if x.gap%128 == 0 && x.time <= best.time*1.01 && (x.programs < choice.programs || x.programs == choice.programs && x.gap < choice.gap) {
			choice = x
		}
	}
	for _, g := range slices.Sorted(maps.Keys(all)) {
		p.Table = append(p.Table, all[g].line(now))
	}
	if !clear(1/now.time, 1/choice.time) {
		p.Reason = fmt.Sprintf("padding adds %.1f %% to the tokens of the steps; no other gap makes the steps %.0f %% shorter (modelled)", 100*now.waste, 100*Clear)
		return p
	}
	p.To, p.Flag = choice.gap, fmt.Sprintf("VLLM_TPU_BUCKET_PADDING_GAP=%d", choice.gap)
	p.Reason = fmt.Sprintf("padding adds %.0f %% to the tokens of the steps, with a gap of %d %.1f %%", 100*now.waste, choice.gap, 100*choice.waste)
	p.Effect = fmt.Sprintf("these steps take %.0f %% less time (modelled); a start compiles %d sizes of steps instead of %d",
		100*(1-choice.time/now.time), choice.programs, now.programs)
	return p
}

func (x padded) line(now padded) string {
	return fmt.Sprintf("gap %4d: %5.1f %% padding, %+5.1f %% time, %d sizes to compile", x.gap, 100*x.waste, 100*(x.time/now.time-1), x.programs)
}

// fullSteps is how many tokens steps have with the pool's cap held. Modelled.
func (r *replica) fullSteps() Points {
	var steps Points
	t := r.hold(r.held, router.ClassNone)
	for _, n := range slices.Sorted(maps.Keys(t.Steps)) {
		steps = append(steps, Point{float64(n), t.Steps[n]})
	}
	return steps
}

// pad plays the steps with a gap.
func (r *replica) pad(gap int, steps Points) padded {
	buckets := tpu.TokenBuckets(r.setup.MaxBatched, gap)
	x := padded{gap: gap, programs: len(buckets)}
	real, with := 0.0, 0.0
	for _, p := range steps {
		tokens := min(max(int(math.Round(p.Value)), 1), r.setup.MaxBatched)
		bucket := tpu.Pad(buckets, tokens)
		real, with = real+p.Weight*float64(tokens), with+p.Weight*float64(bucket)
		x.time += p.Weight * r.setup.Fit.StepTime(r.setup.Model, r.setup.Slice, r.step(tokens, bucket))
	}
	x.waste = with/real - 1
	return x
}

// step is a step of so many tokens, padded to a bucket, with as many decoding
// sequences as there were on average.
func (r *replica) step(tokens, bucket int) tpu.Step {
	n, context := min(tokens, r.beside()), r.context()
	return tpu.Step{
		Tokens: bucket, Sequences: n, Padded: tpu.PadSequences(n, r.setup.MaxNumSeqs),
		Context: n * context, Local: n * min(context, r.setup.Model.Window),
	}
}

// beside is how many sequences decode in a step, on average.
func (r *replica) beside() int {
	if n := int(math.Round(r.traffic.InStep)); n > 0 {
		return n
	}
	return max(min(r.held, r.setup.MaxNumSeqs, r.holds(router.ClassNone))/2, 1)
}

// context is the tokens that a decoding sequence attends to, on average.
func (r *replica) context() int {
	s := &r.traffic.Decode
	if s.count() == 0 {
		s = &r.traffic.Prefill
	}
	return max(int(s.Prompts.Mean()+s.Answers.Mean()/2), 1)
}
