package gateway

import (
	"errors"
	"io"
	"net"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"sluice/gateway/conn"
	"sluice/gateway/openai"
	"sluice/router"
)

// budget bounds the bodies held by all requests together: those of requests
// (limits.held_bodies), or those of answers that aren't streamed (limits.held_answers).
// So memory is bounded whatever clients and replicas send, or don't take.
type budget struct{ held atomic.Int64 }

// take asks for n more bytes under a limit; whoever gets them gives them back.
func (b *budget) take(n, limit int64) bool {
	if b.held.Add(n) <= limit {
		return true
	}
	b.held.Add(-n)
	return false
}

func (b *budget) give(n int64) { b.held.Add(-n) }

// share is what one request has taken of a budget; drop gives it back.
type share struct {
	of    *budget
	taken int64
}

// grow makes the share larger under the budget's limit, and never smaller.
func (s *share) grow(size, limit int64) bool {
	if size <= s.taken {
		return true
	}
	if !s.of.take(size-s.taken, limit) {
		return false
	}
	s.taken = size
	return true
}

// drop gives the share back. Dropping twice is harmless.
func (s *share) drop() {
	if s.taken > 0 {
		s.of.give(s.taken)
	}
	s.taken = 0
}

// heldBody is one request's body and its share of the budget.
type heldBody struct {
	share
	bytes []byte
}

// drop forgets the body and gives its share back: at the commit point, or at the end
// where it may be needed again.
func (b *heldBody) drop() {
	b.share.drop()
	b.bytes = nil
}

// expect answers a client that asks before it sends a body (Expect: 100-continue).
// One whose headers are reason enough for a refusal hears so at once, and needn't
// send it; it may have begun to all the same.
func (h *Handler) expect(c *fasthttp.RequestCtx) int {
	if h.wantsBody(c) {
		return fasthttp.StatusContinue
	}
	h.Serve(c) // refuses it, and accounts for it
	conn.Of(c.Conn()).Linger()
	return c.Response.StatusCode()
}

// wantsBody judges the headers as Serve will, without a line in the ledger.
func (h *Handler) wantsBody(c *fasthttp.RequestCtx) bool {
	p, path := h.policies.get(), string(c.Path())
	if checkHead(c.Request.Header.RawHeaders()) != nil || isModels(path) || !c.IsPost() ||
		int64(c.Request.Header.ContentLength()) > int64(p.cfg.Limits.Body) {
		return false
	}
	x := &exchange{h: h, p: p, c: c, endpoint: p.endpointOf(path)}
	return x.endpoint != openai.NoEndpoint && x.admit() == nil
}

const firstRead = 16 << 10 // bytes: most prompts fit, and a client that lies about its length gets no more

// read takes the whole body within the limits. Memory grows with what has
// arrived, never with what a header claims.
func (b *heldBody) read(c *fasthttp.RequestCtx, limit, allLimit int64) error {
	claimed := int64(c.Request.Header.ContentLength())
	if claimed > limit {
		return tooLarge(limit)
	}
	stream := c.RequestBodyStream()
	if stream == nil {
		b.bytes = c.Request.Body()
		return nil
	}
	if err := b.grow(startSize(claimed), allLimit); err != nil {
		return err
	}
	for {
		if len(b.bytes) == cap(b.bytes) {
			if err := b.grow(nextSize(int64(cap(b.bytes)), claimed, limit), allLimit); err != nil {
				return err
			}
		}
		n, err := stream.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if int64(len(b.bytes)) > limit {
			return tooLarge(limit)
		}
		if err == io.EOF && (claimed < 0 || int64(len(b.bytes)) == claimed) {
			return nil
		}
		if err != nil {
			return brokenBody(err)
		}
	}
}

func startSize(claimed int64) int64 {
	if claimed >= 0 && claimed < firstRead {
		return claimed + 1 // the last read, which only meets the end, needs room too
	}
	return firstRead
}

// nextSize doubles, but never beyond what is claimed or allowed, and one byte:
// enough to see that there is more.
func nextSize(size, claimed, limit int64) int64 {
	most := limit + 1
	if claimed >= 0 {
		most = claimed + 1
	}
	return min(max(2*size, firstRead), most)
}

// grow gives the body more room and takes that from the budget first.
func (b *heldBody) grow(size, allLimit int64) error {
	if !b.share.grow(size, allLimit) {
		f := refuse(router.QueueFull, "", "queue_full",
			"the gateway holds all the request bodies it may, limit limits.held_bodies=%d bytes; try again later", allLimit)
		f.retryAfter = minRetryAfter
		return f.hangingUp()
	}
	grown := make([]byte, len(b.bytes), size)
	copy(grown, b.bytes)
	b.bytes = grown
	return nil
}

func tooLarge(limit int64) error {
	return refuse(router.TooLarge, "", "request_too_large",
		"the body is larger than limits.body=%d bytes; send less, or ask the operator to raise the limit", limit).hangingUp()
}

// brokenBody tells a slow client from one that left and one that can't frame.
func brokenBody(err error) error {
	var ne net.Error
	switch {
	case errors.As(err, &ne) && ne.Timeout():
		return refuse(router.Invalid, "", "request_timeout",
			"the body did not arrive within timeouts.read_body").as(fasthttp.StatusRequestTimeout).hangingUp()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &ne):
		return errClientGone
	}
	return refuse(router.Invalid, "", "invalid_body", "the body's framing is broken (RFC 9112, section 7)").hangingUp()
}
