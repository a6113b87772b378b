package gateway

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/gateway/account"
	"sluice/gateway/openai"
	"sluice/router"
)

// identify finds out whose request it is.
func (x *exchange) identify() error {
	tenant, known := x.p.tenantOf(apiKey(&x.c.Request.Header))
	if !known {
		return unknownKey().hangingUp()
	}
	x.tenant, x.record.Tenant = tenant, tenant
	return nil
}

// admit judges the headers, before a byte of the body is read.
func (x *exchange) admit() error {
	if err := x.identify(); err != nil {
		return err
	}
	if x.h.door.closed() {
		return shuttingDown().hangingUp()
	}
	if n, most := x.c.Request.Header.Len(), x.p.cfg.Limits.HeaderLines; n > most {
		return refuse(router.TooLarge, "", "headers_too_large",
			"the request has %d header lines, limit limits.header_lines=%d", n, most).
			as(fasthttp.StatusRequestHeaderFieldsTooLarge).hangingUp()
	}
	if enc := x.c.Request.Header.ContentEncoding(); len(enc) > 0 && !bytes.EqualFold(enc, []byte("identity")) {
		return refuse(router.Unsupported, "", "unsupported_encoding",
			"the body must not be compressed, since its tokens are counted").
			as(fasthttp.StatusUnsupportedMediaType).hangingUp().quoting(strconv.Quote(clip(string(enc))))
	}
	return nil
}

// apiKey is what the client says who it is: OpenAI's way, or Anthropic's.
func apiKey(h *fasthttp.RequestHeader) []byte {
	const bearer = "Bearer "
	auth := h.Peek("Authorization")
	if len(auth) > len(bearer) && bytes.EqualFold(auth[:len(bearer)], []byte(bearer)) {
		return bytes.TrimSpace(auth[len(bearer):])
	}
	return h.Peek("x-api-key")
}

// read takes the body.
func (x *exchange) read() error {
	limits := &x.p.cfg.Limits
	err := x.body.read(x.c, int64(limits.Body), int64(limits.HeldBodies))
	x.record.BodyBytes = len(x.body.bytes)
	return err
}

// inspect is understand, and measures how long it takes.
func (x *exchange) inspect() error {
	began := time.Now()
	defer func() { x.h.account.Overhead(account.PhaseInspect, time.Since(began)) }()
	return x.understand()
}

// understand reads the facts in the body and finds the model that they name.
func (x *exchange) understand() error {
	facts, err := openai.Inspect(x.endpoint, x.body.bytes, x.p.cfg.Limits.JSONDepth)
	if err != nil {
		return badBody(err)
	}
	x.facts = facts
	x.record.Stream = facts.Stream
	if facts.Model == "" { // a path of relay.extra_paths needs one too, to find a replica
		return refuse(router.Invalid, "model", "invalid_body", "the field model is missing: name the model that should answer")
	}
	if x.model = x.p.models[facts.Model]; x.model == nil {
		return unknownModel(facts.Model)
	}
	x.record.Route = x.model.name
	count := x.count()
	x.longestIn, x.atMost = count.LongestSurely, count.LongestAtMost
	x.record.TokensInEstimate, x.record.TokensInExact = count.Total, count.Exact
	x.record.Sequences = facts.Sequences
	return x.supported()
}

// badBody is what the client hears of an error of Inspect.
func badBody(err error) error {
	var bad *openai.BadBody
	if !errors.As(err, &bad) {
		panic("BUG: a body was refused without saying why: " + err.Error())
	}
	return refuse(router.Invalid, bad.Param, "invalid_body", "%s", bad.Message)
}

// supported refuses what no replica could take, or could take only half.
func (x *exchange) supported() error {
	if field := x.facts.StateField; field != "" {
		return refuse(router.Unsupported, field, "unsupported_field",
			"%q needs state that lives on one replica, which this gateway does not keep; send the whole conversation instead", field)
	}
	for field, setting := range x.model.refused {
		if x.facts.Field(field) {
			return refuse(router.Unsupported, field, "unsupported_field",
				"the replicas of %q cannot take %q (%s: refuse); leave it out", x.model.name, field, setting)
		}
	}
	return nil
}

// request is the facts that the router decides by.
func (x *exchange) request() (router.Request, error) {
	maxWait, err := x.maxWait()
	if err != nil {
		return router.Request{}, err
	}
	class, err := x.classAsked()
	if err != nil {
		return router.Request{}, err
	}
	priority, err := x.priorityAsked()
	if err != nil {
		return router.Request{}, err
	}
	r := router.Request{
		Route: x.model.route, Pool: x.model.pool, Tenant: x.tenant,
		TokensIn: x.record.TokensInEstimate, LongestIn: x.longestIn, LongestAtMost: x.atMost,
		OutBound: x.facts.OutBound, Sequences: x.facts.Sequences,
		Bytes: len(x.body.bytes), MaxWait: maxWait,
		Class: class, Priority: priority,
	}
	if !x.endpoint.Generates() {
		r.Class, r.Sequences = router.Other, 0
		return r, nil
	}
	r.Prefixes, r.Whole = x.prefixes(), !x.facts.Stream
	return r, nil
}

// prefixUnit is the bytes of a prompt's shortest beginning that is worth knowing:
// about 500 tokens. Replicas keep whole pages of prompts, up to 512 tokens each.
const prefixUnit = 2 << 10

// prefixes names how the prompt begins, for replicas that have computed it before,
// and which conversation it continues.
func (x *exchange) prefixes() (p router.Prefixes) {
	p.Turn, p.Before = x.facts.Conversation(x.body.bytes)
	if length := x.facts.Beginnings(x.body.bytes, prefixUnit, p.Hashes[:]); length > 0 {
		p.Unit = float64(x.record.TokensInEstimate) * prefixUnit / float64(length)
	}
	return p
}

// classAsked is the class that the client wants, if it says.
func (x *exchange) classAsked() (router.Class, error) {
	raw := string(x.c.Request.Header.Peek("x-sluice-class"))
	class := router.ParseClass(raw)
	if raw != "" && class == router.ClassNone {
		return class, refuse(router.Invalid, "x-sluice-class", "invalid_header",
			"x-sluice-class must be prefill or decode, or left out").quoting(strconv.Quote(clip(raw)))
	}
	return class, nil
}

// priorityAsked is the priority that the client wants, if it says.
func (x *exchange) priorityAsked() (router.Priority, error) {
	raw := string(x.c.Request.Header.Peek("x-sluice-priority"))
	priority := router.ParsePriority(raw)
	if raw != "" && priority == router.PriorityNone {
		return priority, refuse(router.Invalid, "x-sluice-priority", "invalid_header",
			"x-sluice-priority must be interactive or batch, or left out").quoting(strconv.Quote(clip(raw)))
	}
	return priority, nil
}

// maxWait is the client's own limit on waiting, if it has one.
func (x *exchange) maxWait() (time.Duration, error) {
	raw := string(x.c.Request.Header.Peek("x-sluice-timeout-ms"))
	if raw == "" {
		return 0, nil
	}
	ms, err := strconv.ParseInt(raw, 10, 32)
	if err != nil || ms < 1 {
		return 0, refuse(router.Invalid, "x-sluice-timeout-ms", "invalid_header",
			"x-sluice-timeout-ms must be whole milliseconds, at least 1").quoting(strconv.Quote(clip(raw)))
	}
	return time.Duration(ms) * time.Millisecond, nil
}
