package router

import (
	"math"
	"time"
)

// usual is the means of requests: of the short answers that a pool has served lately,
// or of all that a queue was asked for.
type usual struct {
	prompt, answer mean // tokens
	limit          mean // seconds that their SLOs allow
}

func (u *usual) add(c *claim) {
	u.prompt.add(float64(c.TokensIn))
	u.answer.add(c.each())
	u.limit.add(c.queue.slo.limit(c.TokensIn).Seconds())
}

// target is how many sequences of each class a replica can hold now and keep
// their SLOs: what the rules of prospect come to, for people and gauges. At most
// what it admits.
func (rep *replica) target(now time.Time) Counts {
	prefill, decode := min(rep.pool.capOf(Prefill), rep.admits()), min(rep.pool.capOf(Decode), rep.admits())
	return Counts{
		Prefill: min(prefill, rep.pace.short(&rep.pool.usual)),
		Decode:  min(decode, rep.pace.decodes(rep.pool.tpot.Seconds()*tokenMargin, rep.pace.inflow.now(now))),
	}
}

// decodes is the most sequences that keep a time per token beside an inflow of
// prompts. No limit (0): any number.
func (p *pace) decodes(limit, inflow float64) int {
	a, b, busy := p.step.k[0], p.step.k[1], p.step.k[2]*inflow
	if limit <= 0 || b <= 0 {
		return math.MaxInt
	}
	return max(int(min((limit*(1-busy)-a)/b, 1e9)), 0)
}

// short is the most short answers in flight that keep their limit; one at least.
func (p *pace) short(u *usual) int {
	if u.limit.value <= 0 {
		return math.MaxInt
	}
	left := u.limit.value*firstMargin - p.idleE2E(u.prompt.value, u.answer.value)
	return 1 + max(int(min(left/max(p.crowd.value()*u.prompt.value, 1e-9), 1e9)), 0)
}
