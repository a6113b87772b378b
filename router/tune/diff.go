package tune

import (
	"fmt"
	"strings"
)

// context is how many unchanged lines a diff shows round a change.
const context = 3

// Diff is what has been changed, as a unified diff that patch(1) takes; empty:
// nothing.
func (f *File) Diff() string {
	var b strings.Builder
	old, now := 0, 0 // lines told so far
	for from := 0; from < len(f.lines); {
		first := f.nextChange(from)
		if first == len(f.lines) {
			break
		}
		begin, end := max(first-context, from), f.hunkEnd(first)
		old, now = old+begin-from, now+begin-from
		if b.Len() == 0 {
			fmt.Fprintf(&b, "--- %s\n+++ %s\n", f.name, f.name)
		}
		text, removed, added := f.hunk(begin, end)
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n%s", old+1, removed, now+1, added, text)
		old, now, from = old+removed, now+added, end
	}
	return b.String()
}

// changed tells whether a line isn't as it was.
func (f *File) changed(i int) bool {
	l := f.lines[i]
	return l.old < 0 || l.text != f.before[l.old]
}

func (f *File) nextChange(from int) int {
	for from < len(f.lines) && !f.changed(from) {
		from++
	}
	return from
}

// hunkEnd is the end of the hunk that begins with a change: where more lines than
// two contexts stay the same.
func (f *File) hunkEnd(i int) int {
	for {
		for i < len(f.lines) && f.changed(i) {
			i++
		}
		next := f.nextChange(i)
		if next == len(f.lines) || next-i > 2*context {
			return min(i+context, len(f.lines))
		}
		i = next
	}
}

// hunk tells lines, changes as a whole: first what goes, then what comes.
func (f *File) hunk(begin, end int) (text string, removed, added int) {
	var b, gone, come strings.Builder
	flush := func() {
		b.WriteString(gone.String() + come.String())
		gone.Reset()
		come.Reset()
	}
	for i := begin; i < end; i++ {
		l := f.lines[i]
		if !f.changed(i) {
			flush()
			b.WriteString(marked(" ", l.text))
			removed, added = removed+1, added+1
			continue
		}
		if l.old >= 0 {
			gone.WriteString(marked("-", f.before[l.old]))
			removed++
		}
		come.WriteString(marked("+", l.text))
		added++
	}
	flush()
	return b.String(), removed, added
}

// marked is a line of a diff; one without an end is marked as patch wants it.
func marked(mark, text string) string {
	if !strings.HasSuffix(text, "\n") {
		text += "\n\\ No newline at end of file\n"
	}
	return mark + text
}
