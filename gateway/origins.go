package gateway

import (
	"slices"

	"github.com/valyala/fasthttp"

	"sluice/router"
)

// Browsers let a page of another origin read an answer, or send a request with a
// key at all, only where relay.allow_origins says so (CORS). What replicas say of
// it ends here: by vLLM's defaults every page may read everything.

// preflightMaxAge is how many seconds a browser need not ask again.
const preflightMaxAge = "600"

// allowOrigin tells the browser, on every answer and errors too, that the page
// may read it. Nothing is said where no origin is allowed, or not this one.
func (h *Handler) allowOrigin(c *fasthttp.RequestCtx) {
	p := h.policies.get()
	if len(p.cfg.Relay.AllowOrigins) == 0 {
		return
	}
	header := &c.Response.Header
	allowed := p.allowedOrigin(c)
	if allowed != "*" {
		header.Add("Vary", "Origin") // a cache must not answer another page with this
	}
	if allowed != "" {
		header.Set("Access-Control-Allow-Origin", allowed)
		header.Set("Access-Control-Expose-Headers", "*")
	}
}

// allowedOrigin is the value of Access-Control-Allow-Origin; "" : none.
func (p *policy) allowedOrigin(c *fasthttp.RequestCtx) string {
	origin := string(c.Request.Header.Peek("Origin"))
	switch list := p.cfg.Relay.AllowOrigins; {
	case slices.Contains(list, "*"):
		return "*"
	case slices.Contains(list, origin):
		return origin
	}
	return ""
}

// isPreflight tells whether a browser asks if a page may send a request. Where no
// origin is allowed such a question is a request like any other.
func (p *policy) isPreflight(c *fasthttp.RequestCtx) bool {
	h := &c.Request.Header
	return len(p.cfg.Relay.AllowOrigins) > 0 && c.IsOptions() &&
		len(h.Peek("Origin")) > 0 && len(h.Peek("Access-Control-Request-Method")) > 0
}

// preflight answers without a key, which browsers don't send with the question,
// and without a replica.
func (h *Handler) preflight(c *fasthttp.RequestCtx, p *policy) {
	if p.allowedOrigin(c) == "" {
		h.reject(c, refuse(router.Invalid, "", "origin_not_allowed",
			"pages of this origin may not use the API (relay.allow_origins)").as(fasthttp.StatusForbidden))
		return
	}
	header := &c.Response.Header
	c.SetStatusCode(fasthttp.StatusNoContent)
	header.Set("Access-Control-Allow-Methods", "GET, POST")
	header.Set("Access-Control-Allow-Headers", allOf(&c.Request.Header, "Access-Control-Request-Headers"))
	header.Set("Access-Control-Max-Age", preflightMaxAge)
}
