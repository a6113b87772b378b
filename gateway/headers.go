package gateway

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/gateway/openai"
	"sluice/gateway/replica"
)

// minRetryAfter is the shortest Retry-After: clients wait whole seconds.
const minRetryAfter = time.Second

const maxID = 128 // bytes of a client's x-request-id that are believed

// requestID is the client's own id, if it can be put into a log and a header as
// it is, or a new one.
func requestID(c *fasthttp.RequestCtx) string {
	id := c.Request.Header.Peek("x-request-id")
	if len(id) > 0 && len(id) <= maxID && isToken(id) {
		return string(id)
	}
	var fresh [16]byte
	rand.Read(fresh[:]) // never fails: crypto/rand ends the process rather
	return hex.EncodeToString(fresh[:])
}

// isToken tells whether b is a token of RFC 9110, section 5.6.2.
func isToken(b []byte) bool { return len(b) > 0 && tokenEnd(b) == len(b) }

// tokenEnd is how many bytes of a token b begins with.
func tokenEnd(b []byte) int {
	for i, ch := range b {
		if !tokenBytes[ch] {
			return i
		}
	}
	return len(b)
}

// tokenBytes is true for the bytes that a token may have.
var tokenBytes = func() (is [256]bool) {
	for ch := range is {
		alnum := ch >= '0' && ch <= '9' || ch|0x20 >= 'a' && ch|0x20 <= 'z'
		is[ch] = alnum || ch < 0x80 && strings.ContainsRune("!#$%&'*+-.^_`|~", rune(ch))
	}
	return is
}()

// stays lists the request headers that end at the gateway: those of one hop,
// those that the attempt writes itself, and the client's secrets.
var stays = map[string]bool{
	"connection": true, "keep-alive": true, "proxy-authenticate": true, "proxy-authorization": true,
	"proxy-connection": true, "te": true, "trailer": true, "transfer-encoding": true, "upgrade": true,
	"host": true, "content-length": true, "expect": true, "accept-encoding": true, "x-request-id": true,
	"content-encoding": true, "http2-settings": true,
	"authorization": true, "x-api-key": true, "x-forwarded-for": true,
}

// requestFields is the head of an attempt: the client's end-to-end headers in
// their order, and the gateway's own.
func (x *exchange) requestFields(apiKey string) []replica.Field {
	h := &x.c.Request.Header
	listed := strings.ToLower(allOf(h, "Connection"))
	fields := make([]replica.Field, 0, h.Len()+4)
	for name, value := range h.AllInOrder() {
		lower := strings.ToLower(string(name))
		if stays[lower] || strings.HasPrefix(lower, "x-sluice-") || !forwardable(name) || lists(listed, lower) {
			continue
		}
		fields = append(fields, replica.Field{Name: string(name), Value: string(value)})
	}
	fields = append(fields,
		replica.Field{Name: "Accept-Encoding", Value: "identity"}, // events are read, so they can't be compressed
		replica.Field{Name: "X-Request-Id", Value: x.attemptID()},
		replica.Field{Name: "X-Forwarded-For", Value: forwardedFor(x.c)})
	if apiKey != "" {
		fields = append(fields, replica.Field{Name: "Authorization", Value: "Bearer " + apiKey})
	}
	return fields
}

// forwardable refuses names that servers read differently: an underscore passes
// for a hyphen in some.
func forwardable(name []byte) bool {
	return isToken(name) && !strings.Contains(string(name), "_")
}

// lists tells whether a Connection header, in lower case, names a header of one hop.
func lists(connection, name string) bool {
	for item := range strings.SplitSeq(connection, ",") {
		if strings.TrimSpace(item) == name {
			return true
		}
	}
	return false
}

// attemptID names each attempt apart: an engine may still hold the first.
func (x *exchange) attemptID() string {
	if x.record.Attempts <= 1 {
		return x.id
	}
	return x.id + "-" + strconv.Itoa(x.record.Attempts)
}

func forwardedFor(c *fasthttp.RequestCtx) string {
	ip := c.RemoteIP().String()
	if before := allOf(&c.Request.Header, "X-Forwarded-For"); before != "" {
		return before + ", " + ip
	}
	return ip
}

// allOf is the value of a header that is a list and may come in several lines.
func allOf(h *fasthttp.RequestHeader, name string) string {
	return string(bytes.Join(h.PeekAll(name), []byte(", ")))
}

// responseFields copies the replica's end-to-end headers to the client.
// Content-Length and Date are fasthttp's to write, the id is the client's own.
func responseFields(to *fasthttp.ResponseHeader, a *replica.Answer) {
	to.DisableNormalizing()
	to.SetNoDefaultContentType(true)
	for name, value := range a.Fields {
		switch lower := strings.ToLower(name); lower {
		case "content-length", "date", "x-request-id":
		case "x-accel-buffering", "cache-control": // streams get one of each, below
			if !isEventStream(a) {
				to.Add(name, value)
			}
		default:
			if !strings.HasPrefix(lower, "access-control-") { // allowOrigin decides that
				to.Add(name, value)
			}
		}
	}
	if isEventStream(a) {
		to.Set("Cache-Control", "no-cache")
		to.Set("X-Accel-Buffering", "no")
	}
}

func isEventStream(a *replica.Answer) bool {
	return strings.HasPrefix(strings.ToLower(a.Header("content-type")), "text/event-stream")
}

// setIdentity tells the client who served it and how it was decided.
func setIdentity(x *exchange) {
	h := &x.c.Response.Header
	h.Set("x-request-id", x.id)
	x.setDecision(h)
	if !x.p.cfg.Relay.DecisionHeaders || x.record.Attempts == 0 {
		return
	}
	h.Set("x-sluice-class", x.grant.Class.String())
	h.Set("x-sluice-pool", x.grant.Pool)
	h.Set("x-sluice-replica", x.grant.Replica)
	h.Set("x-sluice-queue-ms", strconv.FormatInt(x.record.Queue.Milliseconds(), 10))
}

// writeFailure answers with an error in the endpoint's own shape.
func writeFailure(c *fasthttp.RequestCtx, e openai.Endpoint, f *failure) {
	c.Response.Reset()
	c.Response.SetStatusCode(f.api.Status)
	h := &c.Response.Header
	h.SetContentType("application/json")
	if f.retryAfter > 0 {
		seconds := int64((f.retryAfter + time.Second - 1) / time.Second)
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if f.mayHaveRun {
		h.Set("x-should-retry", "false")
	}
	c.Response.SetBodyRaw(openai.AppendError(nil, e, f.said()))
}

// hangUp makes the answer the last of its connection.
func hangUp(c *fasthttp.RequestCtx) { c.SetConnectionClose() }

// isCompressed looks at every line of the header: one may say identity, and the next not.
func isCompressed(a *replica.Answer) bool {
	for name, coding := range a.Fields {
		if strings.EqualFold(name, "content-encoding") && coding != "" && !strings.EqualFold(coding, "identity") {
			return true
		}
	}
	return false
}

// saysItsEnd tells whether what an answer holds tells if it is whole: JSON that isn't
// closed was cut, and a stream says its last. Vectors as raw bytes, and what paths of
// relay.extra_paths answer, have only their framing.
func (x *exchange) saysItsEnd(a *replica.Answer) bool {
	return x.endpoint != openai.Extra && (!x.endpoint.Pools() || isJSON(a))
}

func isJSON(a *replica.Answer) bool {
	return strings.HasPrefix(strings.ToLower(a.Header("content-type")), "application/json")
}
