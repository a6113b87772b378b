package router

import "fmt"

// MarshalText is String, for JSON.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (o *Outcome) UnmarshalText(text []byte) error {
	for i := range table {
		if table[i].label == string(text) {
			*o = Outcome(i)
			return nil
		}
	}
	return unknown("outcome", text)
}

// UnmarshalText reads what MarshalText wrote.
func (v *Verdict) UnmarshalText(text []byte) error { return read(v, verdictNames[:], "verdict", text) }

// UnmarshalText reads what MarshalText wrote.
func (c *Class) UnmarshalText(text []byte) error { return read(c, classNames[:], "class", text) }

// UnmarshalText reads what MarshalText wrote.
func (r *ClassReason) UnmarshalText(text []byte) error {
	return read(r, reasonNames[:], "reason", text)
}

// UnmarshalText reads what MarshalText wrote.
func (s *ReplicaState) UnmarshalText(text []byte) error {
	return read(s, stateNames[:], "state", text)
}

// read finds a name's place in its list.
func read[T ~uint8](to *T, names []string, what string, text []byte) error {
	for i, name := range names {
		if name == string(text) {
			*to = T(i)
			return nil
		}
	}
	return unknown(what, text)
}

func unknown(what string, text []byte) error { return fmt.Errorf("there is no %s %q", what, text) }

// UnmarshalText reads what MarshalText wrote.
func (p *Priority) UnmarshalText(text []byte) error {
	return read(p, priorityNames[:], "priority", text)
}
