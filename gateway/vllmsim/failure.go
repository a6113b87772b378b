package vllmsim

import (
	"fmt"
	"net/http"
)

// failure is an error answer in the shape of new vLLM releases.
type failure struct {
	status  int
	kind    string
	message string
	param   string // empty: null
	form    bool   // the body has the wrong form: messages answer that in OpenAI's shape
}

func (f *failure) Error() string { return f.message }

// badRequest is for what has the right form but can't be served.
func badRequest(param, format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, kind: "BadRequestError", message: fmt.Sprintf(format, args...), param: param}
}

// badValue is badRequest for a member's value, which the message ends with.
func badValue(param string, value any, format string, args ...any) *failure {
	return badRequest(param, "%s (parameter=%s, value=%v)", fmt.Sprintf(format, args...), param, value)
}

// malformed is how the web framework below vLLM refuses a body.
func malformed(where, kind, message string) *failure {
	return &failure{
		status: http.StatusBadRequest, kind: "Bad Request", param: where, form: true,
		message: fmt.Sprintf("1 validation error:\n  {'type': '%s', 'loc': '%s', 'msg': '%s'}", kind, where, message),
	}
}

// missing is malformed for a member that must be there.
func missing(name string) *failure { return malformed("body."+name, "missing", "Field required") }

func unknownModel(name, served string) *failure {
	message := fmt.Sprintf("The model `%s` does not exist. Valid aliases: %s.", name, served)
	return &failure{status: http.StatusNotFound, kind: "NotFoundError", message: message, param: "model"}
}

// noSeed is how vLLM on TPU answers a request that brings a seed of its own.
var noSeed = failure{status: http.StatusBadRequest, kind: "BadRequestError", message: "JAX does not support per-request seed."}

// body is the JSON error object of the OpenAI endpoints.
func (f *failure) body() []byte {
	var param any
	if f.param != "" {
		param = f.param
	}
	return mustJSON(obj("error", obj("message", f.message, "type", f.kind, "param", param, "code", f.status)))
}

// event is how chat and completions streams break: the object as Python writes it,
// and [DONE] all the same.
func (f *failure) event() []byte {
	param := "null"
	if f.param != "" {
		param = string(mustJSON(f.param))
	}
	return fmt.Appendf(nil, "data: {\"error\": {\"message\": %s, \"type\": %s, \"param\": %s, \"code\": %d}}\n\ndata: [DONE]\n\n",
		mustJSON(f.message), mustJSON(f.kind), param, f.status)
}

// messagesEvent is how a messages stream breaks.
func (f *failure) messagesEvent() []byte {
	return fmt.Appendf(nil, "event: error\ndata: %s\n\n", mustJSON(obj("type", "error", "error", obj("type", "internal_error", "message", f.message))))
}

// messagesBody is the error object of /v1/messages.
func (f *failure) messagesBody() []byte {
	if f.form {
		return f.body()
	}
	return mustJSON(obj("type", "error", "error", obj("type", f.kind, "message", f.message)))
}
