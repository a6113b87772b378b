package openai

// reason is what a finish reason says.
type reason uint8

const (
	noReason reason = iota
	finished        // stop, length, tool_calls, repetition, …: anything but those below
	aborted
	failed
)

// readReason reads the value of finish_reason or stop_reason. New releases bring
// new reasons, so every text but the two known bad ones is an end in good order.
// An empty text is none: some engines send it with every chunk.
func readReason(s *scanner) reason {
	if s.peek() != '"' {
		s.skip()
		return noReason
	}
	switch string(s.str().plain()) {
	case "":
		return noReason
	case "abort":
		return aborted
	case "error":
		return failed
	}
	return finished
}

// tally keeps account of which choices of an answer have finished.
type tally struct {
	total  int      // choices that the answer has to have, or has shown
	done   int      // how many of them finished
	marks  []uint64 // bit i: choice i finished
	worst  Ending   // the worst that was said outright
	closes bool     // the endpoint says goodbye with an event of its own
	closed bool     // and it has
	anyhow bool     // the endpoint has no rule: what was framed well is whole
}

// choiceLimit bounds the memory that a wrong index can cost: 8 KiB. vLLM's own
// limit for n is 16,384.
const choiceLimit = 1 << 16

func newTally(e Endpoint, choices int) tally {
	switch e {
	case Chat, Completions:
		return tally{total: choices}
	case Responses, Messages:
		return tally{total: 1, closes: true}
	}
	return tally{anyhow: true}
}

// note takes down that a choice showed up, and its finish reason if it has one.
// Indices run from 0 without gaps, so the highest one tells how many there are.
func (t *tally) note(index int, why reason) {
	t.total = max(t.total, index+1)
	switch why {
	case noReason:
		return
	case aborted:
		t.report(EndingAborted)
	case failed:
		t.report(EndingError)
	}
	if index >= choiceLimit { // never done: the answer stays open
		return
	}
	for len(t.marks) <= index/64 {
		t.marks = append(t.marks, 0)
	}
	word, bit := &t.marks[index/64], uint64(1)<<(index%64)
	if *word&bit == 0 {
		*word |= bit
		t.done++
	}
}

// close takes down the endpoint's closing event. vLLM's Messages has no word for
// an aborted sequence: the message then stops without a reason.
func (t *tally) close() {
	t.closed = true
	if t.done < t.total {
		t.report(EndingAborted)
	}
}

// report takes down an ending that no later event makes good.
func (t *tally) report(e Ending) { t.worst = max(t.worst, e) }

func (t *tally) ending() Ending {
	switch {
	case t.worst != EndingOpen:
		return t.worst
	case t.anyhow:
		return EndingComplete
	case t.total == 0 || t.done < t.total || t.closes && !t.closed:
		return EndingOpen
	}
	return EndingComplete
}
