package router

import "testing"

// Prompts make way for answers that wait where all that are asked for would leave
// the replica much of its time.
func TestPromptsMakeWayForAnswers(t *testing.T) {
	for _, test := range []struct {
		name             string
		prompts, answers float64 // the part that is refused
		busy             float64 // the part of the replica's time that prompts take
		share            float64 // of the route's work, that prompts had
		want             bool
	}{
		{"few answers are refused", 0, 0.3, 0.3, 0.5, false},
		{"there are few prompts", 0, 0.6, 0.3, 0.5, true},
		{"prompts fill it", 0, 0.6, 0.7, 0.5, false},
		{"prompts would fill it", 0.5, 0.6, 0.35, 0.5, false},
		{"they make way already", 0.5, 0.6, 0.25, 0.5, true},
		{"prompts had less than their share", 0, 0.6, 0.3, 0.1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := testRouter(promisedConfig(total(64), total(64)))
			rt, rep := r.routes["gemma"], r.pools["big"].replicas[0]
			rt.prefill.misses.value, rt.decode.misses.value = test.prompts, test.answers
			rep.pace.inflow.add(r.now, test.busy/rep.pace.step.k[2]*inflowMemory)
			rt.work[Prefill].add(r.now, 1e6*test.share)
			rt.work[Decode].add(r.now, 1e6*(1-test.share))
			c := claim{class: Prefill, route: rt, queue: rt.prefill}
			if got := c.mixes(rep, r.now); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
