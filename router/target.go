package router

import (
	"math"
	"time"
)

// margin is the part of an SLO that predictions may fill.
const margin = 0.93

// willing tells whether a replica can serve a claim within its SLO, from what it
// holds, without spoiling the SLO of those that it holds. Home says that the
// pool is the claim's first choice; elsewhere the pool's own classes come first.
//
//  1. Without an SLO: yes.
//  2. The prompt must be computed in time: what is ahead of it and itself.
//  3. The answers that decode there must keep their time per token, with one
//     more of them or with its prompt's tokens.
//  4. A claim that no idle replica could serve in time, or not any more, is best
//     effort: it is taken by a replica that is idle enough, as 3 allows.
func (r *Router) willing(rep *replica, c *claim, home bool) bool {
	slo := &c.queue.slo
	if slo.TTFT <= 0 {
		return true
	}
	tokens := float64(c.TokensIn)
	if !r.inTime(rep, c, tokens) {
		return false
	}
	decodes, inflow := rep.heldOf(Decode), rep.pace.inflow.now(r.now)+tokens/inflowMemory
	if c.class == Decode {
		decodes += c.seqs
	}
	if !home {
		if r.homeWaits(rep.pool, c) {
			return false
		}
		decodes, inflow = r.withDemand(rep, c, decodes, inflow)
	}
	limit := rep.pool.tpot.Seconds() * margin
	return limit == 0 || decodes == 0 || rep.pace.tpot(decodes, inflow) <= limit
}

// inTime is rule 2, and the exception of rule 4.
func (r *Router) inTime(rep *replica, c *claim, tokens float64) bool {
	total := c.queue.slo.limit(c.TokensIn).Seconds() * margin
	needs := rep.pace.ttft(tokens) + r.answerTime(rep, c)
	if c.late || r.needs(rep, c) > total {
		return needs <= total*idle || rep.pace.pending == 0
	}
	return needs <= total-r.now.Sub(c.arrival).Seconds()
}

// idle is the part of an SLO in which a replica that counts as idle would have
// served a request. Best effort takes room on no other.
const idle = 0.5

// needs is the seconds that a claim would take on an idle replica.
func (r *Router) needs(rep *replica, c *claim) float64 {
	return rep.pace.idleTTFT(float64(c.TokensIn)) + r.answerTime(rep, c)
}

// answerTime is the part of a claim's service after its first token that its SLO
// counts: all of it for Prefill, none for Decode.
func (r *Router) answerTime(rep *replica, c *claim) float64 {
	if c.class != Prefill || c.tokensOut == 0 {
		return 0
	}
	each := float64(c.tokensOut)/float64(max(c.seqs, 1)) - 1
	return max(each, 0) * rep.pace.tpot(rep.heldOf(Decode), min(rep.pace.inflow.now(r.now), rep.pace.bearable()))
}

// lateness is when a waiter becomes best effort.
type lateness struct {
	timer
	waiter *waiter
}

// watchLateness sets the timer for it, on the quickest of the replicas that may
// serve the waiter.
func (r *Router) watchLateness(w *waiter) {
	limit := w.queue.slo.limit(w.TokensIn)
	if limit <= 0 {
		return
	}
	least := math.Inf(1)
	for _, p := range w.queue.order {
		for _, rep := range p.replicas {
			least = min(least, r.needs(rep, &w.claim))
		}
	}
	at := w.arrival.Add(time.Duration((limit.Seconds()*margin - min(least, 3600)) * float64(time.Second)))
	if !at.After(r.now) {
		w.late = true
		return
	}
	w.lateness.waiter, w.lateness.owner = w, &w.lateness
	r.timers.start(&w.lateness.timer, at)
}

// expire moves the waiter to those who are late.
func (l *lateness) expire(_ *Router, out []Decision) []Decision {
	w := l.waiter
	w.letGo()
	w.queue.remove(w)
	w.late = true
	w.queue.insert(w)
	return out
}

// homeWaits tells whether somebody waits whose first choice is this pool.
func (r *Router) homeWaits(p *pool, c *claim) bool {
	for _, q := range r.waiting {
		if q != c.queue && q.order[0] == p {
			return true
		}
	}
	return false
}

// withDemand is the decodes and the inflow that a replica would have with what
// its pool's own classes ask for, where that is more than what it has.
func (r *Router) withDemand(rep *replica, c *claim, decodes int, inflow float64) (int, float64) {
	p := rep.pool
	n := float64(max(len(p.replicas), 1))
	tokens, answers := p.demand(r.now)
	if c.class == Decode {
		return decodes, max(inflow, tokens/n)
	}
	expected := int(answers / n * rep.pace.tpot(decodes, inflow))
	return max(decodes, min(expected, p.capOf(Decode))), inflow
}

// demand is what requests ask for whose first choice is the pool: prompt tokens
// per second, and tokens of answers of class decode per second.
func (p *pool) demand(now time.Time) (prompts, answers float64) {
	for _, q := range p.homes {
		prompts += q.asked.now(now)
		if q.class == Decode {
			answers += q.answers.now(now)
		}
	}
	return prompts, answers
}
