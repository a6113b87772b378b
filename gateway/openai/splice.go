package openai

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// Edit is what the replica is to see differently.
type Edit struct {
	Model    string   // in place of the client's; "" keeps it
	AskUsage bool     // on streamed chat and completions: ask for usage if the client didn't
	Strip    []string // top-level members to leave out; not model, not stream_options
	Rest     *Rest    // of an answer that has begun, if the request is Continuable; nil: all of it
}

// Splice appends the edited body to dst, as parts that share the body's bytes,
// and returns it. Outside the edit every byte is the client's. The body must be
// the one that was inspected, and stay as it is while the parts are in use.
func (f *Facts) Splice(dst [][]byte, body []byte, e Edit) [][]byte {
	var room [8]change
	changes := f.changes(room[:0], e)
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.start, b.start) })
	pos := 0
	for _, c := range changes {
		dst = appendPart(dst, body[pos:c.start])
		dst = appendPart(dst, c.with)
		pos = c.end
	}
	return appendPart(dst, body[pos:])
}

func appendPart(dst [][]byte, part []byte) [][]byte {
	if len(part) == 0 {
		return dst
	}
	return append(dst, part)
}

// AsksUsage reports whether a splice with AskUsage asks for usage in the
// client's place, so that the extra event is ours and has to be taken out again.
func (f *Facts) AsksUsage() bool {
	return f.Stream && (f.Endpoint == Chat || f.Endpoint == Completions) && f.options.state != optionsFixed
}

// change is bytes to put in place of a span.
type change struct {
	span
	with []byte
}

func (f *Facts) changes(list []change, e Edit) []change {
	if e.Rest != nil {
		list = f.askRest(list, e.Rest, e.Strip)
	}
	if e.Model != "" && e.Model != f.Model && f.modelAt.end > 0 {
		list = append(list, change{f.modelAt, appendQuoted(nil, e.Model)})
	}
	list, kept := f.strip(list, e.Strip)
	if e.AskUsage && f.AsksUsage() {
		list = append(list, f.askUsage(kept))
	}
	return list
}

// askUsage is the least change that makes the replica report usage. A new
// member goes behind the last; kept tells that there is one to follow.
func (f *Facts) askUsage(kept bool) change {
	o := f.options
	switch o.state {
	case optionsNull:
		return change{o.at, []byte(`{"include_usage":true}`)}
	case optionsEmpty:
		return change{o.at.after(1), []byte(`"include_usage":true`)}
	case optionsSilent:
		return change{o.at.after(1), []byte(`"include_usage":true,`)}
	case optionsRefuses:
		return change{o.usage, []byte("true")}
	}
	end := f.member(f.count - 1).at.end
	if kept {
		return change{span{end, end}, []byte(`,"stream_options":{"include_usage":true}`)}
	}
	return change{span{end, end}, []byte(`"stream_options":{"include_usage":true}`)}
}

// after is the empty span n bytes into s.
func (s span) after(n int) span { return span{s.start + n, s.start + n} }

// strip leaves members out, each with one comma, and tells whether any is kept.
func (f *Facts) strip(list []change, names []string) ([]change, bool) {
	if len(names) == 0 || f.count == 0 {
		return list, f.count > 0
	}
	end := -1 // of the last member that is kept
	for i := range f.count {
		m := f.member(i)
		if !stripped(m.hash, names) {
			end = m.at.end
			continue
		}
		gap := m.at
		if i+1 < f.count {
			gap.end = f.member(i + 1).at.start
		}
		list = append(list, change{span: gap})
	}
	return f.stripLast(list, end), end >= 0
}

// stripLast widens the last gap to the left, over the comma that would be left
// behind when it reaches the end of the object.
func (f *Facts) stripLast(list []change, end int) []change {
	last := f.member(f.count - 1).at
	if end < 0 || end == last.end {
		return list
	}
	for len(list) > 0 && list[len(list)-1].start > end {
		list = list[:len(list)-1]
	}
	return append(list, change{span: span{end, last.end}})
}

func stripped(hash uint64, names []string) bool {
	for _, name := range names {
		if name != "model" && name != "stream_options" && hashName(name) == hash {
			return true
		}
	}
	return false
}

// appendQuoted appends a JSON string. What isn't UTF-8 becomes U+FFFD.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
