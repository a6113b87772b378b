package vllmsim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// failure is an error answer. Its words are those of new vLLM releases; older ones
// take from it what they say.
type failure struct {
	status  int
	kind    string
	message string
	param   string // empty: null
	form    bool   // the body has the wrong form: messages answer that in OpenAI's shape
	problem string // of a wrong form: pydantic's word for it, and
	words   string // its message
	early   bool   // it happened while the prompt was made
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
		status: http.StatusBadRequest, kind: "Bad Request", param: where, form: true, problem: kind, words: message,
		message: fmt.Sprintf("1 validation error:\n  {'type': '%s', 'loc': '%s', 'msg': '%s'}", kind, where, message),
	}
}

// whilePrompting says that the prompt couldn't be made.
func (f *failure) whilePrompting() *failure {
	f.early = true
	return f
}

// missing is malformed for a member that must be there.
func missing(name string) *failure { return malformed("body."+name, "missing", "Field required") }

func unknownModel(name, served string) *failure {
	message := fmt.Sprintf("The model `%s` does not exist. Valid aliases: %s.", name, served)
	return &failure{status: http.StatusNotFound, kind: "NotFoundError", message: message, param: "model"}
}

// noSeed is how vLLM on TPU answers a request that brings a seed of its own.
var noSeed = failure{status: http.StatusBadRequest, kind: "BadRequestError", message: "JAX does not support per-request seed."}

// overflow is how a replica refuses what would exceed --max-num-queued-reqs.
var overflow = failure{status: http.StatusServiceUnavailable, kind: "Service Unavailable",
	message: "The engine is currently busy and cannot accept new requests. Please try again later or on a different instance."}

// engineDead is how requests end, and are refused, when the engine has died.
var engineDead = failure{status: http.StatusInternalServerError, kind: "InternalServerError",
	message: "EngineCore encountered an issue. See stack trace (above) for the root cause."}

// generationFailed is the end of a request that failed by itself.
var generationFailed = failure{status: http.StatusInternalServerError, kind: "InternalServerError", message: "Internal server error"}

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

// flatBody is the error object of 0.10.0, which has no param ever. An engine that
// has died leaves it without words.
func flatBody(f *failure) []byte {
	if f.status == http.StatusInternalServerError {
		return nil
	}
	kind := f.kind
	if f.param == "stream_options" {
		kind = "Bad Request" // it was part of the body's form then
	}
	return mustJSON(obj("object", "error", "message", f.flatMessage(), "type", kind, "param", nil, "code", f.status))
}

// flatMessage is the message without what was added to it later. Of a body in the
// wrong form it shows pydantic's list, but not the input that is quoted there.
func (f *failure) flatMessage() string {
	if f.problem != "" {
		return fmt.Sprintf("[{'type': '%s', 'loc': %s, 'msg': '%s'}]", f.problem, tuple(strings.Split(f.param, ".")), f.words)
	}
	if media, found := strings.CutPrefix(f.message, "1 validation error:\n  "); found {
		return "[\"" + media + "\"]"
	}
	message, _, _ := strings.Cut(f.message, " (parameter=")
	message, _, _ = strings.Cut(message, " Valid aliases: ")
	return message
}

// tuple writes names as Python does; a number stands for a position.
func tuple(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = name
		if _, err := strconv.Atoi(name); err != nil {
			quoted[i] = "'" + name + "'"
		}
	}
	if len(names) == 1 {
		return "(" + quoted[0] + ",)"
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}
