package openai

import "bytes"

// framer finds where the events of a text/event-stream body end, while the body
// arrives in pieces of any size. A line may end in LF, CRLF or CR, mixed at will;
// an event ends with its first empty line.
//
// A CR at the end of what has arrived may be half of a CRLF. The framer waits for
// the byte after it, but not where that would hold back an event: after a line
// that ended in a bare CR, an empty line's CR ends the event at once, and should a
// LF follow, it opens the next event's bytes. So the events depend on the bytes
// alone, never on how they were cut.
type framer struct {
	scanned int  // bytes of the current event that were looked at
	line    int  // where its current line begins
	lines   int  // lines that ended, the empty one not counted
	ended   byte // how the line before ended: LF, CR, or crlf; 0 at the event's start
	halfEnd bool // the event before ended in a CR whose LF may follow
	begun   bool // an event has ended: a byte order mark can't come any more
}

// crlf stands for a line end of two bytes; any value but CR and LF does.
const crlf = 1

// scanWindow bounds how far a line end is looked for at once, so that a body that
// uses one kind of line end isn't searched to its end for the other each time.
const scanWindow = 4096

var byteOrderMark = []byte("\xef\xbb\xbf")

// end returns the length of the event that buf begins with, or 0 if it isn't whole
// yet. Between two calls that return 0, buf may only grow.
func (f *framer) end(buf []byte) int {
	f.skipHalfEnd(buf)
	for {
		at := lineEnd(buf, f.scanned)
		if at < 0 {
			f.scanned = len(buf)
			return 0
		}
		empty := f.lineIsEmpty(buf[:at])
		next, how := f.lineBreak(buf, at, empty)
		if next == 0 { // a CR that may be half of a CRLF
			f.scanned = at
			return 0
		}
		if empty {
			*f = framer{lines: f.lines, halfEnd: how == '\r', begun: true}
			return next
		}
		f.scanned, f.line, f.ended = next, next, how
		f.lines++
	}
}

// skipHalfEnd steps over the LF of the CRLF whose CR ended the event before.
func (f *framer) skipHalfEnd(buf []byte) {
	if f.scanned > 0 || len(buf) == 0 {
		return
	}
	f.lines = 0
	if f.halfEnd && buf[0] == '\n' {
		f.scanned, f.line = 1, 1
	}
	f.halfEnd = false
}

// lineIsEmpty reports whether the current line, which ends where buf does, is empty.
func (f *framer) lineIsEmpty(buf []byte) bool {
	line := buf[f.line:]
	if !f.begun && f.line == 0 {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	return len(line) == 0
}

// lineBreak returns where the line after the line end at buf[at] begins, and how
// the line ended; 0 if the byte after a CR has to be awaited.
func (f *framer) lineBreak(buf []byte, at int, empty bool) (next int, how byte) {
	switch {
	case buf[at] == '\n':
		return at + 1, '\n'
	case empty && f.ended == '\r':
		return at + 1, '\r'
	case at+1 == len(buf):
		return 0, 0
	case buf[at+1] == '\n':
		return at + 2, crlf
	}
	return at + 1, '\r'
}

// lineEnd returns the index of the first CR or LF of buf at or after from, or -1.
func lineEnd(buf []byte, from int) int {
	for from < len(buf) {
		part := buf[from:min(from+scanWindow, len(buf))]
		lf := bytes.IndexByte(part, '\n')
		if lf >= 0 {
			part = part[:lf]
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			return from + cr
		}
		if lf >= 0 {
			return from + lf
		}
		from += len(part)
	}
	return -1
}

// readFields reads the lines of a whole event: its event: field, and its data:
// fields joined by LF. Data of one line, which is all that replicas send, stays
// where it is; of several it is joined in scratch, which is returned to be used
// again.
func readFields(raw, scratch []byte) (name, data, _ []byte) {
	lines := 0
	for len(raw) > 0 {
		at := lineEnd(raw, 0)
		field, value := splitField(raw[:at])
		raw = raw[at+1:] // the LF of a CRLF is then an empty line, which says nothing
		switch string(field) {
		case "event":
			name = value
		case "data":
			switch lines {
			case 0:
				data = value
			case 1:
				scratch = append(scratch[:0], data...)
				fallthrough
			default:
				scratch = append(append(scratch, '\n'), value...)
				data = scratch
			}
			lines++
		}
	}
	return name, data, scratch
}

// splitField splits a line at its colon; one space after the colon belongs to it.
// A comment has an empty name.
func splitField(line []byte) (name, value []byte) {
	name, value, _ = bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return name, value
}
