package gateway

import (
	"log/slog"
	"runtime/debug"

	"github.com/valyala/fasthttp"

	"sluice/gateway/account"
	"sluice/gateway/conn"
	"sluice/gateway/fleet"
	"sluice/gateway/openai"
	"sluice/router"
)

// Handler answers the applications' requests. Serve tells one of them from top
// to bottom.
type Handler struct {
	gate     *Gate
	policies *policies
	fleet    *fleet.Fleet
	account  *account.Account
	log      *slog.Logger
	bodies   *budget
	answers  *budget
	door     *door // who is inside, and whether new requests may come in
}

// Serve answers one request. It is fasthttp's handler: it runs on the goroutine
// of the client's connection, and what it hands over as a body stream is written
// on the same goroutine after it has returned.
func (h *Handler) Serve(c *fasthttp.RequestCtx) {
	defer h.allowOrigin(c)
	defer h.recoverBug(c)
	if err := checkFraming(&c.Request.Header); err != nil {
		h.reject(c, malformed(err))
		return
	}
	if c.Request.Header.ContentLength() == chunkedLength {
		lastOfConnection(c)
	}
	p := h.policies.get()
	path := string(c.Path())
	switch {
	case p.isPreflight(c):
		h.preflight(c, p)
		return
	case isModels(path):
		h.serveModels(c, p, path)
		return
	}
	endpoint := p.endpointOf(path)
	switch {
	case endpoint == openai.NoEndpoint:
		h.reject(c, notFound(path))
	case !c.IsPost():
		h.reject(c, refuse(router.Invalid, "", "method_not_allowed",
			"%s takes POST", path).as(fasthttp.StatusMethodNotAllowed))
		c.Response.Header.Set("Allow", "POST")
	default:
		h.serve(newExchange(h, p, c, endpoint, path))
	}
}

// serve tells a request that has a line in the ledger.
func (h *Handler) serve(x *exchange) {
	defer x.recoverBug()
	err := x.admit()
	if err == nil {
		err = x.read()
	}
	if err == nil {
		err = x.inspect()
	}
	if err == nil {
		err = x.dispatch()
	}
	if err != nil {
		x.fail(err)
	}
}

// recoverBug turns a panic into an answer and an outcome; without it one bug
// would end the process and every stream in it.
func (x *exchange) recoverBug() {
	if bug := recover(); bug != nil {
		x.fail(x.h.bug(x.id, bug))
	}
}

// recoverBug is the last resort, for requests that aren't in the ledger.
func (h *Handler) recoverBug(c *fasthttp.RequestCtx) {
	if bug := recover(); bug != nil {
		h.reject(c, h.bug("", bug))
		hangUp(c)
	}
}

// bug tells the operator of a panic, and makes what the client is told.
func (h *Handler) bug(id string, bug any) *failure {
	h.log.Error("a bug in the gateway ended a request", "id", id, "bug", bug, "stack", string(debug.Stack()))
	return refuse(router.Internal, "", "internal_error", "the gateway failed; please report it with the request's id")
}

// reject answers a request that isn't in the ledger: it named nothing that the
// gateway serves, or its framing can't be trusted.
func (h *Handler) reject(c *fasthttp.RequestCtx, f *failure) {
	h.account.Rejected(f.api.Code)
	writeFailure(c, openai.NoEndpoint, f)
	if n := c.Request.Header.ContentLength(); f.hangUp || n > 0 || n == chunkedLength {
		lastOfConnection(c)
	}
}

// chunkedLength is what fasthttp calls the length of a chunked body.
const chunkedLength = -1

// lastOfConnection makes sure that nothing behind this request is taken for another
// one, and that the client can read the answer all the same.
func lastOfConnection(c *fasthttp.RequestCtx) {
	hangUp(c)
	conn.Of(c.Conn()).Linger()
}

func malformed(err error) *failure {
	return refuse(router.Invalid, "", "invalid_request", "this is not an HTTP/1.1 request that can be trusted: %v", err).hangingUp()
}

func notFound(path string) *failure {
	return refuse(router.Invalid, "", "not_found",
		"there is no %q here; relay.extra_paths can add a path", clip(path)).as(fasthttp.StatusNotFound)
}

// clip shortens what a client sent for use in a message.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
