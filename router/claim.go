package router

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// claim is a request inside the router: what was asked and what was decided
// about it. It is copied when the request moves between queue and replica.
type claim struct {
	Request
	ticket    Ticket
	route     *route
	kind      lengthKey // whose answers are like its own
	queue     *queue    // of its route and class; nil for class Other
	share     *share    // its tenant's in the queue; nil for class Other
	charged   float64   // to it, in prompt tokens; 0 before a grant
	behind    bool      // a waiter comes first to the room that it would take
	beside    int       // so many requests like it must have room on the replica beside it
	earlier   Class     // of its conversation, where that can be kept; ClassNone: nothing to keep
	class     Class
	why       ClassReason
	seqs      int      // slots it takes; 0 for class Other
	length    forecast // of one sequence
	tokensOut int      // expected, all sequences together
	work      int64    // expected, in prompt tokens
	w         float64  // that tokensOut and work were weighed with
	arrival   time.Time
	deadline  time.Time     // of waiting; zero if it has never waited
	waited    time.Duration // in earlier stays in the queue
	late      bool          // best effort: not even an idle replica could serve it within its SLO
	tried     string        // address where the first attempt failed; "" before Elsewhere
	failure   Outcome       // how it failed
	model     string        // the only one that may go on with its answer; "": it hasn't begun
	notes     *notes        // taken while its place is sought; nil: nobody asked
}

// order is the pools that a claim may use, in order of preference.
func (c *claim) order() []*pool {
	if c.queue == nil {
		return c.route.all
	}
	return c.queue.order
}

// fits tells whether a claim may go to a pool. What might be too much for its context
// goes where it surely isn't, if the order has such a pool: a guess must not cost the
// client an error, or the end of its answer.
func (c *claim) fits(p *pool) bool {
	return c.queue == nil || c.speaks(p) && c.mayFit(p) && (c.surelyFits(p) || !c.choosy())
}

// speaks tells whether a pool's model may answer the claim: an answer that has begun
// is ended by no other.
func (c *claim) speaks(p *pool) bool { return c.model == "" || c.model == p.cfg.Model }

// choosy tells whether a pool of the order surely fits, so that no other will do.
func (c *claim) choosy() bool {
	return slices.ContainsFunc(c.order(), func(p *pool) bool { return c.speaks(p) && c.surelyFits(p) })
}

// surelyFits tells whether a pool's context surely holds the claim's longest prompt
// with as long an answer as is asked for, or to be expected, and its cap all sequences.
func (c *claim) surelyFits(p *pool) bool {
	limit, answer := p.cfg.Engine.MaxModelLen, c.OutBound
	if answer < 0 {
		answer = c.length.P90
	}
	return (limit == 0 || max(c.LongestIn, c.LongestAtMost)+answer <= limit) && c.seqs <= p.capOf(c.class)
}

// mayFit tells whether a pool's context may hold the claim. Every vLLM refuses a
// prompt that leaves no token to generate, and an answer that alone is longer than
// the context. Whether both fit together the replica judges: vLLM before 0.32
// refuses if not, later ones cut the answer short. A pooling request (bound 0)
// may fill the context.
func (c *claim) mayFit(p *pool) bool {
	limit := p.cfg.Engine.MaxModelLen
	return limit == 0 || c.LongestIn+c.answerRoom() <= limit && c.OutBound <= limit
}

// answerRoom is the tokens of the context that every vLLM keeps for the answer.
func (c *claim) answerRoom() int {
	if c.OutBound == 0 {
		return 0
	}
	return 1
}

// knownKind is the answers that a kind of request must have had before they are
// believed more than its bound.
const knownKind = 30

// usualAnswer is the tokens that an answer without a bound is expected to have
// while its kind isn't known. What is known of others is no help: the short answers
// of other kinds end first, and would teach that all are short.
const usualAnswer = 300

// foresee fills in how long a claim's answers will probably be: as its kind's
// were. A hard bound is taken at its word until that is known.
func (r *Router) foresee(c *claim, rt *route) {
	c.route, c.kind = rt, lengthKeyOf(c.Tenant, rt.key, c.OutBound, c.TokensIn)
	c.length = r.lengths.predict(r.now, c.kind, c.OutBound)
	switch {
	case c.length.known():
	case c.OutBound >= 0:
		c.length.Mean, c.length.P50, c.length.P90 = float64(c.OutBound), c.OutBound, c.OutBound
	case c.length.Depth == 0:
		c.length.Mean, c.length.P50, c.length.P90 = usualAnswer, usualAnswer, 2*usualAnswer
	default:
		c.length.Mean = max(c.length.Mean, usualAnswer)
		c.length.P50, c.length.P90 = max(c.length.P50, usualAnswer), max(c.length.P90, 2*usualAnswer)
	}
}

// known tells whether the answers of a kind are believed more than a bound.
func (f *forecast) known() bool { return f.Depth >= 2 && f.Samples >= knownKind }

// expect fills in what a claim will probably cost. Work is counted in prompt
// tokens: those in, and w for each expected out.
func (r *Router) expect(c *claim) {
	c.w = r.cfg.Classification.W
	if c.queue == nil {
		return
	}
	c.seqs = max(c.Sequences, 1)
	c.tokensOut = int(math.Ceil(min(c.length.Mean, float64(c.longestContext())) * float64(c.seqs)))
	c.work = int64(c.TokensIn) + int64(math.Ceil(c.w*float64(c.tokensOut)))
}

// longestContext is the largest context of the claim's pools, in tokens; where
// the configuration doesn't tell one, a usual one.
func (c *claim) longestContext() int {
	const usual = 32 << 10
	longest := 0
	for _, p := range c.order() {
		longest = max(longest, cmp.Or(p.cfg.Engine.MaxModelLen, usual))
	}
	return longest
}

// grant gives a claim its slots on a replica that has room for it.
func (r *Router) grant(c *claim, rep *replica, choice int) Grant {
	before := rep.work
	c.charge(r.now)
	r.talks.learn(c)
	l := r.take(c, rep)
	r.countPass(c, rep)
	if c.tried == "" {
		r.budget.request(r.now)
	}
	return Grant{
		Ticket: c.ticket, Lease: l.id, Replica: rep.address, Pool: rep.pool.name,
		Class: c.class, Why: c.why, TokensIn: c.TokensIn, TokensOut: c.tokensOut, LongestOut: c.length.P90, W: c.w, Sequences: c.seqs,
		Choice: choice, Choices: len(c.order()), Work: before, Waited: c.waited, Retried: c.tried != "",
	}
}
