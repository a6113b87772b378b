package router

import (
	"fmt"
	"strings"
	"time"
)

// won says why the chosen replica was better than the others.
func (rec *Record) won() string {
	best := rec.best()
	if best == nil || rec.Choice.Replica == "" {
		return ""
	}
	others, equal := 0, 0
	for i := range rec.Candidates {
		c := &rec.Candidates[i]
		if c == best || c.Verdict != Willing || c.Choice != best.Choice {
			continue
		}
		if others++; !c.ahead(best) && !best.ahead(c) {
			equal++
		}
	}
	switch {
	case others == 0:
		return "the only one willing"
	case equal == 0:
		return fmt.Sprintf("least work of %d willing", others+1)
	}
	return fmt.Sprintf("least recently used of %d with the least work, %d willing", equal+1, others+1)
}

// sentence is the whole in words.
func (rec *Record) sentence() string {
	class := rec.Class.words()
	switch {
	case rec.Choice.Replica != "":
		best := rec.best()
		return fmt.Sprintf("%s: replica %s of pool %s, choice %d, %s (%d tokens of work)%s%s",
			class, best.Address, best.Pool, best.Choice, rec.Won, best.Work, rec.why(best.Choice), rec.Queue.turns(rec.Choice.Waits))
	case rec.Choice.Waits:
		return fmt.Sprintf("%s: waits at most %s, %d ahead, %s%s%s",
			class, span(rec.Queue.Allowed), rec.Wait.Ahead, rec.Wait.words(), rec.why(0), rec.Queue.turns(rec.Choice.Waits))
	}
	return fmt.Sprintf("%s: refused as %s: %s", class, rec.Refusal.Outcome, rec.Refusal.Detail)
}

// words says how the class was found.
func (c *Classified) words() string {
	switch c.Why {
	case ByRule:
		return fmt.Sprintf("class %s by rule %d", c.Class, c.Rule)
	case ByConversation:
		return fmt.Sprintf("class %s by conversation (keeps the class of its conversation: %s)", c.Class, c.compared())
	case ByRatio:
		return fmt.Sprintf("class %s by ratio (%s%s)", c.Class, c.compared(), c.past())
	}
	return fmt.Sprintf("class %s by %s", c.Class, c.Why)
}

// compared says on which side of the border the ratio is.
func (c *Classified) compared() string {
	sign := "not above"
	if c.Prompt > c.Answer {
		sign = "above"
	}
	return fmt.Sprintf("prompt %.0f %s answer %.0f", c.Prompt, sign, c.Answer)
}

// past says what was before, if anything was.
func (c *Classified) past() string {
	switch {
	case c.Earlier != ClassNone:
		return fmt.Sprintf(", its conversation was %s", c.Earlier)
	case c.Before != ClassNone:
		return fmt.Sprintf(", %s before", c.Before)
	}
	return ""
}

func (w *Wait) words() string {
	if w.Expected == 0 {
		return "expected wait unknown"
	}
	return "expected wait " + span(w.Expected)
}

// turns says what the turns of others had to do with it.
func (q *Line) turns(waits bool) string {
	said := ""
	if q == nil {
		return said
	}
	if q.Behind && waits {
		said += "; a waiter comes first"
	}
	if q.Crowds && waits {
		said += "; the queue is full, a louder tenant gives a place"
	}
	if q.Beside > 0 {
		said += fmt.Sprintf("; its tenant is ahead of others, so %d like it must fit beside it", q.Beside)
	}
	return said
}

// why counts what the candidates said who weren't willing, those of the pools
// before a choice; 0: of all.
func (rec *Record) why(choice int) string {
	var counts [len(verdictNames)]int
	for i := range rec.Candidates {
		if c := &rec.Candidates[i]; c.Verdict != Willing && c.Verdict != Undecidable && (choice == 0 || c.Choice <= choice) {
			counts[c.Verdict]++
		}
	}
	var said []string
	for v, n := range counts {
		if n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, Verdict(v)))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "; of the others " + strings.Join(said, ", ")
}

// span is seconds in words, to three digits.
func span(seconds float64) string {
	d, unit := time.Duration(seconds*float64(time.Second)), time.Microsecond
	for 1000*unit < d {
		unit *= 10
	}
	return d.Round(unit).String()
}

// line is a candidate in words.
func (c *Candidate) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, choice %d worth %g: %s", c.Address, c.Pool, c.Choice, c.Value, c.Verdict)
	if c.State != Ready {
		fmt.Fprintf(&b, " (%s)", c.State)
	}
	fmt.Fprintf(&b, "; holds %d of %d", c.Active.Total()+c.Closing.Total(), c.Cap)
	if c.ClassCap < c.Cap {
		fmt.Fprintf(&b, " (%d prefill, %d decode; class cap %d)", c.Active.Prefill+c.Closing.Prefill, c.Active.Decode+c.Closing.Decode, c.ClassCap)
	}
	fmt.Fprintf(&b, ", work %d", c.Work)
	if c.Known > 0 {
		fmt.Fprintf(&b, "; knows %.0f tokens of the prompt", c.Known)
	}
	if c.FirstLimit > 0 || c.First > 0 {
		fmt.Fprintf(&b, "; first %s of %s", span(c.First), span(c.FirstLimit))
	}
	if c.Token > 0 {
		fmt.Fprintf(&b, "; token %s", span(c.Token))
		if c.TokenLimit > 0 {
			fmt.Fprintf(&b, " of %s", span(c.TokenLimit))
		}
	}
	if c.BestEffort {
		b.WriteString("; best effort")
	}
	return b.String()
}
