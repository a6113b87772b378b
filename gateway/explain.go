package gateway

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/config"
	"sluice/gateway/openai"
	"sluice/router"
)

// Explainer tells how a gateway with a configuration would decide, without one
// that runs: its replicas are all ready and idle, and nothing has been learned.
type Explainer struct{ p *policy }

// Question is the request to explain.
type Question struct {
	Path   string            // such as /v1/chat/completions; a query behind it doesn't matter
	Header map[string]string // x-sluice-class, -priority and -timeout-ms; others don't matter
	Key    string            // the tenant's; "" where none is needed
	Body   []byte
}

// NewExplainer reads what the configuration names. The error is one of the
// configuration.
func NewExplainer(cfg *config.Config) (*Explainer, error) {
	p, err := newPolicies().build(cfg)
	return &Explainer{p}, err
}

// Explain reads the request as a gateway does, with the same code, and has a
// router explain it. The error is what the client of a gateway would hear before
// any replica was thought of.
func (e *Explainer) Explain(now time.Time, q Question) (router.Record, error) {
	req, err := e.request(q)
	var f *failure
	switch {
	case errors.As(err, &f):
		return router.Record{}, fmt.Errorf("the gateway would answer %d: %s", f.api.Status, f.said().Message)
	case err != nil:
		return router.Record{}, err
	}
	r := router.New(now, e.p.cfg)
	r.SetFleet(now, idleFleet(e.p.cfg))
	return r.Explain(now, req), nil
}

// request is the facts of a question. Its error is a *failure, but where there is
// nothing to decide.
func (e *Explainer) request(q Question) (router.Request, error) {
	x := &exchange{p: e.p, c: &fasthttp.RequestCtx{}}
	x.c.Request.SetRequestURI(q.Path)
	x.path = string(x.c.Path())
	x.endpoint = e.p.endpointOf(x.path)
	for name, value := range q.Header {
		x.c.Request.Header.Set(name, value)
	}
	if q.Key != "" {
		x.c.Request.Header.Set("Authorization", "Bearer "+q.Key)
	}
	x.body.bytes = q.Body
	switch limit := int64(e.p.cfg.Limits.Body); {
	case isModels(x.path):
		return router.Request{}, fmt.Errorf("the gateway answers %s itself: there is nothing to decide", x.path)
	case x.endpoint == openai.NoEndpoint:
		return router.Request{}, notFound(x.path)
	case int64(len(q.Body)) > limit:
		return router.Request{}, tooLarge(limit)
	}
	if err := x.identify(); err != nil {
		return router.Request{}, err
	}
	if err := x.understand(); err != nil {
		return router.Request{}, err
	}
	return x.request()
}

// idleFleet is every replica of the configuration, ready.
func idleFleet(cfg *config.Config) []router.Replica {
	var fleet []router.Replica
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		for _, address := range cfg.Pools[name].Replicas {
			fleet = append(fleet, router.Replica{Address: address, Pool: name, State: router.Ready})
		}
	}
	return fleet
}
