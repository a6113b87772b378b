package openai

import (
	"encoding/json/jsontext"
	"strconv"
)

// APIError is an error as the endpoints tell it.
type APIError struct {
	Status  int    // HTTP status, e.g. 429; 0: not known
	Type    string // "": the endpoint's own name for the status
	Code    string // "" is null
	Param   string // the field at fault; "" is null
	Message string
}

// TooLong is the refusal of a request that no model here can hold. Its type and
// param are those of vLLM, so that it reads the same whether the gateway or a
// replica refuses; its code is the one that OpenAI's clients look for.
func TooLong(message string) APIError {
	return APIError{
		Status:  400,
		Type:    "BadRequestError",
		Code:    "context_length_exceeded",
		Param:   "input_tokens",
		Message: message,
	}
}

// AppendError appends the error body of the endpoint e to dst: Anthropic's shape
// for Messages and CountTokens, OpenAI's for all others. Invalid UTF-8 in a text
// becomes U+FFFD.
func AppendError(dst []byte, e Endpoint, err APIError) []byte {
	if e == Messages || e == CountTokens {
		dst = append(dst, `{"type":"error","error":{"type":"`...)
		dst = append(dst, anthropicType(err.Status)...)
		dst = append(dst, `","message":`...)
		dst = appendString(dst, err.Message)
		return append(dst, `}}`...)
	}
	dst = append(dst, `{"error":{"message":`...)
	dst = appendString(dst, err.Message)
	dst = append(dst, `,"type":`...)
	dst = appendString(dst, openAIType(err))
	dst = append(dst, `,"param":`...)
	dst = appendStringOrNull(dst, err.Param)
	dst = append(dst, `,"code":`...)
	dst = appendStringOrNull(dst, err.Code)
	return append(dst, `}}`...)
}

// AppendErrorEvent appends the event with which a broken stream of e ends. The
// connection has to be closed after it without the last chunk: a client that
// doesn't read events can tell a cut answer only by that.
func AppendErrorEvent(dst []byte, e Endpoint, err APIError) []byte {
	return appendErrorEvent(dst, e, err, -1)
}

// appendErrorEvent also numbers the event of a Responses stream, from 0 up.
func appendErrorEvent(dst []byte, e Endpoint, err APIError, sequence int) []byte {
	if e == Responses || e == Messages {
		dst = append(dst, "event: error\n"...)
	}
	dst = append(dst, "data: "...)
	if e == Responses {
		dst = appendResponsesError(dst, err, sequence)
	} else {
		dst = AppendError(dst, e, err)
	}
	return append(dst, "\n\n"...)
}

func appendResponsesError(dst []byte, err APIError, sequence int) []byte {
	code := err.Code
	if code == "" {
		code = openAIType(err)
	}
	dst = append(dst, `{"type":"error","code":`...)
	dst = appendString(dst, code)
	dst = append(dst, `,"message":`...)
	dst = appendString(dst, err.Message)
	dst = append(dst, `,"param":`...)
	dst = appendStringOrNull(dst, err.Param)
	if sequence >= 0 {
		dst = append(dst, `,"sequence_number":`...)
		dst = strconv.AppendInt(dst, int64(sequence), 10)
	}
	return append(dst, '}')
}

// openAIType is the type that OpenAI gives to errors of such a status. Its clients
// choose their exception by the status and show the type to people.
func openAIType(err APIError) string {
	if err.Type != "" {
		return err.Type
	}
	switch {
	case err.Status == 401:
		return "authentication_error"
	case err.Status == 403:
		return "permission_error"
	case err.Status == 429:
		return "rate_limit_error"
	case err.Status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// anthropicType is the closed list of Anthropic's error types by status. 503 is
// what Anthropic calls 529.
func anthropicType(status int) string {
	switch status {
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 503, 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

// appendString quotes s. AppendQuote's error only says that s had invalid UTF-8,
// which it has replaced by then.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

func appendStringOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return appendString(dst, s)
}
