package router

import (
	"math"
	"time"
)

// Explain decides as Offer would, from the same state by the same code, and tells
// why; but nothing comes of it. The ticket is the one that the next Offer gives.
func (r *Router) Explain(now time.Time, req Request) Record {
	defer func(before time.Time) { r.now = before }(r.now)
	r.now = now
	c := claim{Request: req, ticket: r.tickets + 1, arrival: now, notes: &notes{}}
	defer c.notes.giveBack()
	rec := Record{At: now, Request: factsOf(&req)}
	rec.Request.Priority = r.priorityOf(&req)
	if no := r.judge(&c); no != nil {
		rec.refused(no)
		if c.route != nil {
			r.pick(&c, nil) // for what the replicas would say
		}
	} else {
		rec.placed(r, &c)
	}
	rec.Foreseen, rec.Class = c.foreseen(), r.classified(&c)
	rec.Candidates = r.candidates(&c)
	rec.Won = rec.won()
	rec.Words = rec.sentence()
	return rec
}

// placed fills in what becomes of a claim that replicas were asked for.
func (rec *Record) placed(r *Router, c *claim) {
	rep, _, no := r.place(c)
	if c.queue != nil {
		rec.Queue = r.line(c)
	}
	switch {
	case rep != nil:
		rec.Choice = Choice{Replica: rep.address, Pool: rep.pool.name}
	case no != nil:
		rec.refused(no)
	default:
		rec.Choice = Choice{Waits: true}
		rec.Wait = &Wait{Deadline: c.arrival.Add(c.queue.maxWait(&c.Request)), Ahead: c.before(), Expected: rec.Queue.Expected}
	}
}

func (rec *Record) refused(no *Refusal) {
	rec.Choice = Choice{Refused: no.Outcome}
	rec.Refusal = &Reason{Outcome: no.Outcome, Param: no.Param, Detail: no.Detail, RetryAfter: no.RetryAfter.Seconds()}
}

func factsOf(req *Request) Facts {
	return Facts{
		Route: req.Route, Pool: req.Pool, Tenant: req.Tenant, TokensIn: req.TokensIn, LongestIn: req.LongestIn, AtMost: max(req.LongestIn, req.LongestAtMost), Bound: req.OutBound,
		Sequences: req.Sequences, Bytes: req.Bytes, Class: req.Class, MaxWait: req.MaxWait.Seconds(),
	}
}

func (c *claim) foreseen() Foreseen {
	if c.queue == nil {
		return Foreseen{W: c.w}
	}
	return Foreseen{
		Mean: c.length.Mean, P50: c.length.P50, P90: c.length.P90, Samples: c.length.Samples,
		TokensOut: c.tokensOut, Work: c.work, W: c.w,
	}
}

func (r *Router) classified(c *claim) Classified {
	found := Classified{Class: c.class, Why: c.why}
	switch c.why {
	case ByRule:
		found.Rule = ruleOf(&r.cfg.Classification, &c.Request) + 1
	case ByRatio, ByConversation:
		found.Prompt, found.Answer = r.ratio(c)
		if found.Earlier = c.earlier; c.earlier == ClassNone {
			found.Before = r.kinds[c.kind]
		}
	}
	return found
}

// line is the queue of a claim before it stands there.
func (r *Router) line(c *claim) *Line {
	q := c.queue
	return &Line{
		Beside: c.beside, Behind: c.behind, Crowds: q.full(c, q.waiting, q.bytes) != "" && q.crowding(c) != nil,
		Path: q.path, Waiting: q.waiting, MaxWaiting: q.limits.MaxWaiting, Bytes: q.bytes, MaxBytes: int64(q.limits.MaxBytes),
		Expected: c.expectedWait(r.now).Seconds(), Allowed: q.maxWait(&c.Request).Seconds(),
	}
}

// notes are what the replicas that were asked for a claim said, in that order; and
// its tenant's share as it was before: the others must see it as an offer leaves it.
type notes struct {
	said   []note
	queue  *queue
	share  *share
	before share
}

// borrow keeps a share as it is, for giveBack.
func (n *notes) borrow(q *queue, s *share) { n.queue, n.share, n.before = q, s, *s }

// giveBack undoes what was done to a borrowed share.
func (n *notes) giveBack() {
	if n.share != nil {
		*n.share = n.before
		n.queue.shares.lacking.drop()
	}
}

type note struct {
	replica  *replica
	prospect Prospect
}

// note takes a note, if somebody wants to know.
func (c *claim) note(rep *replica, p Prospect) {
	if c.notes != nil {
		c.notes.take(rep, p)
	}
}

func (n *notes) take(rep *replica, p Prospect) { n.said = append(n.said, note{rep, p}) }

// candidates lists the replicas of a claim's pools. Those that weren't asked are
// told apart: their context is too small, or a pool before theirs took it.
func (r *Router) candidates(c *claim) []Candidate {
	list := []Candidate{}
	if c.route == nil {
		return list
	}
	said := c.notes.said
	for choice, p := range c.order() {
		value := r.valueOf(c, p)
		for _, rep := range p.replicas {
			prospect := Prospect{}
			switch {
			case len(said) > 0 && said[0].replica == rep:
				prospect, said = said[0].prospect, said[1:]
			case !c.fits(p):
				prospect.Verdict = TooSmall
			}
			found := rep.candidate(c, prospect)
			found.Choice, found.Value = choice+1, value
			list = append(list, found)
		}
	}
	return list
}

// endless is what predictions end at, in seconds: JSON has no infinity.
const endless = 3600

func (rep *replica) candidate(c *claim, p Prospect) Candidate {
	p.First, p.Token = tidy(p.First), tidy(p.Token)
	p.FirstLimit, p.TokenLimit = tidy(p.FirstLimit), tidy(p.TokenLimit)
	return Candidate{
		Address: rep.address, Pool: rep.pool.name, State: rep.state, Active: rep.active, Closing: rep.closing,
		Cap: rep.pool.cfg.Cap.Total, ClassCap: rep.pool.capOf(c.class), Room: rep.room(c.class, nil),
		Work: rep.work, Used: rep.used, Prospect: p,
	}
}

// tidy rounds to microseconds.
func tidy(seconds float64) float64 { return math.Round(min(seconds, endless)*1e6) / 1e6 }

// valueOf is what serving a claim from a pool is worth.
func (r *Router) valueOf(c *claim, p *pool) float64 {
	if c.queue == nil || c.route.pin != "" {
		return 1
	}
	for _, pref := range classOf(r.cfg.Routes[c.route.name], c.class).Pools {
		if pref.Pool == p.name {
			return pref.Value
		}
	}
	return 1
}
