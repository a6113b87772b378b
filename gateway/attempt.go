package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/gateway/openai"
	"sluice/gateway/replica"
	"sluice/router"
)

// result is what one attempt at a replica came to: a stream that has begun, an
// answer read whole, or a failure. An answer may be an outcome other than
// Undecided all the same: a 400 or a busy replica's 429, which pass as they are
// if nobody else is tried.
type result struct {
	outcome router.Outcome // Undecided: good, as far as can be told
	stream  *stream
	whole   []byte // the body of an answer that isn't streamed
	fail    *failure
}

// attempt sends the request to the granted replica and waits for the commit
// point: its first event, or its whole answer. Nothing has gone to the client.
func (x *exchange) attempt() result {
	x.member = x.h.fleet.Member(x.grant.Replica)
	if x.member == nil {
		return fails(router.ConnectFailed, "the replica that was chosen has just left the configuration")
	}
	verdict, willing := x.member.Begin()
	if !willing {
		r := fails(router.Busy, "the breaker of the replica that was chosen has just opened")
		r.fail.retryAfter = x.p.cfg.Health.OpenFor
		return r
	}
	x.verdict = verdict
	r := x.try()
	if r.outcome == router.Undecided {
		verdict.Report(router.Completed) // it answers; how the answer ends, Ended says
	}
	return r
}

// fails is an attempt that came to nothing.
func fails(o router.Outcome, format string, args ...any) result {
	return result{outcome: o, fail: failed(o, format, args...)}
}

func (x *exchange) try() result {
	pool := x.pool()
	x.dispatched = time.Now()
	deadline := x.dispatched.Add(x.firstEventLimit())
	call := new(replica.Call)
	x.visit.during(func() { call.Cancel(); x.hurryClient() })
	body := x.facts.Splice(nil, x.body.bytes, openai.Edit{
		Model: pool.served, AskUsage: true, Strip: pool.strip, Rest: x.rest.asked(),
	})
	answer, err := x.member.Client().Do(call, &replica.Request{
		Method: "POST", Path: x.path, Header: x.requestFields(x.member.Key()), Body: body, FirstByte: deadline,
	})
	if err != nil {
		return x.broken(err, false)
	}
	x.answer, x.head = answer, answer
	answer.SetReadDeadline(deadline)
	switch {
	case answer.Status >= 300:
		return x.said(answer)
	case isCompressed(answer):
		return fails(router.ReplicaError, "the replica of pool %s, or a proxy before it, compressed its answer although asked not to "+
			"(Accept-Encoding: identity): whether it is whole can't be told", x.grant.Pool)
	case !answer.Framed() && !x.saysItsEnd(answer):
		return fails(router.ReplicaError, "the replica of pool %s, or a proxy before it, answered with neither a length nor chunks: "+
			"whether its answer is whole can't be told", x.grant.Pool)
	case isEventStream(answer):
		return x.begin(answer)
	}
	return x.whole(answer)
}

// pool is what the attempt needs to know of the granted pool. The policy in force
// says it, since a reload may have brought the pool, or another model to it, while
// the request waited; a pool that has just been removed is in the request's own.
func (x *exchange) pool() poolPolicy {
	if pool, known := x.h.policies.get().pools[x.grant.Pool]; known {
		return pool
	}
	return x.p.pools[x.grant.Pool]
}

// firstEventLimit is how long a replica may be silent. An answer that isn't
// streamed is silent until it is whole, so its length counts.
func (x *exchange) firstEventLimit() time.Duration {
	t := &x.p.cfg.Timeouts
	limit := t.FirstEvent + t.FirstEventPer4K*time.Duration(x.record.TokensInEstimate)/4000
	if x.facts.Stream {
		return limit
	}
	return limit + t.PerTokenUnstreamed*time.Duration(longestAnswer(x.facts.OutBound, x.model.maxLen))
}

// longestAnswer is how many tokens an answer may have: its bound, at most what
// the model's context holds. A context that the file doesn't tell (0) is taken to
// be a usual one: too long a limit finds a hung replica late, too short a one cuts
// healthy answers.
func longestAnswer(bound, context int) int {
	const usual = 32 << 10
	longest := cmp.Or(context, usual)
	if bound < 0 {
		return longest
	}
	return min(bound, longest)
}

// broken is an attempt whose connection failed: before anything of the answer
// had come, or, if begun, with half of an answer that isn't streamed.
func (x *exchange) broken(err error, begun bool) result {
	if cause := x.visit.Err(); cause != nil {
		f := x.interrupted(cause)
		return result{outcome: f.outcome, fail: f}
	}
	if errors.Is(err, errAnswerTooLarge) || errors.Is(err, errEventTooLarge) {
		return fails(router.ReplicaError, "the replica of pool %s: %v", x.grant.Pool, err)
	}
	if errors.Is(err, errAnswersHeld) {
		f := failed(router.Internal, "%v; this one is lost, and its operator should raise the limit, or lower limits.answer", err).as(fasthttp.StatusServiceUnavailable)
		f.mayHaveRun = true
		return result{outcome: f.outcome, fail: f}
	}
	if replica.Exhausted(err) {
		f := failed(router.Internal, "the gateway has no descriptors or ports left for a connection; its operator must raise the limit on open files")
		return result{outcome: f.outcome, fail: f.because(err)}
	}
	o := replica.Outcome(err, begun)
	if o == router.Undecided {
		o = router.Internal // cancelled by nobody
	}
	r := fails(o, "%s", x.told(o))
	r.fail.cause = err
	return r
}

// told says in words what happened to the request, for client and log.
func (x *exchange) told(o router.Outcome) string {
	t := &x.p.cfg.Timeouts
	what := "failed"
	switch o {
	case router.Draining:
		return "the gateway is shutting down and timeouts.drain is over; the answer ends here"
	case router.ConnectFailed:
		what = "could not be reached; the request was not sent"
	case router.Lost:
		what = "was lost before the answer's first event; it may have run the request"
	case router.Silent:
		what = fmt.Sprintf("sent no first event in time (timeouts.first_event=%s); it may have run the request", t.FirstEvent)
	case router.Stalled:
		what = fmt.Sprintf("fell silent in mid-answer (timeouts.between_events=%s)", t.BetweenEvents)
	case router.Truncated:
		what = "ended its answer before it was complete"
	case router.Aborted:
		what = "aborted its answer half-way"
	}
	return fmt.Sprintf("the replica of pool %s %s", x.grant.Pool, what)
}

// begin waits for the stream's commit point.
func (x *exchange) begin(answer *replica.Answer) result {
	w := openai.NewWalker(x.endpoint, x.facts.Sequences, x.facts.AsksUsage())
	s := newStream(answer, w, int(x.p.cfg.Limits.Answer))
	x.listen(s)
	for !s.committed {
		if err := s.fill(); err != nil {
			return x.neverBegan(s, err)
		}
	}
	if s.walker.Ending() == openai.EndingAborted && s.first.IsZero() {
		return fails(router.Aborted, "the replica of pool %s dropped the request before its first token", x.grant.Pool)
	}
	answer.SetReadDeadline(time.Time{})
	answer.SetReadTimeout(x.p.cfg.Timeouts.BetweenEvents)
	return result{stream: s}
}

// neverBegan is a stream that ended before anything worth relaying.
func (x *exchange) neverBegan(s *stream, err error) result {
	if err == io.EOF {
		if s.committed && s.walker.Ending().Whole() {
			return result{stream: s}
		}
		return fails(router.Truncated, "the replica of pool %s ended its stream before the first token", x.grant.Pool)
	}
	return x.broken(err, false)
}
