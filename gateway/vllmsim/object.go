package vllmsim

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// object is a JSON object whose members keep their order, as vLLM's do.
type object []member

type member struct {
	name  string
	value any
}

// obj makes an object of names and values in turn.
func obj(pairs ...any) object {
	o := make(object, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, member{pairs[i].(string), pairs[i+1]})
	}
	return o
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	dst := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, m.name)
		dst = append(dst, ':')
		dst = append(dst, mustJSON(m.value)...)
	}
	return append(dst, '}'), nil
}

// list is a JSON array.
type list []any

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			return append(dst, mustJSON(s)...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// mustJSON encodes what always has a JSON form. Like vLLM it leaves < and & alone.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic("BUG: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// writeJSON writes a whole answer. An empty one has no type.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	if len(body) > 0 {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}
