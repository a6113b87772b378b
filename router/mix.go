package router

import "time"

// Prompts compute and decoding reads memory, so a replica that does both at once
// does more than one after the other. But a few answers hold up the prompts as much
// as many do, by their time per token. So a replica either serves its prompts first,
// or, if all that are asked for would leave much of its time, lets as many answers
// decode there as will.
const (
	mixBusy   = 0.6 // of a replica's time that all prompts asked for would take: above it they fill it best
	mixMisses = 0.4 // of the answers that are refused: below it those that are left don't pay for the change
)

// mixes says that a request of class Prefill should leave a replica to answers that
// wait. The thresholds are the laboratory's.
func (c *claim) mixes(rep *replica, now time.Time) bool {
	if c.class != Prefill || c.route.decode.misses.value <= mixMisses || c.queue.short(now) {
		return false
	}
	busy := rep.pace.step.k[2] * rep.pace.inflow.now(now)
	return busy < mixBusy*(1-c.queue.misses.value)
}

// missesMemory is the requests over which misses are averaged.
const missesMemory = 50

// missed books a request that was refused for want of room (1) or served (0).
func (q *queue) missed(x float64) {
	q.misses.weight = min(q.misses.weight, missesMemory-1)
	q.misses.add(x)
}
