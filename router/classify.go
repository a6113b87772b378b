package router

import "sluice/config"

// shortBound is the hard bound, in output tokens of a sequence, up to which a
// request is prefill-heavy whatever its prompt: a label, a yes, a score.
const shortBound = 16

// classify decides a request's class. The first that has a say wins:
//
//  1. the endpoint: what generates nothing is Other
//  2. the client's hint, where the route has pools for that class
//  3. the route (routes.NAME.class)
//  4. the first rule of classification.rules that matches
//  5. a hard bound of at most 16 output tokens: Prefill (pooling calls send 0)
//  6. the ratio: Prefill if tokens in > w × tokens out
//
// A class that the route has no pools for becomes the other one.
func (rt *route) classify(req *Request, policy *config.Classification) (Class, ClassReason) {
	if req.Class == Other {
		return Other, ByEndpoint
	}
	if rt.serves(req.Class) {
		return req.Class, ByClient
	}
	class, why := rt.decide(req, policy)
	if !rt.serves(class) {
		class = class.opposite()
	}
	return class, why
}

func (rt *route) decide(req *Request, policy *config.Classification) (Class, ClassReason) {
	if rt.class != ClassNone {
		return rt.class, ByRoute
	}
	for i := range policy.Rules {
		if rule := &policy.Rules[i]; matches(rule, req) {
			return ParseClass(rule.Class), ByRule
		}
	}
	if req.OutBound >= 0 && req.OutBound <= shortBound {
		return Prefill, ByBound
	}
	return rt.byRatio(req, policy.W), ByRatio
}

// byRatio compares the whole request: its prompt tokens, each counted once,
// with the tokens of all its sequences. So n samples of one prompt weigh n
// times its answer, and a batch of prompts is judged as one of them would be.
func (rt *route) byRatio(req *Request, w float64) Class {
	out := float64(req.OutBound)
	if req.OutBound < 0 {
		out = rt.tokensOut.value
	}
	if float64(req.TokensIn) > w*out*float64(max(req.Sequences, 1)) {
		return Prefill
	}
	return Decode
}

// matches tells whether a request meets every condition of a rule.
func matches(rule *config.Rule, req *Request) bool {
	return (rule.Route == "" || rule.Route == req.Route) &&
		(rule.Tenant == "" || rule.Tenant == req.Tenant) &&
		(rule.MinTokensIn == 0 || req.TokensIn >= rule.MinTokensIn) &&
		(rule.MaxTokensIn == 0 || req.TokensIn <= rule.MaxTokensIn) &&
		(rule.MaxTokensOut == 0 || req.OutBound >= 0 && req.OutBound <= rule.MaxTokensOut)
}

// opposite is the other generating class.
func (c Class) opposite() Class {
	if c == Prefill {
		return Decode
	}
	return Prefill
}
