package gateway

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/gateway/account"
	"sluice/gateway/openai"
	"sluice/gateway/replica"
	"sluice/router"
)

// whole reads an answer that isn't streamed and judges it.
func (x *exchange) whole(answer *replica.Answer) result {
	body, err := x.readAll(answer)
	if err != nil {
		return x.broken(err, len(body) > 0)
	}
	if !x.saysItsEnd(answer) && (len(body) > 0 || x.endpoint == openai.Extra) {
		return result{whole: body} // its framing has said whether it is complete
	}
	v := openai.JudgeAnswer(x.endpoint, body)
	x.used(v.Usage, v.HasUsage)
	switch v.Ending {
	case openai.EndingAborted:
		if v.HasContent {
			return fails(router.Truncated, "the replica of pool %s aborted the answer half-way", x.grant.Pool)
		}
		return fails(router.Aborted, "the replica of pool %s dropped the request before its first token", x.grant.Pool)
	case openai.EndingError:
		return fails(router.ErrorEvent, "the replica of pool %s answered 200 with an error inside", x.grant.Pool)
	case openai.EndingFailed:
		return result{outcome: router.ErrorEvent, whole: body} // told in the endpoint's own words
	case openai.EndingOpen:
		if len(body) == 0 {
			x.h.account.Fault(account.EmptyAnswer)
		}
		return fails(router.Truncated, "the answer of the replica of pool %s is not complete", x.grant.Pool)
	}
	x.doubt(v.Said(), v.Usage, v.HasUsage)
	return result{whole: body}
}

// believed is how much of an answer's announced length is made room for at once;
// beyond it memory grows with what has come.
const believed = 1 << 20

// uncounted is what an answer may hold besides limits.held_answers: most are smaller,
// and those must not fail because others' clients don't take theirs.
const uncounted = 64 << 10

var (
	errAnswerTooLarge = errors.New("the answer is larger than limits.answer")
	errAnswersHeld    = errors.New("the gateway holds all the answers it may, until their clients have taken them")
)

// readAll takes a whole body, up to limits.answer: an error's too, since reports
// of what is wrong with a prompt may repeat it. Once it has begun, the limit on
// silence between events holds. What had come goes with the error.
func (x *exchange) readAll(answer *replica.Answer) (body []byte, err error) {
	limit, claimed := int(x.p.cfg.Limits.Answer), answer.ContentLength
	if claimed > limit {
		return nil, fmt.Errorf("%w=%d bytes", errAnswerTooLarge, limit)
	}
	size := int64(4 << 10)
	if claimed >= 0 {
		size = int64(min(claimed+1, believed))
	}
	for {
		if len(body) == cap(body) {
			if body, err = x.enlarge(body, size); err != nil {
				return body, err
			}
			size = nextSize(size, int64(claimed), int64(limit))
		}
		n, err := answer.Read(body[len(body):cap(body)])
		if len(body) == 0 && n > 0 {
			answer.SetReadDeadline(time.Time{})
			answer.SetReadTimeout(x.p.cfg.Timeouts.BetweenEvents)
		}
		body = body[:len(body)+n]
		switch {
		case len(body) > limit:
			return body, fmt.Errorf("%w=%d bytes", errAnswerTooLarge, limit)
		case err == io.EOF:
			return body, nil
		case err != nil:
			return body, err
		}
	}
}

// enlarge gives an answer room for size bytes, and takes that from the budget first. The
// last byte of it is only there to meet the end.
func (x *exchange) enlarge(body []byte, size int64) ([]byte, error) {
	limit := int64(x.p.cfg.Limits.HeldAnswers)
	if size > uncounted+1 && !x.held.grow(size-1, limit) {
		return body, fmt.Errorf("%w, limit limits.held_answers=%d bytes", errAnswersHeld, limit)
	}
	return append(make([]byte, 0, size), body...), nil
}

// said reads an answer with an error status and decides whose fault it is.
func (x *exchange) said(answer *replica.Answer) result {
	body, err := x.readAll(answer)
	if err != nil {
		return x.broken(err, len(body) > 0)
	}
	said, _ := openai.ReadError(body)
	if replica.ShutsDown(answer.Status, said.Message) {
		r := fails(router.Busy, "the replica of pool %s is shutting down; it has not begun the request", x.grant.Pool)
		r.fail.as(fasthttp.StatusServiceUnavailable).retryAfter = time.Second
		return r
	}
	aboutModel := said.Param == "model" || strings.Contains(said.Message, "The model `"+x.pool().served+"`")
	o := replica.Judge(answer.Status, aboutModel)
	r := result{outcome: o, whole: body}
	if o != router.ClientError && o != router.Busy {
		r.fail = failed(o, "the replica of pool %s answered %d", x.grant.Pool, answer.Status).quoting(clip(said.Message))
	}
	return r
}
