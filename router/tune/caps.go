package tune

import (
	"fmt"

	"sluice/config"
	"sluice/router"
)

// caps proposes what one pool's replicas may hold.
type caps struct {
	r        *replica
	pool     string
	cap      config.Cap
	gateways int // that share the replicas, each with the cap
	total    int // chosen
}

// seldom is the share of requests below which a class isn't seen enough to set
// anything by it.
const seldom = 0.02

// mode is what the total is judged by: the mix, or generation alone; false: no
// generation was seen, and classification says nothing of it.
func (c *caps) mode() (router.Class, bool) {
	t := c.r.traffic
	switch all := t.requests(); {
	case t.Decode.count() < seldom*all:
		return router.ClassNone, false
	case t.Prefill.count() < seldom*all:
		return router.Decode, true
	}
	return router.ClassNone, true
}

// preempts tells whether preemptions were seen that cost something.
func (c *caps) preempts() bool {
	t := c.r.traffic
	return t.Preemptions >= 5 && t.Preemptions >= 0.01*t.Finished
}

// held is what all gateways together hold with a cap.
func (c *caps) held(n int) int { return n * c.gateways }

// wants tells whether a higher cap would be used: somebody waits, or it isn't known.
func (c *caps) wants() bool { return c.r.traffic.Late < 0 || c.r.traffic.Late >= 0.01 }

// all proposes the caps: the total first, the classes' within it.
func (c *caps) all() []Proposal {
	c.total = c.cap.Total
	total := Proposal{Pool: c.pool, Setting: "cap.total", From: c.total, To: c.total}
	total.rests(c.r.traffic, c.r.traffic.requests(), "requests")
	if mode, seen := c.mode(); seen {
		c.judge(&total, mode, c.total, c.r.setup.MaxNumSeqs)
	} else {
		total.Reason = "no generation was seen, and how much of it a replica can hold doesn't follow from classification"
	}
	c.total = total.To
	all := []Proposal{total, c.class(router.Prefill, c.cap.Prefill)}
	if mode, _ := c.mode(); mode == router.Decode && c.cap.Decode == 0 {
		return all // the total has been judged by this very class
	}
	return append(all, c.class(router.Decode, c.cap.Decode))
}

// class proposes the cap of a class; from is 0 where it has none of its own.
func (c *caps) class(class router.Class, from int) Proposal {
	p := Proposal{Pool: c.pool, Setting: "cap." + class.String(), From: from, To: from}
	t := c.r.traffic
	p.rests(c.r.traffic, t.Of(class).count(), "requests")
	if t.Of(class).count() >= max(seldom*t.requests(), leastSeen) {
		now := min(from, c.total)
		if from == 0 {
			now = c.total
		}
		c.judge(&p, class, now, min(c.r.setup.MaxNumSeqs, c.held(c.total)))
	} else {
		p.Reason = "too few requests of the class were seen"
	}
	if p.To >= c.total && from == 0 {
		p.To, p.Effect = 0, ""
	}
	if p.To > c.total {
		p.To, p.Effect = c.total, ""
		p.Reason = fmt.Sprintf("it may not be above cap.total, which becomes %d", c.total)
	}
	return p
}

// judge looks for the knee of a class, or of the mix, and proposes it as the cap
// where that gains clearly over holding now sequences. All gateways together
// may hold at most so many.
func (c *caps) judge(p *Proposal, class router.Class, now, most int) {
	holds := c.r.holds(class)
	held := c.held(now)
	k := c.r.knee(class)
	best := k.at
	if best.held > most {
		best = c.r.rung(most, class)
	}
	to := max(best.held/c.gateways, 1)
	here := c.r.hold(held, class)
	p.Table = k.table()
	rises, gains := to > now, clear(here.Goodput(), best.goodput)
	over := c.preempts() && held > holds && to < now
	switch {
	case to == now && k.at.held > most:
		p.Reason = fmt.Sprintf("%d is all that the engine or cap.total allows; goodput with it is %.2f requests/s (modelled)", held, here.Goodput())
	case to == now:
		p.Reason = fmt.Sprintf("%d held is the most at which the SLO holds and goodput is at its best, %.2f requests/s of a replica that is always full (modelled)", held, here.Goodput())
	case !gains && !over:
		p.Reason = fmt.Sprintf("with %d held goodput is %.2f requests/s, with %d, the most at which the SLO holds, %.2f (modelled)", held, here.Goodput(), best.held, best.goodput)
	case rises && !c.wants():
		p.Reason = fmt.Sprintf("%d would carry more, but nobody waits: %.1f %% of the requests waited in the gateway or were refused", to, 100*c.r.traffic.Late)
	default:
		p.To = to
		p.Reason = c.why(here, held, holds, best)
		p.Effect = fmt.Sprintf("goodput of a replica that is always full %s requests/s (modelled)", gained(here.Goodput(), best.goodput))
	}
}

// why says what is wrong with holding so many.
func (c *caps) why(here Trial, held, holds int, best rung) string {
	t := c.r.traffic
	if best.held > held {
		return fmt.Sprintf("with %d held everything is within its SLO, and goodput rises up to %d; the KV cache holds %d of the sizes seen", held, best.held, holds)
	}
	text := ""
	if held > holds {
		text = fmt.Sprintf("the KV cache holds %d sequences of the sizes seen, not %d; ", holds, held)
	}
	if c.preempts() {
		text += fmt.Sprintf("vLLM has preempted %.0f times in %.0f requests; ", t.Preemptions, t.Finished)
	}
	for i, name := range []string{"prefill", "decode"} {
		if here.Good[i] >= 0 && here.Good[i] < best.trial.Good[i] {
			text += fmt.Sprintf("with %d held %.0f %% of %s keep their SLO, with %d %.0f %% (modelled); ", held, 100*here.Good[i], name, best.held, 100*best.trial.Good[i])
		}
	}
	if text == "" {
		text = fmt.Sprintf("goodput is at its best with %d held; ", best.held)
	}
	return text[:len(text)-len("; ")]
}
