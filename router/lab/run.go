package lab

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// The policies that stand for what is there without this router.
const (
	robin       = "round robin"
	connections = "least connections"
	choices     = "two choices"
	strictSplit = "strict split"
	scoring     = "scorer"
)

// Policies lists the policies that can be run by name, ours last. The best static
// split is none of them: it differs from load to load (Split).
func Policies() []string {
	return []string{robin, connections, choices, strictSplit, scoring, Ours}
}

// Run is one run to be made.
type Run struct {
	Workload *Workload
	Rate     float64 // arrivals per second
	Lasts    time.Duration
	Seed     uint64
	Draw     uint64 // of the engine's constants; 0: the anchored fit
	Fault    string // one of Faults; "": nothing goes wrong
}

// play makes a run under a policy.
func (r *Run) play(choose func(*world) policy) (*world, error) {
	w, err := newWorld(Fleet(drawFit(r.Draw)), arrivals(r.Workload, r.Rate, r.Lasts, r.Seed), r.Lasts)
	if err != nil {
		return nil, err
	}
	w.policy = choose(w)
	w.spoil(r.Fault)
	w.run()
	return w, nil
}

// Under makes the run under a policy by name.
func (r *Run) Under(name string) (Score, error) {
	w, err := r.play(func(w *world) policy { return r.policy(w, name) })
	if err != nil {
		return Score{}, err
	}
	return w.score(r.Workload), nil
}

// strict is what a careful operator might write without measuring: each class on
// its first choice only, the pools' caps, and five seconds of waiting.
var strict = Split{Caps: [2][2]int{{64, 0}, {0, 128}}, First: [2]int{0, 1}, Wait: [2]time.Duration{5 * time.Second, 5 * time.Second}}

func (r *Run) policy(w *world, name string) policy {
	n := len(w.machines)
	fewest := leastConnections{idle{w}, make([]int, n)}
	switch name {
	case robin:
		return &roundRobin{idle: idle{w}}
	case connections:
		return &fewest
	case choices:
		return &twoChoices{fewest, rand.New(rand.NewPCG(r.Seed, 2))}
	case strictSplit:
		return newSplitter(w, strict)
	case scoring:
		p := &scorer{idle: idle{w}, loads: make([]load, n), seen: make([]map[uint64]bool, n)}
		for i := range p.seen {
			p.seen[i] = map[uint64]bool{}
		}
		return p
	case Ours:
		return newOurs(w, r.Workload)
	}
	panic(fmt.Sprintf("BUG: no policy is called %q", name))
}

// Split makes the run under a static split.
func (r *Run) Split(s Split) (Score, error) {
	w, err := r.play(func(w *world) policy { return newSplitter(w, s) })
	if err != nil {
		return Score{}, err
	}
	return w.score(r.Workload), nil
}
