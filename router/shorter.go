package router

// An SLO that grows with the prompt lets long prompts wait longer. Where more comes
// than can be served, they alone would then find room: behind what may lie before a
// long one a short one is too late already. A few long ones would be served in the
// place of many. So while many are refused, a prompt longer than usual is taken only
// where the usual one would be in time with some to spare. The numbers are the
// laboratory's.
const (
	shorterMisses = 0.5 // of the requests that are refused: below it there is room for both
	shorterSpare  = 0.8 // of what a prediction may fill of the usual prompt's SLO
)

// crowdsOut says that a claim would take the time of shorter ones.
func (rep *replica) crowdsOut(c *claim) bool {
	u := &c.queue.asked
	if c.class != Prefill || c.queue.misses.value < shorterMisses || float64(c.TokensIn) <= u.prompt.value || rep.pace.flying == 0 {
		return false
	}
	return rep.pace.e2e(u.prompt.value, u.answer.value) > u.limit.value*firstMargin*shorterSpare
}

// count books what is asked for, of those who have a queue.
func (c *claim) count() {
	if c.queue != nil {
		c.queue.asked.add(c)
	}
}
