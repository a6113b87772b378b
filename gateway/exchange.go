package gateway

import (
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/gateway/account"
	"sluice/gateway/conn"
	"sluice/gateway/fleet"
	"sluice/gateway/openai"
	"sluice/gateway/replica"
	"sluice/router"
)

// exchange is one request from its first header to its answer's last byte, and
// the owner of all that is held for it. It never leaves the goroutine of its
// client's connection; only cancel and hurryClient are called from elsewhere.
type exchange struct {
	h        *Handler
	p        *policy
	c        *fasthttp.RequestCtx
	client   *conn.Conn
	endpoint openai.Endpoint
	path     string
	id       string // x-request-id
	tenant   string

	visit  visit // ends when the client leaves or the grace period is over
	entry  *account.Entry
	record account.Record

	body  heldBody
	held  share // of an answer that isn't streamed
	facts *openai.Facts
	model *model

	longestIn int // tokens that the longest prompt surely has
	atMost    int // and that it surely doesn't exceed

	grant   router.Grant // valid while leased
	leased  bool
	why     *router.Record // of the decision; nil: nobody wants to know
	member  *fleet.Member
	verdict *fleet.Verdict  // nil: given
	answer  *replica.Answer // nil: none open
	head    *replica.Answer // the last one, for its status and headers, which outlive it
	ended   bool

	contradicts bool // the answer contradicts itself: nothing is learned from it

	dispatched time.Time // when the last attempt began
	rest       *rest     // of an answer that broke; nil: none has, or nobody goes on
}

func newExchange(h *Handler, p *policy, c *fasthttp.RequestCtx, e openai.Endpoint, path string) *exchange {
	x := &exchange{
		h: h, p: p, c: c, client: conn.Of(c.Conn()), endpoint: e, path: path,
		id:    requestID(c),
		entry: h.account.Begin(e.String(), time.Now()),
	}
	x.record.RequestID = x.id
	x.body.of, x.held.of = h.bodies, h.answers
	h.door.enter(&x.visit)
	x.client.Watch(func() { x.visit.end(errClientGone) })
	return x
}

// take holds a grant: its lease is given back by giveBack, once.
func (x *exchange) take(g router.Grant) {
	x.grant, x.leased = g, true
	x.record.Class, x.record.ClassReason = g.Class, g.Why
	x.record.Pool, x.record.Replica = g.Pool, g.Replica
	x.record.Queue = g.Waited // over all attempts
	x.record.Attempts++
}

// giveBack closes the replica's answer and gives the lease back, if they are
// still held. The replica is told first: its slots are free when it knows.
func (x *exchange) giveBack(o router.Outcome) {
	x.leaveReplica(o)
	if x.leased {
		x.leased = false
		x.h.gate.Release(x.grant.Lease, o)
	}
}

// leaveReplica ends the attempt: its connection, and the breaker's verdict on it.
func (x *exchange) leaveReplica(o router.Outcome) {
	x.visit.during(nil)
	if x.answer != nil {
		x.answer.Close()
		x.answer = nil
	}
	if x.verdict != nil {
		x.verdict.Ended(o)
		x.verdict = nil
		x.h.account.Attempt(x.grant.Pool, o)
	}
}

// end is the only way out: it gives back all that is held and accounts for the
// request, once. It hands its error through, for the relay's convenience.
func (x *exchange) end(o router.Outcome, err error) error {
	if x.ended {
		return err
	}
	x.ended = true
	now := time.Now()
	defer x.settle(now, o) // also if a bug is met on the way: the books and the door must not wait for it
	defer x.giveBack(o)
	x.learn(now, o)
	return err
}

// settle accounts for the request when nothing is held any more.
func (x *exchange) settle(now time.Time, o router.Outcome) {
	defer x.h.door.leave(&x.visit)
	x.client.Unwatch()
	x.visit.end(errAnswered)
	x.body.drop()
	x.held.drop()
	x.record.Outcome = o
	x.entry.Finish(now, x.record)
	x.h.account.Overhead(account.PhaseFinish, time.Since(now))
}

// fail ends the request with what the client is to hear: nothing, where it has
// left. One that has only shut its sending side still listens: its connection is
// closed without an answer, or it would read fasthttp's empty 200 as one.
func (x *exchange) fail(err error) {
	var f *failure
	if !errors.As(err, &f) {
		f = x.interrupted(err)
	}
	if f.outcome == router.ClientGoneQueued || f.outcome == router.ClientGoneWaiting {
		_ = x.end(f.outcome, nil)
		_ = x.c.Conn().Close() // it has gone: there is nothing to save
		return
	}
	x.record.Detail = f.logged()
	x.record.Status = f.api.Status
	writeFailure(x.c, x.endpoint, f)
	setIdentity(x)
	if f.hangUp {
		hangUp(x.c)
		x.client.Linger()
	}
	_ = x.end(f.outcome, nil)
}

// interrupted is the failure for a context that ended while the request waited.
func (x *exchange) interrupted(cause error) *failure {
	switch {
	case errors.Is(cause, errDraining):
		return shuttingDown()
	case !errors.Is(cause, errClientGone):
		panic("BUG: nobody ended this request, and yet: " + cause.Error())
	case x.record.Attempts > 0:
		return &failure{outcome: router.ClientGoneWaiting}
	}
	return &failure{outcome: router.ClientGoneQueued}
}
