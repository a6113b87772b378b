package openai

import "encoding/json"

// errorBody is every shape in which a replica's error comes: wrapped in "error"
// (OpenAI, Anthropic, vLLM since 2025-09), flat with "object": "error" (vLLM
// before), flat with "type": "error" (an event of Responses), or inside the
// response that failed.
type errorBody struct {
	Object   json.RawMessage `json:"object"`
	Error    json.RawMessage `json:"error"`
	Response json.RawMessage `json:"response"`
	errorFields
}

// errorFields are read as they are: a replica may put anything into any of them.
type errorFields struct {
	Type    json.RawMessage `json:"type"`
	Code    json.RawMessage `json:"code"`
	Param   json.RawMessage `json:"param"`
	Message json.RawMessage `json:"message"`
}

// ReadError reads a replica's error body, or the data of an error event; false if
// it is neither. A numeric code is vLLM's copy of the HTTP status and goes to
// Status; text goes to Code.
func ReadError(body []byte) (APIError, bool) {
	var b errorBody
	if json.Unmarshal(body, &b) != nil {
		return APIError{}, false
	}
	if isSet(b.Error) {
		return readWrapped(b.Error), true
	}
	if inner := errorOf(b.Response); isSet(inner) {
		return readWrapped(inner), true
	}
	event := loose(b.Type) == "error"
	if !event && loose(b.Object) != "error" {
		return APIError{}, false
	}
	if event { // the event's name, not a type of error
		b.Type = nil
	}
	return b.errorFields.read(), true
}

// errorOf is the error inside the response that an event carries.
func errorOf(response json.RawMessage) json.RawMessage {
	var r struct {
		Error json.RawMessage `json:"error"`
	}
	if !isSet(response) || json.Unmarshal(response, &r) != nil {
		return nil
	}
	return r.Error
}

// readWrapped reads the value of "error": an object, or a bare text.
func readWrapped(raw json.RawMessage) APIError {
	var f errorFields
	if json.Unmarshal(raw, &f) != nil {
		return APIError{Message: loose(raw)}
	}
	return f.read()
}

func (f errorFields) read() APIError {
	err := APIError{Type: loose(f.Type), Param: loose(f.Param), Message: loose(f.Message)}
	if json.Unmarshal(f.Code, &err.Status) != nil {
		err.Status = 0
		err.Code = loose(f.Code)
	}
	return err
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// loose is a JSON string's text, nothing for null, and other values as they stand.
func loose(raw json.RawMessage) string {
	var s string
	if !isSet(raw) || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
