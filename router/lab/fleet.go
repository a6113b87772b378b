package lab

import (
	"math/rand/v2"
	"time"

	"sluice/router/tpu"
)

// Pool is replicas of one kind.
type Pool struct {
	Name     string
	Size     string // of the model: one of tpu.Models
	Replicas int
	Cap      int // sequences of a replica
	Setup    tpu.Setup
}

// Fleet is the pools of a run: 27B first, then 12B, on v6e 2x2 with 32k of
// context and a padding gap of 128, as the demo's.
func Fleet(fit tpu.Fit) []Pool {
	pools := []Pool{
		{Name: "gemma-27b", Size: "gemma-3-27b", Replicas: 2, Cap: 64},
		{Name: "gemma-12b", Size: "gemma-3-12b", Replicas: 2, Cap: 128},
	}
	for i := range pools {
		p := &pools[i]
		s, err := tpu.SetupOf(p.Size, "v6e-2x2")
		if err != nil {
			panic("BUG: " + err.Error())
		}
		s.Fit, s.MaxModelLen, s.MaxNumSeqs, s.Gap = fit, 32768, p.Cap, 128
		p.Setup = s
	}
	return pools
}

// fits are those of the step time that runs draw from: the anchored one and
// one to latency alone. Modelled; a third fit, to throughput and latency together,
// has times per token that no deployment would keep, and a TPOT SLO of 50 ms has
// no meaning under it.
func fits() []tpu.Fit {
	return []tpu.Fit{tpu.Anchored(), {Fixed: 14.3e-3, PerSequence: 0.12e-3, MFU: 0.76, MBU: 0.50}}
}

// drawFit is the engine's constants of a run: one of the fits, each constant off
// by up to 30 %. Draw 0 is the anchored fit as it is.
func drawFit(draw uint64) tpu.Fit {
	if draw == 0 {
		return tpu.Anchored()
	}
	r := rand.New(rand.NewPCG(draw, 0xf17))
	all := fits()
	f := all[r.IntN(len(all))]
	for _, constant := range []*float64{&f.Fixed, &f.PerSequence, &f.MFU, &f.MBU} {
		*constant *= 0.7 + 0.6*r.Float64()
	}
	return f
}

// machine is one simulated replica.
type machine struct {
	pool   int
	engine *tpu.Engine
	due    time.Duration // when Step is needed; never: not before something is added
	page   int           // tokens of a KV page
	down   bool          // its process has crashed
}

// jitter is how far the duration of a step is off, as a part of it.
const jitter = 0.03

const never = time.Duration(1<<63 - 1)

// machines starts the replicas, pool by pool.
func machines(pools []Pool, observe func(int, tpu.Event)) ([]*machine, error) {
	var all []*machine
	for p := range pools {
		for range pools[p].Replicas {
			i := len(all)
			e, err := tpu.NewEngine(tpu.Options{Setup: pools[p].Setup, Jitter: jitter, Seed: uint64(i), Observe: func(ev tpu.Event) { observe(i, ev) }})
			if err != nil {
				return nil, err
			}
			all = append(all, &machine{pool: p, engine: e, due: never, page: e.Costs().Page()})
		}
	}
	return all, nil
}
