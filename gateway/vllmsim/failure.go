package vllmsim

import (
	"encoding/json"
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
	inner := map[string]any{"message": f.message, "type": f.kind, "param": nil, "code": f.status}
	if f.param != "" {
		inner["param"] = f.param
	}
	return mustJSON(map[string]any{"error": inner})
}

// messagesBody is the error object of /v1/messages.
func (f *failure) messagesBody() []byte {
	return mustJSON(map[string]any{"type": "error", "error": map[string]any{"type": f.kind, "message": f.message}})
}

// mustJSON encodes what always has a JSON form.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return b
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}
