package openai

// APIError is an error as the endpoints tell it.
type APIError struct {
	Status  int    // HTTP status, e.g. 429
	Type    string // "" lets the endpoint's own name for the status stand
	Code    string // "" is null
	Param   string // the field at fault; "" is null
	Message string
}

// AppendError appends the endpoint's own JSON error body to dst.
func AppendError(dst []byte, e Endpoint, err APIError) []byte { return dst }

// AppendErrorEvent appends the event with which a broken stream of e ends.
func AppendErrorEvent(dst []byte, e Endpoint, err APIError) []byte { return dst }

// ReadError reads a replica's error body or error event; false: it is none.
func ReadError(body []byte) (APIError, bool) { return APIError{}, false }
