package lab

import (
	"time"

	"sluice/router"
)

// Split is a static policy that knows the true classes: a cap for each class on
// the replicas of each pool, an order of pools and a limit of waiting for each
// class.
type Split struct {
	Caps  [2][2]int        `yaml:"caps"`  // by class (prefill, decode), then pool
	Spill [2]bool          `yaml:"spill"` // by class: the second pool may serve it
	First [2]int           `yaml:"first"` // by class: the pool that serves it first
	Wait  [2]time.Duration `yaml:"wait"`  // by class
}

// side is a class's index.
func side(c router.Class) int {
	if c == router.Prefill {
		return 0
	}
	return 1
}

// splitter plays a Split.
type splitter struct {
	w     *world
	split Split
	held  [][2]int // by replica, then class
	queue [2][]*request
}

func newSplitter(w *world, s Split) *splitter {
	return &splitter{w: w, split: s, held: make([][2]int, len(w.machines))}
}

func (p *splitter) arrive(now time.Duration, r *request) {
	c := side(r.class)
	if len(p.queue[c]) == 0 {
		if i := p.place(c); i >= 0 {
			p.send(r, i)
			return
		}
	}
	if p.split.Wait[c] <= 0 {
		p.w.refuse(r)
		return
	}
	p.queue[c] = append(p.queue[c], r)
}

// place is the replica that has room for a class: of the first pool that has
// one, the emptiest.
func (p *splitter) place(c int) int {
	for choice := range 2 {
		if choice == 1 && !p.split.Spill[c] {
			break
		}
		pool, best := p.split.First[c]^choice, -1
		for i, m := range p.w.machines {
			if m.down || m.pool != pool || p.held[i][c] >= p.split.Caps[c][pool] || p.held[i][0]+p.held[i][1] >= p.w.pools[pool].Cap {
				continue
			}
			if best < 0 || p.less(i, best, c) {
				best = i
			}
		}
		if best >= 0 {
			return best
		}
	}
	return -1
}

func (p *splitter) less(i, j, c int) bool {
	if p.held[i][c] != p.held[j][c] {
		return p.held[i][c] < p.held[j][c]
	}
	return p.held[i][1-c] < p.held[j][1-c]
}

func (p *splitter) send(r *request, i int) {
	p.held[i][side(r.class)]++
	p.w.send(r, i)
}

func (p *splitter) first(time.Duration, *request) {}

func (p *splitter) done(now time.Duration, r *request) {
	p.held[r.replica][side(r.class)]--
	p.wake(now)
}

// wake refuses those who have waited too long and sends those who fit.
func (p *splitter) wake(now time.Duration) {
	for c := range p.queue {
		for len(p.queue[c]) > 0 && p.deadline(c) <= now {
			p.w.refuse(p.pop(c))
		}
		for len(p.queue[c]) > 0 {
			i := p.place(c)
			if i < 0 {
				break
			}
			p.send(p.pop(c), i)
		}
	}
}

func (p *splitter) deadline(c int) time.Duration { return p.queue[c][0].arrival + p.split.Wait[c] }

func (p *splitter) pop(c int) *request {
	r := p.queue[c][0]
	p.queue[c] = p.queue[c][1:]
	return r
}

func (p *splitter) next() time.Duration {
	at := never
	for c := range p.queue {
		if len(p.queue[c]) > 0 {
			at = min(at, p.deadline(c))
		}
	}
	return at
}

func (p *splitter) scrape(time.Duration, []load) {}
