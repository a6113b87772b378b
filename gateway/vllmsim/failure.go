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
}

func (f *failure) Error() string { return f.message }

func badRequest(param, format string, args ...any) *failure {
	return &failure{http.StatusBadRequest, "BadRequestError", fmt.Sprintf(format, args...), param}
}

func unknownModel(name string) *failure {
	return &failure{http.StatusNotFound, "NotFoundError", fmt.Sprintf("The model `%s` does not exist.", name), "model"}
}

// noSeed is how vLLM on TPU answers a request that brings a seed of its own.
var noSeed = failure{http.StatusBadRequest, "BadRequestError", "JAX does not support per-request seed.", ""}

// body is the JSON error object of the OpenAI endpoints.
func (f *failure) body() []byte {
	var param any
	if f.param != "" {
		param = f.param
	}
	return mustJSON(obj("error", obj("message", f.message, "type", f.kind, "param", param, "code", f.status)))
}

// messagesBody is the error object of /v1/messages.
func (f *failure) messagesBody() []byte {
	return mustJSON(obj("type", "error", "error", obj("type", f.kind, "message", f.message)))
}
