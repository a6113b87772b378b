package gateway

import (
	"time"

	"sluice/gateway/account"
	"sluice/gateway/openai"
	"sluice/router"
)

// used takes note of the usage that the replica told.
func (x *exchange) used(u openai.Usage, known bool) {
	x.record.UsageKnown = known
	x.record.TokensIn, x.record.TokensOut, x.record.TokensCached = u.PromptTokens, u.CompletionTokens, u.CachedTokens
}

// doubt counts what a whole answer says against itself. The client has it as it is;
// nothing is learned from it.
func (x *exchange) doubt(said int, u openai.Usage, known bool) {
	switch x.facts.Doubt(said, u, known) {
	case openai.NothingSaid:
		x.h.account.Fault(account.NoToken)
	case openai.UsageContradicts:
		x.h.account.Fault(account.UsageContradicts)
	default:
		return
	}
	x.contradicts = true
}

// learn tells what a finished request teaches: the estimator how long prompts
// really are, the router how long answers are and how long they take.
// Of an answer by two replicas neither is true.
func (x *exchange) learn(now time.Time, o router.Outcome) {
	if o != router.Completed || x.rest != nil || x.contradicts || !x.leased || !x.record.UsageKnown || x.record.Sequences == 0 {
		return
	}
	x.model.estimator.Learn(x.facts, x.record.TokensIn)
	x.h.gate.Learn(router.Answer{
		Lease: x.grant.Lease, TokensOut: x.record.TokensOut / x.record.Sequences, Service: x.service(now),
	})
}

// service is how long the replica took: to the first token for Decode, to the
// end for Prefill.
func (x *exchange) service(end time.Time) time.Duration {
	if x.record.Class == router.Decode && !x.record.FirstToken.IsZero() {
		end = x.record.FirstToken
	}
	return end.Sub(x.dispatched)
}
