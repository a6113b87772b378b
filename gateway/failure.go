package gateway

import (
	"errors"
	"fmt"
	"time"

	"sluice/gateway/openai"
	"sluice/router"
)

// Why a request's visit ended.
var (
	errClientGone = errors.New("the client has left")
	errAnswered   = errors.New("the request has ended")
	errDraining   = errors.New("the gateway is shutting down")
)

// failure is a request's end that the client hears of: an outcome, and what to
// say. Its status is the outcome's unless the answer has one of its own.
type failure struct {
	outcome    router.Outcome
	api        openai.APIError
	quotes     string        // words of the client or a replica, for the client alone: they may hold a prompt
	cause      error         // for the log alone: it names addresses
	retryAfter time.Duration // 0: say nothing
	mayHaveRun bool          // tell clients not to send it again by themselves
	hangUp     bool          // unread bytes of the request remain: close after the answer
}

func (f *failure) Error() string { return f.api.Message }

// said is the error for the client: in our words, and then in others'.
func (f *failure) said() openai.APIError {
	api := f.api
	if f.quotes != "" {
		api.Message += ": " + f.quotes
	}
	return api
}

// logged is what the log says of it.
func (f *failure) logged() string {
	if f.cause == nil {
		return f.api.Message
	}
	return f.api.Message + ": " + f.cause.Error()
}

// refuse is a failure of the gateway's own making, before dispatch.
func refuse(o router.Outcome, param, code, format string, args ...any) *failure {
	return &failure{outcome: o, api: openai.APIError{
		Status: o.Status(), Param: param, Code: code, Message: fmt.Sprintf(format, args...),
	}}
}

// as gives the failure another status than its outcome's.
func (f *failure) as(status int) *failure {
	f.api.Status = status
	return f
}

// quoting adds others' words to ours. The log doesn't have them.
func (f *failure) quoting(words string) *failure { f.quotes = words; return f }

// because adds the error behind it, for the log.
func (f *failure) because(err error) *failure { f.cause = err; return f }

// hangingUp makes the answer the connection's last.
func (f *failure) hangingUp() *failure { f.hangUp = true; return f }

// refused turns the router's no into what the client hears.
func refused(r *router.Refusal) *failure {
	f := refuse(r.Outcome, r.Param, r.Outcome.String(), "%s", r.Detail)
	f.retryAfter = r.RetryAfter
	if r.Outcome == router.TooLong {
		f.api = openai.TooLong(r.Detail)
	}
	return f
}

// failed is an attempt's failure after dispatch.
func failed(o router.Outcome, format string, args ...any) *failure {
	f := refuse(o, "", o.String(), format, args...)
	f.mayHaveRun = o.MayHaveRun()
	return f
}
