package router

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is the record for people: a paragraph for each question.
func (rec *Record) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", rec.Words)
	f := &rec.Request
	fmt.Fprintf(&b, "request     %s, tenant %q: %d tokens in (the longest prompt surely %d, at most %d), %s, sequences: %d, %d bytes\n",
		f.name(), f.Tenant, f.TokensIn, f.LongestIn, f.AtMost, f.bound(), f.Sequences, f.Bytes)
	if o := &rec.Foreseen; o.TokensOut > 0 {
		fmt.Fprintf(&b, "foreseen    %.0f tokens out of a sequence (half at most %d, nine of ten at most %d; from %.0f answers); %d in all, work %d at w %g\n",
			o.Mean, o.P50, o.P90, o.Samples, o.TokensOut, o.Work, o.W)
	}
	fmt.Fprintf(&b, "class       %s\n", rec.Class.words())
	rec.printCandidates(&b)
	if q := rec.Queue; q != nil {
		fmt.Fprintf(&b, "queue       %d of %d wait (%s); %s, at most %s%s\n",
			q.Waiting, q.MaxWaiting, q.Path, (&Wait{Expected: q.Expected}).words(), span(q.Allowed), q.turns(rec.Choice.Waits))
	}
	fmt.Fprintf(&b, "decision    %s\n", rec.decision())
	return b.String()
}

func (rec *Record) printCandidates(b *strings.Builder) {
	for i := range rec.Candidates {
		title := ""
		if i == 0 {
			title = "replicas"
		}
		fmt.Fprintf(b, "%-12s%s\n", title, rec.Candidates[i].line())
	}
	if len(rec.Candidates) == 0 {
		b.WriteString("replicas    none\n")
	}
}

// decision is the last line of Text.
func (rec *Record) decision() string {
	switch {
	case rec.Choice.Replica != "":
		return fmt.Sprintf("%s of pool %s: %s", rec.Choice.Replica, rec.Choice.Pool, rec.Won)
	case rec.Choice.Waits:
		return fmt.Sprintf("waits, %d ahead, until %s at the latest", rec.Wait.Ahead, rec.Wait.Deadline.Format("15:04:05.000"))
	}
	again := ""
	if rec.Refusal.RetryAfter > 0 {
		again = fmt.Sprintf(" (try again after %s)", span(rec.Refusal.RetryAfter))
	}
	return fmt.Sprintf("refused as %s: %s%s", rec.Refusal.Outcome, rec.Refusal.Detail, again)
}

func (f *Facts) name() string {
	if f.Pool != "" {
		return "pinned to pool " + f.Pool
	}
	return "route " + f.Route
}

func (f *Facts) bound() string {
	if f.Bound < 0 {
		return "no bound on the answer"
	}
	return fmt.Sprintf("at most %d tokens out each", f.Bound)
}

// compact is a record with a line of words for each candidate.
type compact struct {
	Words      string     `json:"words"`
	Then       string     `json:"then,omitempty"`
	Request    Facts      `json:"request"`
	Foreseen   Foreseen   `json:"foreseen"`
	Class      Classified `json:"class"`
	Choice     Choice     `json:"choice"`
	Queue      *Line      `json:"queue,omitempty"`
	Candidates []string   `json:"candidates"`
	LeftOut    int        `json:"left_out,omitempty"` // candidates, for want of room
}

// Compact is the record as JSON for a header: printable ASCII, at most so many
// bytes. What doesn't fit is left out: candidates from the last, then all but the
// words, then the end of those.
func (rec *Record) Compact(limit int) []byte {
	short := compact{rec.Words, rec.Then, rec.Request, rec.Foreseen, rec.Class, rec.Choice, rec.Queue, []string{}, len(rec.Candidates)}
	best := encode(&short)
	if len(best) > limit {
		return shorten(rec.Words, limit)
	}
	for i := range rec.Candidates {
		short.Candidates = append(short.Candidates, rec.Candidates[i].line())
		short.LeftOut--
		more := encode(&short)
		if len(more) > limit {
			break
		}
		best = more
	}
	return best
}

// shorten is the words alone, as many as fit.
func shorten(words string, limit int) []byte {
	for {
		text := encode(struct {
			Words string `json:"words"`
		}{words})
		if len(text) <= limit || words == "" {
			return text[:min(len(text), limit)]
		}
		words = words[:len(words)/2]
	}
}

// encode is JSON in ASCII: what is beyond it is escaped.
func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic("BUG: a record that JSON can't hold: " + err.Error())
	}
	return escape(text)
}

// escape writes what isn't ASCII as JSON's \u, pairs of them beyond 16 bits.
func escape(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		ch, size := utf8.DecodeRune(text)
		if ch < utf8.RuneSelf {
			out = append(out, byte(ch))
		} else {
			for _, unit := range utf16.Encode([]rune{ch}) {
				out = fmt.Appendf(out, "\\u%04x", unit)
			}
		}
		text = text[size:]
	}
	return out
}
