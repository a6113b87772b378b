package router

import (
	"math"
	"slices"
	"time"
)

// Priority says how urgent a request is. The zero value means "not said".
type Priority uint8

// The priorities.
const (
	PriorityNone Priority = iota
	Interactive           // somebody waits for the answer
	Batch                 // served from what is idle
)

var priorityNames = [...]string{PriorityNone: "none", Interactive: "interactive", Batch: "batch"}

// String is the priority's name in the configuration, headers and logs.
func (p Priority) String() string { return priorityNames[p] }

// MarshalText is String, for JSON.
func (p Priority) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// ParsePriority reads a priority that a client or an operator may ask for:
// "interactive" or "batch". Anything else is PriorityNone.
func ParsePriority(s string) Priority {
	switch s {
	case "interactive":
		return Interactive
	case "batch":
		return Batch
	}
	return PriorityNone
}

// priorityOf is a request's priority: what it asks for, but nothing above its
// tenant's ceiling; the ceiling itself where it doesn't ask.
func (r *Router) priorityOf(req *Request) Priority {
	if req.Priority == Batch || ParsePriority(r.cfg.Tenants[req.Tenant].Priority) == Batch {
		return Batch
	}
	return Interactive
}

// batch tells whether a claim is served from what is idle.
func (c *claim) batch() bool { return c.queue != nil && c.queue.batch() }

func (q *queue) batch() bool { return q.priority == Batch }

// lowerSeqs is the sequences that a claim of priority Batch takes; 0 for others.
func (c *claim) lowerSeqs() int {
	if c.batch() {
		return c.seqs
	}
	return 0
}

// What is kept free of priority Batch for others who come, modelled so that it
// costs them 2 % of their goodput at most where they come steadily, and 10 % where
// they come in waves.
const (
	keptCap   = 8               // one of so many sequences of each cap
	keptFirst = 0.4             // of the time to a first token that is promised, what batch may fill
	keptToken = 0.82            // of what prospects may fill of the time per token, likewise
	calm      = 5 * time.Second // after somebody had to wait, or was refused; batch waits that long
)

// spare judges whether a replica has room to spare for a claim of priority Batch:
//
//  1. Nobody else waits for its pool, or did a moment ago.
//  2. Of its caps a part stays free.
//  3. Of the SLOs of others so much stays free that they don't feel it: a prompt
//     that comes next still has most of its time, and the answers that decode
//     there, and as many as usually do, stay well within their time per token.
//  4. One that was passed too often comes first.
//  5. An empty replica takes one that is larger or longer than 2 and 3 ever allow: else
//     that would wait for nothing.
func (r *Router) spare(rep *replica, c *claim) Prospect {
	var p Prospect
	switch {
	case r.wantedByOthers(rep.pool):
		p.Verdict = UrgentFirst
	case rep.held() > 0 && r.keepsTooLittle(rep, c):
		p.Verdict = KeptFree
	default:
		p = r.unfelt(rep, c)
	}
	return p
}

// wantedByOthers is rule 1.
func (r *Router) wantedByOthers(p *pool) bool {
	for _, q := range r.waiting {
		if !q.batch() && slices.Contains(q.order, p) {
			return true
		}
	}
	return !p.waited.IsZero() && r.now.Sub(p.waited) < calm
}

// keepsTooLittle is rule 2, and rule 4.
func (r *Router) keepsTooLittle(rep *replica, c *claim) bool {
	all, class := rep.admits(), min(rep.pool.capOf(c.class), rep.admits())
	if rep.held()+c.seqs > all-all/keptCap || rep.heldOf(c.class)+c.seqs > class-class/keptCap {
		return true
	}
	h := c.queue.head()
	return h != nil && h.ticket != c.ticket && h.passed >= maxPassed && h.wanted(rep)
}

// unfelt is rule 3. The steps of its own answer are no burden to a prompt that comes
// next; of a short one they are counted as its end is.
func (r *Router) unfelt(rep *replica, c *claim) Prospect {
	fresh := rep.fresh(c)
	p := Prospect{Verdict: r.fit(rep, c), Known: float64(c.TokensIn) - fresh}
	if rep.pool.ttft <= 0 {
		return p
	}
	p.First, p.FirstLimit = rep.pace.ttft(fresh), rep.pool.ttft.Seconds()*keptFirst
	if c.class == Prefill {
		p.First = rep.pace.e2e(fresh, min(c.each(), shortBound))
	}
	p.BestEffort = p.First > p.FirstLimit && rep.held() == 0
	usual := *rep
	usual.active.add(Decode, r.missing(rep))
	r.nextTokens(&p, &usual, c)
	if p.TokenLimit *= keptToken; rep.moot(c, fresh/inflowMemory, p.TokenLimit) {
		p.TokenLimit = 0
	}
	switch {
	case p.Verdict != Willing:
	case p.First > p.FirstLimit && !p.BestEffort:
		p.Verdict = FirstTooLate
	case p.slow():
		p.Verdict = TokensTooSlow
	}
	return p
}

// peakMemory is how fast it is forgotten how many decoded at once, in seconds.
const peakMemory = 30.0

// took books a grant: its sequences if it is of priority Batch, else how many of
// the others decode here at once at most, lately.
func (rep *replica) took(c *claim, now time.Time) {
	if c.batch() {
		rep.lower.add(c.class, c.seqs)
		return
	}
	rep.peak = max(rep.peak*fade(now.Sub(rep.peakAt)), float64(rep.heldOf(Decode)-rep.lower.Decode))
	rep.peakAt = now
}

func fade(d time.Duration) float64 { return math.Exp(-d.Seconds() / peakMemory) }

// missing is how many more sequences of others decoded on a replica lately than do
// now.
func (r *Router) missing(rep *replica) int {
	others := rep.heldOf(Decode) - rep.lower.Decode
	return max(int(rep.peak*fade(r.now.Sub(rep.peakAt)))-others, 0)
}

// lacks books that a claim is refused now for want of room.
func (r *Router) lacks(c *claim) {
	if c.notes != nil {
		return // Explain changes nothing
	}
	c.share.denied = r.now
	c.queue.shares.lacking.drop()
	c.queue.missed(1)
	r.bookWait(c.queue)
}

// bookWait books that somebody waits in a queue now, for rule 1.
func (r *Router) bookWait(q *queue) {
	if q.batch() {
		return
	}
	for _, p := range q.order {
		p.waited = r.now
	}
}
