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
//  6. the conversation: as its turn before, unless the ratio is far past the border
//  7. the ratio: Prefill if tokens in > w × tokens out
//
// A class that the route has no pools for becomes the other one.
func (r *Router) classify(c *claim) (Class, ClassReason) {
	rt, req := c.route, &c.Request
	if req.Class == Other {
		return Other, ByEndpoint
	}
	if rt.serves(req.Class) {
		return req.Class, ByClient
	}
	class, why := r.decide(c)
	if !rt.serves(class) {
		class = class.opposite()
	}
	return class, why
}

func (r *Router) decide(c *claim) (Class, ClassReason) {
	rt, req, policy := c.route, &c.Request, &r.cfg.Classification
	if rt.class != ClassNone {
		return rt.class, ByRoute
	}
	if i := ruleOf(policy, req); i >= 0 {
		return ParseClass(policy.Rules[i].Class), ByRule
	}
	if req.OutBound >= 0 && req.OutBound <= shortBound {
		return Prefill, ByBound
	}
	class := r.byRatio(c)
	if class == c.earlier {
		return class, ByConversation
	}
	return class, ByRatio
}

// ruleOf is the position of the first rule that matches; -1: none does.
func ruleOf(policy *config.Classification, req *Request) int {
	for i := range policy.Rules {
		if matches(&policy.Rules[i], req) {
			return i
		}
	}
	return -1
}

// byRatio compares the whole request: its prompt tokens, each counted once,
// with the tokens that all its sequences will probably have. So n samples of one
// prompt weigh n times its answer, and a batch of prompts is judged as one of
// them would be. A kind of request keeps its class until the ratio has clearly
// passed to the other side: one that lies near the border would change models
// from one request to the next. A conversation keeps its own until the ratio is far
// past it.
func (r *Router) byRatio(c *claim) Class {
	if prompt, answer := r.ratio(c); prompt > answer {
		return Prefill
	}
	return Decode
}

// ratio is its two sides, that of the class which there is reason to keep the
// heavier.
func (r *Router) ratio(c *claim) (prompt, answer float64) {
	prompt, answer = float64(c.TokensIn), r.cfg.Classification.W*c.length.Mean*float64(max(c.Sequences, 1))
	keep, weight := r.kinds[c.kind], stickiness
	if c.earlier != ClassNone {
		keep, weight = c.earlier, talkStickiness
	}
	switch keep {
	case Prefill:
		prompt *= weight
	case Decode:
		answer *= weight
	}
	return prompt, answer
}

// remember keeps the class that a kind of request got by its ratio.
func (r *Router) remember(c *claim) {
	if c.why != ByRatio {
		return
	}
	if len(r.kinds) >= lengthLimit {
		clear(r.kinds)
	}
	r.kinds[c.kind] = c.class
}

// How far the ratio must have passed the border for a kind of request, and for a
// conversation.
const (
	stickiness     = 1.25
	talkStickiness = 4.0
)

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
