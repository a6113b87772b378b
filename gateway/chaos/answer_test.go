package chaos

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// piece is a part of an answer that is written at once.
type piece struct {
	text   string
	client string        // what the client gets of it; empty: the same
	pause  time.Duration // before it
	hidden bool          // the usage that only the gateway asked for
	shows  bool          // the client gets it at once, and all before it
	last   bool          // with it the engine has done its work
}

// tell gives the planned answer. It reports whether the connection may be used again.
func (m *machine) tell(j *job, l *line) bool {
	if !l.wait(j.plan.first) {
		m.abandon(j)
		return false
	}
	switch p := j.plan; p.conduct {
	case hangs:
		l.wait(time.Hour)
		m.abandon(j)
		return false
	case busy:
		return m.refuse(j, l, p.status, "full", "Retry-After: 3\r\n")
	case fails:
		return m.refuse(j, l, 500, "engine died", "")
	case declines:
		return m.refuse(j, l, 400, "not like this", "")
	}
	pieces := m.compose(j)
	if j.v.o.stream {
		return m.stream(j, l, pieces)
	}
	return m.send(j, l, pieces, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(j.expect)), asIs)
}

func (m *machine) refuse(j *job, l *line, status int, why, lines string) bool {
	body := fmt.Sprintf(`{"error":{"message":"%s","type":"X","param":null,"code":%d}}`, why, status)
	m.w.book(func() { j.status, j.expect = status, body })
	m.finish(j)
	fmt.Fprintf(l, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", status, lines, len(body), body)
	return true
}

// compose makes the pieces of the answer, and what its client may see of it.
func (m *machine) compose(j *job) []piece {
	var pieces []piece
	switch {
	case j.v.o.plain:
		pieces = j.plainEvents()
	case j.v.o.stream:
		pieces = j.events(j.tag())
	default:
		pieces = j.whole(j.tag())
	}
	var seen strings.Builder
	seen.WriteString(j.before)
	enough := 0
	for _, p := range pieces {
		if !p.hidden {
			seen.WriteString(p.seen())
		}
		if p.last {
			enough = seen.Len()
		}
	}
	m.w.book(func() {
		if j.status, j.expect = 200, seen.String(); j.good() {
			j.enough = enough
		}
	})
	return pieces
}

// seen is what the client gets of a piece.
func (p *piece) seen() string { return cmp.Or(p.client, p.text) }

// good tells whether the answer is whole once it has been given.
func (j *job) good() bool {
	switch j.plan.conduct {
	case unfinishes, aborts, abortsMid, errs:
		return !j.v.o.at.streams // the others can't say so
	}
	return true
}

func (j *job) reason() string {
	switch j.plan.conduct {
	case unfinishes:
		return unfinished
	case aborts, abortsMid:
		return `"abort"`
	}
	return `"stop"`
}

// whole is an answer that isn't streamed.
func (j *job) whole(tag string) []piece {
	text := j.v.o.at.whole(tag, j.reason(), j.v.o.sequences)
	if j.plan.conduct == errs && j.v.o.at.streams {
		text = `{"error":{"message":"engine died","type":"InternalServerError","param":null,"code":500}}`
	}
	return []piece{{text: text, last: true}}
}

// events is a stream.
func (j *job) events(tag string) []piece {
	lang, n, p := j.v.o.at, j.v.o.sequences, j.plan
	var list []piece
	for _, text := range lang.opening(tag) {
		list = append(list, piece{text: text})
	}
	tokens := p.tokens
	if p.conduct == aborts {
		tokens = 0
	}
	for i := range tokens {
		for choice := range n {
			list = append(list, piece{text: lang.token(tag, choice, fmt.Sprintf("%s %d %s", tag, i, j.v.o.pad)), pause: p.gap, shows: true})
		}
		if p.conduct == errs && i == p.at%tokens {
			return append(list, piece{text: lang.broken, last: true, shows: true})
		}
	}
	for choice := range n {
		for _, text := range lang.finish(tag, j.reason(), choice) {
			list = append(list, piece{text: text, shows: p.conduct == well})
		}
	}
	list[len(list)-1].last = true
	return append(list, j.closing()...)
}

// closing is what chat and completions say after the end: usage, if asked, and
// [DONE], of good and bad answers alike.
func (j *job) closing() []piece {
	if !j.v.o.at.usage {
		return nil
	}
	return []piece{
		{text: data(`{"id":"u","choices":[],"usage":{"prompt_tokens":5,"total_tokens":8,"completion_tokens":3}}`), hidden: !j.v.o.asksUsage},
		{text: "data: [DONE]\n\n", shows: j.plan.conduct == well},
	}
}

func (m *machine) stream(j *job, l *line, pieces []piece) bool {
	frame := chunked
	if j.plan.torn {
		frame = torn
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	return m.send(j, l, append(pieces, piece{}), head, frame)
}

// The framings of a piece; an empty one is the end.
func asIs(text string) string { return text }

func chunked(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// torn makes chunks that don't keep to events.
func torn(text string) string {
	if len(text) < 20 {
		return chunked(text)
	}
	return chunked(text[:7]) + chunked(text[7:len(text)-1]) + chunked(text[len(text)-1:])
}

// send writes head and pieces, up to the byte where the plan breaks off.
func (m *machine) send(j *job, l *line, pieces []piece, head string, frame func(string) string) bool {
	left := 1 << 30
	if c := j.plan.conduct; c == cut || c == resets || c == stalls {
		left = j.plan.at
	}
	if j.plan.conduct == mute {
		left = len(head)
	}
	visible := len(j.before)
	for i, p := range append([]piece{{text: head}}, pieces...) {
		text := p.text
		if i > 0 {
			text = frame(text)
		}
		if p.pause > 0 && !l.wait(p.pause) {
			m.abandon(j)
			return false
		}
		if p.last {
			m.finish(j) // before the last word, which frees the slot at the gateway, also if it is cut behind its last letter
		}
		if len(text) > left {
			return m.breakOff(j, l, text[:left])
		}
		left -= len(text)
		if _, err := l.Write([]byte(text)); err != nil {
			m.abandon(j)
			return false
		}
		if i > 0 && !p.hidden {
			visible += len(p.seen())
		}
		if p.shows {
			m.w.book(func() { j.visible = visible })
		}
	}
	m.w.book(func() { j.said = true })
	return true
}

// breakOff is the end of an answer in the middle.
func (m *machine) breakOff(j *job, l *line, rest string) bool {
	if _, err := l.Write([]byte(rest)); err != nil {
		m.abandon(j)
		return false
	}
	switch j.plan.conduct {
	case resets:
		m.finish(j)
		l.reset()
	case cut:
		m.finish(j)
	default:
		l.wait(time.Hour)
		m.abandon(j)
	}
	return false
}
