package router

// The parts of an SLO that predictions may fill. The mean time per token of a long
// answer is foreseen better than the end of a short one.
const (
	firstMargin = 0.8
	tokenMargin = 0.97
)

// Verdict says whether a replica would take a request now, and if not, why.
type Verdict uint8

// The verdicts, in the order in which they are found.
const (
	Undecidable   Verdict = iota // not judged: a pool before it took the request
	Tried                        // the request failed there before
	TooSmall                     // the pool's context can't hold it
	NotUp                        // warming, draining, open or unwell
	Paused                       // it has just said that it is busy
	Full                         // its cap, or room held for a waiter
	Starting                     // a new process that must answer some before it gets more
	NoSignOfLife                 // prompts lie there, and nothing comes
	MemoryFull                   // its KV cache would probably overflow
	HomeFirst                    // others wait whose first choice this pool is
	UrgentFirst                  // others wait, or waited a moment ago, who are not of priority batch
	KeptFree                     // what it has left is kept for those
	MissesSLO                    // even idle it couldn't keep the SLO, and the operator wants such a request refused
	ShorterFirst                 // too many are refused, and behind it the usual prompt would come too late
	FirstTooLate                 // the first token, or all of a short answer, would come too late
	TokensTooSlow                // the answers that decode there would fall behind their time per token
	OthersShare                  // another class waits that has had less than its share, and needs this room
	Willing                      // it would take it
)

var verdictNames = [...]string{
	Undecidable: "not asked", Tried: "tried before", TooSmall: "context too small", NotUp: "not up", Paused: "busy pause", Full: "full", Starting: "starting",
	HomeFirst: "its own classes wait", ShorterFirst: "kept for shorter prompts", NoSignOfLife: "stalled", MemoryFull: "KV cache full", UrgentFirst: "interactive requests wait", KeptFree: "kept for interactive requests",
	OthersShare: "another class is owed its share", MissesSLO: "would miss its SLO", FirstTooLate: "first token too late", TokensTooSlow: "tokens too slow", Willing: "willing",
}

// String is the verdict in words.
func (v Verdict) String() string { return verdictNames[v] }

// MarshalText is String, for JSON.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Prospect is what a replica would do for a request, as predicted. Times are
// seconds; limits of 0 are none.
type Prospect struct {
	Verdict    Verdict `json:"verdict"`
	Known      float64 `json:"known"`       // tokens of its prompt that the replica has computed before
	First      float64 `json:"first"`       // until its first token; for Prefill until its end
	FirstLimit float64 `json:"first_limit"` // what its SLO leaves for that
	Token      float64 `json:"token"`       // per token of the answers that would decode there
	TokenLimit float64 `json:"token_limit"`
	BestEffort bool    `json:"best_effort"` // no idle replica could serve it in time, or not any more
}

// prospect judges whether a replica can serve a claim within its SLO, from what
// it holds, without spoiling the SLO of those that it holds. Home says that the
// pool is the claim's first choice; elsewhere the pool's own classes come first.
//
//  1. A replica that shows no sign of life, or whose KV cache is full, gets nothing.
//     Without an SLO caps decide the rest.
//  2. The prompt must be computed in time: what is ahead of it and itself.
//  3. The answers that decode there must keep their time per token, with one
//     more of them or with its prompt's tokens.
//  4. A claim that no idle replica could serve in time, or not any more, is best
//     effort: it is taken by a replica that is idle enough, as 3 allows. Where the
//     operator refuses those, by none (miss.go).
//  5. Else an empty replica takes whatever has its turn, unless it will be faster in a
//     moment, when prompts that came lately are forgotten. What is never tried is never
//     learned, and else one slow answer could shut a replica out for good.
func (r *Router) prospect(rep *replica, c *claim, home bool) Prospect {
	known := float64(c.TokensIn) - rep.fresh(c)
	if c.queue.slo.TTFT <= 0 {
		return Prospect{Verdict: r.fit(rep, c), Known: known}
	}
	p := r.firstToken(rep, c, float64(c.TokensIn)-known)
	p.Known = known
	r.nextTokens(&p, rep, c)
	p.Verdict = r.fit(rep, c)
	switch {
	case p.Verdict != Willing:
	case r.othersFirst(rep, c, home):
		p.Verdict = HomeFirst
	case r.misses(rep, c):
		p.miss(r.alone(rep, c), c.left(r.now))
	case rep.crowdsOut(c):
		p.Verdict = ShorterFirst
	case p.First > p.FirstLimit && !(p.BestEffort && rep.pace.flying == 0):
		p.Verdict = FirstTooLate
	case p.slow():
		p.Verdict = TokensTooSlow
	case r.owes(rep, c):
		p.Verdict = OthersShare
	}
	return p
}

