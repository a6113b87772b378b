package gateway

import (
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/valyala/fasthttp"

	"sluice/gateway/account"
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
	base     context.Context // ends with errDraining when the grace period is over
	door     *door           // who is inside, and whether new requests may come in
}

// Serve answers one request. It is fasthttp's handler: it runs on the goroutine
// of the client's connection, and what it hands over as a body stream is written
// on the same goroutine after it has returned.
func (h *Handler) Serve(c *fasthttp.RequestCtx) {
	p := h.policies.get()
	path := string(c.Path())
	if isModels(path) {
		h.serveModels(c, p, path)
		return
	}
	endpoint := openai.EndpointOf(path)
	if endpoint == openai.NoEndpoint && p.extra[path] {
		endpoint = openai.Extra
	}
	switch {
	case endpoint == openai.NoEndpoint:
		h.reject(c, notFound(path))
	case !c.IsPost():
		c.Response.Header.Set("Allow", "POST")
		h.reject(c, refuse(router.Invalid, "", "method_not_allowed",
			"%s takes POST", path).as(fasthttp.StatusMethodNotAllowed))
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
	bug := recover()
	if bug == nil {
		return
	}
	x.h.log.Error("a bug in the gateway ended a request", "id", x.id, "bug", bug, "stack", string(debug.Stack()))
	x.fail(refuse(router.Internal, "", "internal_error", "the gateway failed; please report it with the request's id"))
}

// reject answers a request that isn't in the ledger: it named nothing that the
// gateway serves.
func (h *Handler) reject(c *fasthttp.RequestCtx, f *failure) {
	writeFailure(c, openai.NoEndpoint, f)
	if c.Request.Header.ContentLength() != 0 {
		hangUp(c)
	}
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
