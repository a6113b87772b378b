package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	bytesType    = reflect.TypeFor[Bytes]()

	plainInt   = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	plainFloat = regexp.MustCompile(`^-?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?$`)
)

// complaint is what is wrong with a value and what to write instead. The zero
// value: nothing.
type complaint struct{ text, fix string }

// isScalar says whether a key of this type is one value, not a map or a list.
func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice:
		return false
	}
	return true
}

// parseScalar reads text as a value of type t, from whichever layer it comes.
func parseScalar(t reflect.Type, text string) (any, complaint) {
	switch {
	case t == durationType:
		return parseDuration(text)
	case t == bytesType:
		size, err := ParseBytes(text)
		if err != nil {
			what, fix, _ := strings.Cut(err.Error(), ": ")
			return nil, complaint{what, fix}
		}
		return size, complaint{}
	case t.Kind() == reflect.Int:
		return parseInt(text)
	case t.Kind() == reflect.Float64:
		return parseFloat(text)
	case t.Kind() == reflect.Bool:
		return parseBool(text)
	case t.Kind() == reflect.String:
		return text, complaint{}
	}
	panic(fmt.Sprintf("BUG: a setting of type %s", t))
}

func parseDuration(text string) (any, complaint) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, complaint{}
	}
	if plainFloat.MatchString(text) {
		return nil, complaint{fmt.Sprintf("%s has no unit", text), fmt.Sprintf("write %ss for seconds, %sms for milliseconds", text, text)}
	}
	return nil, complaint{fmt.Sprintf("%q is not a time", text), "write a number with ms, s, m or h, such as 500ms, 90s or 1h30m"}
}

// parseInt takes plain decimal numbers only: 010 is 8 to one YAML reader and 10
// to the next.
func parseInt(text string) (any, complaint) {
	if !plainInt.MatchString(text) {
		return nil, complaint{fmt.Sprintf("%q is not a whole number", text), "write plain decimal digits, such as 64, without a leading zero, separators or a unit"}
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, complaint{text + " is too large for a whole number", "write a smaller one"}
	}
	return n, complaint{}
}

func parseFloat(text string) (any, complaint) {
	if plainFloat.MatchString(text) {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f, complaint{}
		}
	}
	return nil, complaint{fmt.Sprintf("%q is not a number", text), "write a decimal number, such as 0.8"}
}

func parseBool(text string) (any, complaint) {
	switch text {
	case "true":
		return true, complaint{}
	case "false":
		return false, complaint{}
	}
	return nil, complaint{fmt.Sprintf("%q is not true or false", text), "write true or false"}
}
