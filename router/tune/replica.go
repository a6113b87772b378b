package tune

import (
	"fmt"
	"math"
	"time"

	"sluice/config"
	"sluice/router"
	"sluice/router/tpu"
)

// replica is one replica of a pool with the traffic that it sees.
type replica struct {
	setup   tpu.Setup
	traffic *Traffic
	held    int           // sequences that all gateways together may have on it now
	slo     [2]config.SLO // prefill, decode
}

// side is a class's index.
func side(c router.Class) int {
	if c == router.Prefill {
		return 0
	}
	return 1
}

// replicaOf is a pool's replica as the configuration tells it. The error says
// what is missing.
func replicaOf(cfg *config.Config, name string, t *Traffic) (*replica, error) {
	p := cfg.Pools[name]
	s, err := tpu.SetupOf(p.Size, p.Accelerator)
	if err != nil {
		return nil, fmt.Errorf("pools.%s: %w", name, err)
	}
	e := p.Engine
	if e.MaxModelLen == 0 || e.MaxNumSeqs == 0 || e.MaxNumBatchedTokens == 0 {
		return nil, fmt.Errorf("pools.%s.engine: max_model_len=%d, max_num_seqs=%d and max_num_batched_tokens=%d; 0 means not told: write what the replicas were started with",
			name, e.MaxModelLen, e.MaxNumSeqs, e.MaxNumBatchedTokens)
	}
	s.MaxModelLen, s.MaxNumSeqs, s.MaxBatched, s.Gap = e.MaxModelLen, e.MaxNumSeqs, e.MaxNumBatchedTokens, e.PaddingGap
	r := &replica{setup: s, traffic: t, held: p.Cap.Total, slo: [2]config.SLO{strictest(cfg, name, router.Prefill), strictest(cfg, name, router.Decode)}}
	r.believe(t)
	if _, err := tpu.NewCosts(r.setup); err != nil {
		return nil, fmt.Errorf("pools.%s: %w", name, err)
	}
	return r, nil
}

// believe takes the memory from the pages that the replicas say they have, where
// they are of the size that follows from the flags.
func (r *replica) believe(t *Traffic) {
	if t.Pages == 0 || t.Page != r.setup.Replica().Page {
		return
	}
	m := r.setup.Model
	memory := float64(r.setup.Slice.Chips)*r.setup.Slice.HBM*r.setup.Utilisation - m.WeightBytes()
	page := float64(t.Page) * m.KVBytes * float64(m.GlobalLayers)
	r.setup.Overhead = max(memory-(float64(t.Pages)+0.5)*page, 0)
}

// strictest is the SLO that the pool must keep for a class: the shortest times
// that a route promises which may send it there.
func strictest(cfg *config.Config, pool string, c router.Class) config.SLO {
	var slo config.SLO
	shorter := func(to *time.Duration, d time.Duration) {
		if d > 0 && (*to == 0 || d < *to) {
			*to = d
		}
	}
	for _, rt := range cfg.Routes {
		policy := classOf(rt, c)
		for _, pref := range policy.Pools {
			if pref.Pool == pool {
				shorter(&slo.TTFT, policy.SLO.TTFT)
				shorter(&slo.TTFTPer1K, policy.SLO.TTFTPer1K)
				shorter(&slo.TPOT, policy.SLO.TPOT)
			}
		}
	}
	if slo.TTFT == 0 {
		return classOf(config.DefaultRoute(), c).SLO
	}
	return slo
}

func classOf(rt config.Route, c router.Class) config.RouteClass {
	if c == router.Prefill {
		return rt.Prefill
	}
	return rt.Decode
}

// with is the replica started with other flags.
func (r *replica) with(change func(*tpu.Setup)) *replica {
	other := *r
	change(&other.setup)
	return &other
}

// perToken is the prompt tokens that take a replica as long as a token of an answer: w
// of the configuration, as it is by default.
const perToken = 24

// holds is how many sequences of the sizes seen fit in the KV cache at their
// full length: on average, less twice the standard deviation of so many. Those
// of a class alone, or of both for ClassNone. A sequence counts for as long as
// it stays.
func (r *replica) holds(c router.Class) int {
	kv, weights, sum, squares := r.setup.Replica(), 0.0, 0.0, 0.0
	for _, class := range []router.Class{router.Prefill, router.Decode} {
		if c != router.ClassNone && c != class {
			continue
		}
		s := r.traffic.Of(class)
		prompts, answers := tableOf(s.Prompts), tableOf(s.Answers)
		for i := range 512 {
			prompt, answer := r.draw(prompts, answers, i)
			w := s.count() * (float64(answer) + float64(prompt)/perToken)
			need := float64(kv.PagesNeeded(prompt + answer))
			weights, sum, squares = weights+w, sum+w*need, squares+w*need*need
		}
	}
	if weights == 0 {
		return 0
	}
	mean := sum / weights
	spread := 2 * math.Sqrt(max(squares/weights-mean*mean, 0))
	// n·mean + spread·√n ≤ pages
	pages := float64(kv.Pages(r.setup.Utilisation, r.setup.Overhead))
	root := (math.Sqrt(spread*spread+4*mean*pages) - spread) / (2 * mean)
	return max(int(root*root+1e-9), 1)
}

// draw is the i-th pair of lengths. The pairs fill the unit square evenly (a
// sequence of low discrepancy), so that few of them have the right mean.
func (r *replica) draw(prompts, answers table, i int) (prompt, answer int) {
	limit := r.setup.MaxModelLen
	prompt = min(prompts.at(spaced(i, plastic)), limit-1)
	return prompt, min(answers.at(spaced(i, plastic*plastic)), limit-prompt)
}

// The steps that fill a line, and together with its square a plane, most evenly: the
// inverses of the golden ratio (the root of x² = x + 1) and of the plastic number (that
// of x³ = x + 1). Kronecker's sequence, and for the plane R2.
const (
	golden  = 0.6180339887498949
	plastic = 0.7548776662466927
)

// spaced is the i-th of numbers that fill [0, 1) evenly.
func spaced(i int, step float64) float64 {
	_, f := math.Modf(0.5 + float64(i)*step)
	return f
}
