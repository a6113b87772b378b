package openai

import (
	"bytes"
	"math"
	"strconv"
)

// counts are the numbers of a body, from fieldN on.
type counts [fieldMaxOutput - fieldN + 1]int

// absent stands for a number that isn't there, is null, or is nonsense.
const absent = -1

// noCounts is where a pass starts.
var noCounts = counts{absent, absent, absent, absent, absent, absent, absent}

func (c *counts) of(f field) int { return c[f-fieldN] }

// positive is the number if it is at least 1, and absent otherwise: the replica
// refuses the rest, or takes its default.
func (c *counts) positive(f field) int {
	if n := c.of(f); n >= 1 {
		return n
	}
	return absent
}

// integer consumes a value and reads it as the replica would: whole numbers in
// any spelling (100, 100.0, 1e2), also inside a string, and true as 1. What is
// beyond 32 bits is the largest int32: no bound that matters. Anything else is
// absent.
func (in *inspector) integer() int {
	switch in.peek() {
	case '0':
		return wholeNumber(in.number())
	case '"':
		if raw := in.str().plain(); !bytes.ContainsAny(raw, "eExXnN") {
			return wholeNumber(bytes.TrimSpace(raw))
		}
	case 't':
		in.literal()
		return 1
	case 'f':
		in.literal()
		return 0
	default:
		in.skip()
	}
	return absent
}

func wholeNumber(raw []byte) int {
	if len(raw) <= 9 {
		if n, ok := decimal(raw); ok {
			return n
		}
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || v != math.Trunc(v) || v < 0 {
		return absent
	}
	return int(min(v, math.MaxInt32))
}

// decimal reads plain digits, the spelling of nearly every number.
func decimal(raw []byte) (int, bool) {
	n := 0
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(raw) > 0
}

// answer is a boolean that may be missing.
type answer uint8

const (
	unclear answer = iota // null, or nothing that the replica takes for a boolean
	yes
	no
)

// boolean consumes a value and reads it as the replica would: true, 1, "yes"
// and the like.
func (in *inspector) boolean() answer {
	switch in.peek() {
	case 't':
		in.literal()
		return yes
	case 'f':
		in.literal()
		return no
	case '"':
		return spelled(in.str().plain())
	case '0':
		switch wholeNumber(in.number()) {
		case 1:
			return yes
		case 0:
			return no
		}
		return unclear
	}
	in.skip()
	return unclear
}

func spelled(raw []byte) answer {
	for _, word := range [...]string{"true", "t", "yes", "y", "on", "1"} {
		if len(raw) == len(word) && bytes.EqualFold(raw, []byte(word)) {
			return yes
		}
	}
	for _, word := range [...]string{"false", "f", "no", "n", "off", "0"} {
		if len(raw) == len(word) && bytes.EqualFold(raw, []byte(word)) {
			return no
		}
	}
	return unclear
}

// streamOptions reads whether the client asked for usage, and where a splice
// could ask in its place.
func (in *inspector) streamOptions() {
	o := &in.f.options
	switch in.peek() {
	case 'n':
		o.state, o.at = optionsNull, in.skip()
	case '{':
		o.state, o.at.start = optionsEmpty, in.pos
		for in.enterObject(); in.member(); {
			in.streamOption(o)
		}
		o.at.end = in.pos
	default:
		o.state = optionsFixed
		in.skip()
	}
}

// streamOption reads one member of stream_options.
func (in *inspector) streamOption(o *options) {
	switch string(in.key) {
	case "include_usage":
		if o.usage.end != 0 {
			in.refuse("stream_options", "the field stream_options.include_usage is given twice")
		}
		in.peek()
		o.usage.start = in.pos
		null := in.at() == 'n'
		answer := in.boolean()
		o.usage.end = in.pos
		in.f.UsageAsked = answer == yes
		if answer == no || null {
			o.state = max(o.state, optionsRefuses)
			return
		}
		o.state = optionsFixed
	case "continuous_usage_stats":
		// It works only together with include_usage. Were we to ask for that, every
		// event would change, not only the last that we take out again.
		o.state = max(o.state, optionsSilent)
		if in.boolean() == yes {
			o.state = optionsFixed
		}
	default:
		o.state = max(o.state, optionsSilent)
		in.skip()
	}
}
