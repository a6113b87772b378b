package tune

import (
	"fmt"
	"math"
	"slices"

	"sluice/router"
	"sluice/router/tpu"
)

// Gaps are the padding gaps that are compared; 64 is not proposed: vLLM
// recommends multiples of 128 for TPU.
var gaps = []int{0, 64, 128, 256, 512, 1024}

// padded is the steps seen under one padding gap. Modelled.
type padded struct {
	gap      int
	programs int     // sizes of steps that vLLM compiles when it starts
	waste    float64 // padding for each real token
	time     float64 // seconds of all steps
}

// gap proposes a padding gap: that with the fewest programs among those whose
// steps last at most 1 % longer than the shortest.
func (r *replica) gap(pool string) Proposal {
	steps, seen := r.steps()
	p := Proposal{Pool: pool, Setting: "engine.padding_gap", From: r.setup.Gap, To: r.setup.Gap}
	p.rests(r.traffic, steps.Count(), seen)
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
	for _, g := range slices.Sorted(keys(all)) {
		p.Table = append(p.Table, all[g].line(now))
	}
	if !clear(1/now.time, 1/choice.time) {
		p.Reason = fmt.Sprintf("padding adds %.1f %% to the tokens of the steps; no other gap makes the steps %.0f %% shorter (modelled)", 100*now.waste, 100*Clear)
		return p
	}
	p.To, p.Flag = choice.gap, fmt.Sprintf("VLLM_TPU_BUCKET_PADDING_GAP=%d", choice.gap)
	p.Reason = fmt.Sprintf("padding adds %.0f %% to the tokens of the steps, with a gap of %d %.1f %%", 100*now.waste, choice.gap, 100*choice.waste)
	p.Effect = fmt.Sprintf("the steps seen take %.0f %% less time (modelled); a start compiles %d sizes of steps instead of %d",
		100*(1-choice.time/now.time), choice.programs, now.programs)
	return p
}

func (x padded) line(now padded) string {
	return fmt.Sprintf("gap %4d: %5.1f %% padding, %+5.1f %% time, %d sizes to compile", x.gap, 100*x.waste, 100*(x.time/now.time-1), x.programs)
}

func keys[V any](m map[int]V) func(func(int) bool) {
	return func(yield func(int) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// steps is how many tokens steps have: as seen, or else as modelled at the
// pool's cap.
func (r *replica) steps() (steps Points, seen string) {
	if len(r.traffic.Iterations) > 0 {
		return r.traffic.Iterations, "steps"
	}
	t := r.hold(r.held, router.ClassNone)
	for _, n := range slices.Sorted(keys(t.Steps)) {
		steps = append(steps, Point{float64(n), t.Steps[n]})
	}
	return steps, "modelled steps, none were seen"
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
