package chaos

import (
	"encoding/json"
	"regexp"
	"strings"

	"sluice/router"
)

// entry is a line of the access log.
type entry struct {
	ID       string `json:"id"`
	Endpoint string `json:"endpoint"`
	Outcome  string `json:"outcome"`
	Status   int    `json:"status"`
	Attempts int    `json:"attempts"`
	Class    string `json:"class"`
	BrokenAt string `json:"broken_at"`
	In       int    `json:"tokens_in"`
	Out      int    `json:"tokens_out"`
}

// checkEnd is what must hold of each request when the gateway has ended.
func (w *world) checkEnd() {
	if log := w.log.String(); strings.Contains(log, "a bug in the gateway") {
		w.fault("the gateway met a bug:\n%s", log)
	}
	entries := map[string][]entry{}
	for line := range strings.Lines(w.access.String()) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.fault("a line of the access log: %v: %s", err, line)
		}
		w.outcomes[e.Outcome]++
		entries[e.ID] = append(entries[e.ID], e)
	}
	for _, v := range w.visits {
		w.checkVisit(v, entries[v.o.id()])
	}
	w.checkTurns(entries)
}

// checkVisit: promises 3, 5 and 7 of one request.
func (w *world) checkVisit(v *visit, lines []entry) {
	id := v.o.id()
	var last *entry
	if len(lines) > 0 {
		last = &lines[0]
	}
	w.noteGround(v, last)
	switch {
	case len(lines) > 1:
		w.fault("%s has %d lines in the log", id, len(lines))
		return
	case v.unread && len(v.jobs)+len(lines) > 0 && v.gone.IsZero():
		w.fault("%s was served on a connection that had ended: %+v", id, lines)
		return
	case len(lines) == 0:
		if v.unread || v.behind && v.ended.After(w.shutAt) || v.status == 408 && v.o.pieces > 1 {
			return // it hasn't been read
		}
		if v.status != 0 || !v.sent.IsZero() && !v.sent.Equal(v.gone) && w.shutAt.After(v.sent) {
			w.fault("%s, sent at %v, has no line in the log, its client heard %d %q", id, v.sent, v.status, v.body)
		}
		return
	}
	line := lines[0]
	if line.Outcome == router.Internal.String() || line.Endpoint != v.o.at.name {
		w.fault("%s ended as %+v", id, line)
	}
	if !v.gone.IsZero() {
		return // what it would have got nobody knows
	}
	switch {
	case v.err != nil && v.o.holds == forGood && line.Outcome == router.ClientGoneStreaming.String():
		return // it was cut
	case v.err != nil && v.sent.IsZero():
		return // it was refused half-way, and may have missed that
	case v.status == 0:
		w.fault("%s got no answer: %v; it ended as %+v", id, v.err, line)
	case line.Status != v.status:
		w.fault("%s got %d, the log says %+v", id, v.status, line)
	case v.status != 200:
		w.checkRefused(v, line)
	case v.err == nil && (!v.o.old || line.Outcome == router.Completed.String()): // else the end of the connection ends the answer
		w.checkComplete(v, line)
	default:
		w.checkCut(v, line)
	}
	w.checkWhole(v, line)
	w.checkDecision(v)
	w.checkTooLarge(v, line)
}

// checkRefused: an error is one in the endpoint's shape, or the replica's own.
func (w *world) checkRefused(v *visit, line entry) {
	body := string(v.body)
	theirs := len(v.jobs) > 0 && body == v.jobs[len(v.jobs)-1].expect
	if v.err != nil || !theirs && !strings.HasPrefix(body, `{"error":{"message":`) && !strings.HasPrefix(body, `{"type":"error","error":{"type":`) {
		w.fault("%s, %s: %d with %v and body %q", v.o.id(), line.Outcome, v.status, v.err, body)
	}
	if line.Outcome == router.Completed.String() || strings.HasPrefix(line.Outcome, "client_gone") {
		w.fault("%s got %d and is %s", v.o.id(), v.status, line.Outcome)
	}
}

