package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Problem is one thing that is wrong with a configuration: where, what, and
// what to change.
type Problem struct {
	File string // the file's name, or "environment variable X", "flag --x"; "" when unknown
	Line int    // 1-based line in File; 0 when there is none
	Path string // the key: pools.gemma-27b.cap.total; "" for the file as a whole
	Text string // what is wrong, with the value that was found
	Fix  string // what to change; "" where Text says it all

	meant string // the path of the key that was probably meant; "" when there is none
}

// String is the problem as one line: "sluice.yaml:12: pools.a.cap.total: is 0; must be at least 1".
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	for _, part := range []string{p.Path, p.Text} {
		if part != "" && b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(part)
	}
	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}
	return oneLine(b.String())
}

// oneLine escapes control characters: names and values from outside may hold a
// line end, and must not begin a line of their own.
func oneLine(s string) string {
	if strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Problems is every problem of a configuration, in the order of the file. As an
// error its text has a line for each.
type Problems []Problem

// Error is the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// add appends a problem of the key at path.
func (ps *Problems) add(path, text, fix string) {
	*ps = append(*ps, Problem{Path: path, Text: text, Fix: fix})
}

// err is nil when there are none: a nil Problems in an error would not be nil.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}
