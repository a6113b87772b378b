package gateway

import (
	"log/slog"

	"github.com/valyala/fasthttp"

	"sluice/router"
)

const (
	decisionHeader = "x-sluice-decision"
	maxDecision    = 2 << 10 // bytes: proxies bound the head of an answer, often to 4 or 8 KiB
)

// acquire takes slots for the request; with a record of why, if somebody wants to
// know. A record takes about as long as a decision, under the same lock.
func (x *exchange) acquire(req router.Request) (router.Grant, error) {
	logged := x.h.log.Enabled(&x.visit, slog.LevelDebug)
	if !logged && !x.asksWhy() {
		return x.h.gate.Acquire(&x.visit, req)
	}
	x.why = new(router.Record)
	grant, err := x.h.gate.AcquireExplained(&x.visit, req, x.why)
	x.h.log.Debug("decision", "id", x.id, "words", x.why.Words, "waited", grant.Waited)
	return grant, err
}

// asksWhy tells whether the client wants to hear of the decision, and may.
func (x *exchange) asksWhy() bool {
	return x.p.cfg.Relay.DecisionHeaders && len(x.c.Request.Header.Peek(decisionHeader)) > 0
}

// setDecision tells the client why, if it has asked. A record is of the moment in
// which the request came; what came of it later is added in words.
func (x *exchange) setDecision(h *fasthttp.ResponseHeader) {
	if x.why == nil || !x.asksWhy() {
		return
	}
	if x.record.Attempts > 0 && x.why.Choice.Replica != x.grant.Replica {
		x.why.Then = x.grant.Explain()
	}
	h.SetBytesV(decisionHeader, x.why.Compact(maxDecision))
}
