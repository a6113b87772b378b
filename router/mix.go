package router

import "time"

// Prompts compute and decoding reads memory, so a replica that does both at once
// does more than one after the other. But a few answers hold up the prompts as much
// as many do, by their time per token. So a replica either serves its prompts first,
// or, if those can't use most of its time for their SLO's sake, lets as many answers
// decode there as will.

const (
	mixBusy      = 0.5 // of its time that prompts take: below it they should leave room for answers
	mixMisses    = 0.3 // of the prompts that are refused: above it there is too much for all anyway
	missesMemory = 50  // requests
)

// mixes says that requests of class Prefill should leave a replica to answers that
// wait. The thresholds are the laboratory's.
func (c *claim) mixes(rep *replica, now time.Time) bool {
	busy := rep.pace.step.k[2] * rep.pace.inflow.now(now)
	return c.class == Prefill && busy < mixBusy && c.queue.misses.value > mixMisses
}

// missed books a request that was refused for want of room (1) or served (0).
func (q *queue) missed(x float64) {
	q.misses.weight = min(q.misses.weight, missesMemory-1)
	q.misses.add(x)
}
