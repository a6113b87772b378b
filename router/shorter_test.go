package router

import "testing"

// While most are refused, a long prompt is taken only where the usual one would be
// in time too, though its own SLO lets it wait longer.
func TestLongPromptsLeaveRoomToTheUsual(t *testing.T) {
	for _, test := range []struct {
		name    string
		tokens  int
		refused float64 // the part of the requests
		flying  float64 // prompt tokens before it
		want    Verdict
	}{
		{"few are refused", 20000, 0.3, 120000, Willing},
		{"most are refused", 20000, 0.7, 120000, ShorterFirst},
		{"little is before it", 20000, 0.7, 20000, Willing},
		{"nothing is before it", 20000, 0.7, 0, Willing},
		{"a usual one", 2000, 0.7, 20000, Willing},
		{"a usual one, too late", 2000, 0.7, 250000, FirstTooLate},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := promisedConfig(total(64), total(64))
			rt := cfg.Routes["gemma"]
			rt.Prefill.SLO.TTFTPer1K = rt.Prefill.SLO.TTFT / 4
			cfg.Routes["gemma"] = rt
			r := testRouter(cfg)
			q, rep := r.routes["gemma"].prefill, r.pools["big"].replicas[0]
			for range 50 {
				c := r.claimed(prompt(2000))
				c.count()
			}
			q.misses.value = test.refused
			rep.pace.flying = test.flying
			if got := r.prospect(rep, r.claimed(prompt(test.tokens)), true).Verdict; got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// prompt is a request of class Prefill.
func prompt(tokens int) Request {
	req := label()
	req.TokensIn, req.LongestIn = tokens, tokens
	return req
}

// claimed is what a request is to the router before it is placed.
func (r *Router) claimed(req Request) *claim {
	c := &claim{Request: req, arrival: r.now}
	r.judge(c)
	return c
}
