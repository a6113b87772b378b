package router

// Class is the kind of work of a request. The zero value means "not decided".
type Class uint8

// The classes.
const (
	ClassNone Class = iota
	Prefill         // long prompt, short answer
	Decode          // long answer
	Other           // generates nothing: no slot, no queue
)

var classNames = [...]string{ClassNone: "none", Prefill: "prefill", Decode: "decode", Other: "other"}

// String is the class's metric label and its name in headers and logs.
func (c Class) String() string { return classNames[c] }

// MarshalText is String, for JSON.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// ParseClass reads a class that a client or an operator may ask for: "prefill"
// or "decode". Anything else is ClassNone.
func ParseClass(s string) Class {
	switch s {
	case "prefill":
		return Prefill
	case "decode":
		return Decode
	}
	return ClassNone
}
