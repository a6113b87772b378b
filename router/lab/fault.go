package lab

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"sluice/router/tpu"
)

// incident is what a fault does at a time.
type incident struct {
	at  time.Duration
	act func(w *world)
}

// fault prepares what will go wrong in a world that is about to run.
type fault func(w *world)

// The faults of a run. What doesn't last from start to end begins after a third
// of it; the 27B replicas are machines 0 and 1, the 12B ones 2 and 3.
var faults = []struct {
	name, about string
	make        fault
}{
	{"slow 27B", "one computes half as fast for a third of the run", third(func(w *world, from, to time.Duration) { w.slow(0, from, to) })},
	{"slow 12B", "one computes half as fast for a third of the run", third(func(w *world, from, to time.Duration) { w.slow(2, from, to) })},
	{"crash 27B", "one ends with all that it holds, and is back after a minute", third(func(w *world, from, _ time.Duration) { w.crash(0, from, from+warmUp, 0) })},
	{"crash 12B", "one ends with all that it holds, and is back after a minute", third(func(w *world, from, _ time.Duration) { w.crash(2, from, from+warmUp, 0) })},
	{"cold 12B", "as crash, but a program is compiled for 20 s before its first step", third(func(w *world, from, _ time.Duration) { w.crash(2, from, from+warmUp, compile) })},
	{"stale metrics", "no metrics arrive for a minute", third(func(w *world, from, _ time.Duration) { w.blindfold(from, from+stale) })},
	{"estimates off", "prompts are estimated wrong, each by a factor of its own from 0.5 to 1.5", func(w *world) { w.misjudge(0.5, 1.5) }},
	{"estimates high", "all prompts are estimated half as long again as they are", func(w *world) { w.misjudge(1.5, 1.5) }},
	{"estimates low", "all prompts are estimated two thirds as long as they are", func(w *world) { w.misjudge(0.67, 0.67) }},
}

const (
	warmUp  = time.Minute      // from a crash until the new process is ready: weights loaded, programs compiled
	compile = 20 * time.Second // that a cold replica's first step takes longer
	stale   = time.Minute      // without metrics
)

// Faults lists what can go wrong in a Run, by name. It goes wrong in its middle
// third, or with estimates all the time.
func Faults() []string {
	var names []string
	for _, f := range faults {
		names = append(names, f.name)
	}
	return names
}

// aboutFault says what a fault is.
func aboutFault(name string) string {
	for _, f := range faults {
		if f.name == name {
			return f.about
		}
	}
	return ""
}

// spoil prepares a fault by name; "" is none.
func (w *world) spoil(name string) {
	if name == "" {
		return
	}
	for _, f := range faults {
		if f.name == name {
			f.make(w)
			return
		}
	}
	panic(fmt.Sprintf("BUG: no fault is called %q", name))
}

// third gives a fault the middle third of the run.
func third(f func(w *world, from, to time.Duration)) fault {
	return func(w *world) { f(w, w.lasts/3, 2*w.lasts/3) }
}

// later lets something happen at a time, after what was to happen then already.
func (w *world) later(at time.Duration, act func(w *world)) {
	w.incidents = append(w.incidents, incident{at, act})
	slices.SortStableFunc(w.incidents, func(a, b incident) int { return cmp.Compare(a.at, b.at) })
}

// slow makes a replica half as fast for a time.
func (w *world) slow(machine int, from, to time.Duration) {
	w.later(from, func(w *world) { w.machines[machine].engine.Slow(2) })
	w.later(to, func(w *world) { w.machines[machine].engine.Slow(1) })
}

// crash ends a replica's process, and starts a new one that does nothing for some
// time after it has said that it is ready. The policy hears of both at once, as
// connections that are refused and health checks tell it within moments.
func (w *world) crash(machine int, from, to, stall time.Duration) {
	m := w.machines[machine]
	w.later(from, func(w *world) {
		m.down = true
		m.engine.Stop(w.now)
		w.tellFleet()
		w.tell()
	})
	w.later(to, func(w *world) {
		m.down, m.engine, m.due = false, w.reborn(machine), never
		if stall > 0 {
			m.engine.Hang()
		}
		w.tellFleet()
	})
	w.later(to+stall, func(w *world) {
		m.engine.Resume(w.now)
		m.due = w.now
	})
}

// reborn is the engine of a replica's next process.
func (w *world) reborn(machine int) *tpu.Engine {
	e, err := tpu.NewEngine(tpu.Options{
		Setup: w.pools[w.machines[machine].pool].Setup, Jitter: jitter, Seed: uint64(machine) + 1<<32,
		Observe: func(ev tpu.Event) { w.observe(machine, ev) },
	})
	if err != nil {
		panic("BUG: " + err.Error()) // the same setup has run before
	}
	return e
}

// fleetWatcher is a policy that hears which replicas are up.
type fleetWatcher interface{ fleet(now time.Duration) }

func (w *world) tellFleet() {
	if p, ok := w.policy.(fleetWatcher); ok {
		p.fleet(w.now)
	}
}

// blindfold lets no metrics reach the policy for a time.
func (w *world) blindfold(from, to time.Duration) {
	w.later(from, func(w *world) { w.blind = true })
	w.later(to, func(w *world) { w.blind = false })
}

// misjudge makes the estimate of each prompt wrong by a factor between two.
func (w *world) misjudge(low, high float64) {
	random := rand.New(rand.NewPCG(uint64(len(w.requests)), 0xe57))
	for _, r := range w.requests {
		r.noise = low + (high-low)*random.Float64()
	}
}