// fit is rule 1. It holds for nothing idle: there no prompt waits, and no KV is held.
func (r *Router) fit(rep *replica, c *claim) Verdict {
	switch {
	case rep.stalled(r.now):
		return NoSignOfLife
	case rep.kvFull(c, r.now):
		return MemoryFull
	}
	return Willing
}

// slow says that answers would fall behind their time per token.
func (p *Prospect) slow() bool { return p.TokenLimit > 0 && p.Token > p.TokenLimit }

// idle is the part of an SLO in which a replica that counts as idle would have
// served a request. Best effort takes room on no other.
const idle = 0.5

// firstToken is rule 2, and the exception of rule 4. For Prefill the whole answer
// must come in time.
func (r *Router) firstToken(rep *replica, c *claim, fresh float64) Prospect {
	total := c.queue.slo.limit(c.TokensIn).Seconds() * firstMargin
	p := Prospect{First: rep.pace.ttft(fresh)}
	if c.class == Prefill {
		p.First = rep.pace.e2e(fresh, c.each())
	}
	if p.BestEffort = c.late || rep.pace.idle(c) > total; p.BestEffort {
		p.FirstLimit = total * idle
		if c.refuses() {
			p.FirstLimit = min(p.FirstLimit, c.left(r.now))
		}
		return p
	}
	p.FirstLimit = total - r.now.Sub(c.arrival).Seconds()
	if rep.pace.flying == 0 {
		p.First = min(p.First, rep.pace.idle(c)) // nothing can be in its way; and what is never tried is never learned
	}
	p.BestEffort = p.First > p.FirstLimit && rep.held() == 0 // rule 5
	return p
}

// idle is what an idle replica would need for what the claim's SLO counts.
func (p *pace) idle(c *claim) float64 {
	if c.class == Prefill {
		return p.idleE2E(float64(c.TokensIn), c.each())
	}
	return p.idleTTFT(float64(c.TokensIn))
}

// each is the expected tokens of one sequence's answer.
func (c *claim) each() float64 { return float64(c.tokensOut) / float64(max(c.seqs, 1)) }

// nextTokens is rule 3, where it isn't moot.
func (r *Router) nextTokens(p *Prospect, rep *replica, c *claim) {
	decodes, own := rep.heldOf(Decode), (float64(c.TokensIn)-p.Known)/inflowMemory
	if c.class == Decode {
		decodes += c.seqs
	}
	if decodes == 0 {
		return
	}
	p.Token = rep.pace.tpot(decodes, rep.pace.inflow.now(r.now)+own)
	if limit := rep.pool.tpot.Seconds() * tokenMargin; !rep.moot(c, own, limit) {
		p.TokenLimit = limit
	}
}

// moot says that rule 3 would keep nothing: an empty replica wouldn't be faster by
// waiting, which is rule 5, or no prompt could spoil answers that fall behind alone.
func (rep *replica) moot(c *claim, own, limit float64) bool {
	if c.class == Prefill {
		return rep.pace.tpot(1, 0) > limit
	}
	return rep.held() == 0 && rep.pace.tpot(c.seqs, own) > limit
}
