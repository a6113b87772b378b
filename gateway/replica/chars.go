package replica

import "strings"

// isToken tells whether s is a token of RFC 9110: a method or a field name.
func isToken(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isTokenByte(b byte) bool {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', isDigit(b):
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}

// isText tells whether s may stand in a field value or reason phrase: no
// control characters but the tab.
func isText(s string) bool {
	for i := range len(s) {
		if isControl(s[i]) {
			return false
		}
	}
	return true
}

func isControl(b byte) bool { return b < ' ' && b != '\t' || b == 0x7f }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// trim removes the optional white space around a value: spaces and tabs only.
func trim(s string) string { return strings.Trim(s, " \t") }

// same compares in ASCII, ignoring case; lower must be lower case already.
// strings.EqualFold would take the Kelvin sign for a k: a chunKed that others
// don't see.
func same(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := range len(s) {
		b := s[i]
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != lower[i] {
			return false
		}
	}
	return true
}
