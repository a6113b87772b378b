package lab

import (
	"math/rand/v2"
	"time"
)

// idle is the part of a policy that keeps nothing and waits for nothing.
type idle struct{ w *world }

func (idle) first(time.Duration, *request) {}
func (idle) done(time.Duration, *request)  {}
func (idle) wake(time.Duration)            {}
func (idle) next() time.Duration           { return never }
func (idle) scrape(time.Duration, []load)  {}

// up is a machine that is up: this one, or else the next. All policies know at once
// which are down, as health checks tell within moments; else a crash would be a
// question of those.
func (w *world) up(machine int) int {
	for range w.machines {
		if !w.machines[machine].down {
			break
		}
		machine = (machine + 1) % len(w.machines)
	}
	return machine
}

// roundRobin sends each request to the next replica, whatever it holds.
type roundRobin struct {
	idle
	turn int
}

func (p *roundRobin) arrive(_ time.Duration, r *request) {
	next := p.w.up(p.turn)
	p.turn = (next + 1) % len(p.w.machines)
	p.w.send(r, next)
}

// leastConnections sends each request where fewest are.
type leastConnections struct {
	idle
	open []int
}

func (p *leastConnections) arrive(_ time.Duration, r *request) {
	best := p.w.up(0)
	for i := range p.open {
		if p.open[i] < p.open[best] && !p.w.machines[i].down {
			best = i
		}
	}
	p.open[best]++
	p.w.send(r, best)
}

func (p *leastConnections) done(_ time.Duration, r *request) { p.open[r.replica]-- }

// twoChoices draws two replicas and takes the one where fewer are.
type twoChoices struct {
	leastConnections
	random *rand.Rand
}

func (p *twoChoices) arrive(_ time.Duration, r *request) {
	best, other := p.w.up(p.random.IntN(len(p.open))), p.w.up(p.random.IntN(len(p.open)))
	if p.open[other] < p.open[best] {
		best = other
	}
	p.open[best]++
	p.w.send(r, best)
}

// scorer weighs a replica's queue, its KV cache and the prefix that it has seen,
// as its last metrics and the prompts sent to it say: in the manner of llm-d's.
type scorer struct {
	idle
	loads []load
	seen  []map[uint64]bool // beginnings sent to each replica
	turn  int
}

func (p *scorer) scrape(_ time.Duration, loads []load) { copy(p.loads, loads) }

func (p *scorer) arrive(_ time.Duration, r *request) {
	best, most := 0, -1.0
	for k := range p.loads {
		i := (p.turn + k) % len(p.loads)
		if s := p.score(i, r); s > most {
			best, most = i, s
		}
	}
	p.turn++
	if r.shared > 0 {
		p.seen[best][r.prefix] = true
	}
	p.w.send(r, best)
}

// score gives a point for an empty queue, one for an empty cache, two for a
// known beginning; less than any of these to a replica that is down.
func (p *scorer) score(i int, r *request) float64 {
	if p.w.machines[i].down {
		return -1
	}
	longest := 1
	for _, l := range p.loads {
		longest = max(longest, l.waiting)
	}
	s := 1 - float64(p.loads[i].waiting)/float64(longest) + 1 - p.loads[i].kv
	if r.shared > 0 && p.seen[i][r.prefix] {
		s += 2
	}
	return s
}