// checkComplete: what looks whole was whole at the replica.
func (w *world) checkComplete(v *visit, line entry) {
	body := v.heard()
	switch j := v.last(); {
	case j == nil:
		w.fault("%s got an answer that no replica gave: %q", v.o.id(), body)
	case j.enough == 0 || len(body) < j.enough:
		w.fault("%s looks whole and isn't (conduct %d, %d of %d bytes): %q", v.o.id(), j.plan.conduct, len(body), j.enough, body)
	case !strings.HasPrefix(j.expect, body):
		w.fault("%s: the replica said\n%q\nthe client got\n%q", v.o.id(), j.expect, body)
	case line.Outcome != router.Completed.String():
		w.fault("%s got a whole answer and is %s", v.o.id(), line.Outcome)
	case v.o.plain && j.said && (line.In != promptTokens || line.Out != v.o.tokens):
		w.fault("%s got %d tokens to a prompt of %d, the log says %+v", v.o.id(), v.o.tokens, promptTokens, line)
	case j.from > 0 && (line.Attempts != 2 || line.BrokenAt != v.jobs[0].at.address):
		w.fault("%s broke at %s and was whole at the second, the log says %+v", v.o.id(), v.jobs[0].at.address, line)
	}
}

func (v *visit) last() *job {
	if len(v.jobs) == 0 {
		return nil
	}
	return v.jobs[len(v.jobs)-1]
}

// errorEvent is how a broken stream ends.
var errorEvent = regexp.MustCompile(`^(event: error\n)?data: \{("error"|"type":"error").*\}\n\n$`)

// checkCut: a stream that broke is a part of what the replica said, and an error
// event, the replica's own or the gateway's.
func (w *world) checkCut(v *visit, line entry) {
	j, body := v.last(), v.heard()
	if j == nil || !v.o.stream {
		w.fault("%s was cut: %v, %+v, %q", v.o.id(), v.err, line, body)
		return
	}
	same := alike(body, j.expect)
	if first := firstOf(v.jobs); j.from > 0 && first != nil && alike(body, first.expect) >= same { // the second had nothing to say
		j, same = first, alike(body, first.expect)
	}
	whole := strings.LastIndex(body[:same], "\n\n") + len("\n\n")
	if !strings.Contains(body[:same], "\n\n") {
		whole = 0
	}
	if line.Outcome == router.Draining.String() && v.o.holds > 0 {
		return // who reads nothing can't be told how it ends
	}
	own := j.plan.conduct == errs && whole == len(body) && strings.HasSuffix(body, v.o.at.broken)
	if !own && !errorEvent.MatchString(body[whole:]) {
		w.fault("%s, %s, ends with %q instead of an error event", v.o.id(), line.Outcome, body[whole:])
	}
	switch line.Outcome {
	case "truncated", "stalled", "aborted", "error_event", "draining":
	default:
		w.fault("%s was cut and is %s", v.o.id(), line.Outcome)
	}
}

// alike is how many bytes two texts begin with alike.
func alike(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// checkWhole: what was whole at the replica is whole here.
func (w *world) checkWhole(v *visit, line entry) {
	j := v.last()
	late := line.Outcome == router.Draining.String() && (v.o.reads > 0 || v.o.holds > 0) // the client hadn't taken it all in time
	if late || j == nil || !j.said || j.gone || j.status != 200 || j.enough == 0 {
		return
	}
	if v.status != 200 || v.err != nil || v.heard() != j.expect {
		w.fault("%s was answered whole by %s, its client got %d, %v:\n got %q\nwant %q", v.o.id(), j.at.address, v.status, v.err, v.body, j.expect)
	}
}

// checkDecision: a decision that was asked for says where the request went.
func (w *world) checkDecision(v *visit) {
	text := v.header.Get("x-sluice-decision")
	if text == "" || len(v.jobs) == 0 {
		return
	}
	var d struct {
		Words, Then string
		Choice      router.Choice
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil || d.Words == "" {
		w.fault("%s: error %v in the decision %s", v.o.id(), err, text)
	}
	if first := v.jobs[0]; d.Then == "" && d.Choice.Replica != first.at.address {
		w.fault("%s went to %s, the decision was %s", v.o.id(), first.at.address, text)
	}
}
