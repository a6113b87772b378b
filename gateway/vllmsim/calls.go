package vllmsim

import "fmt"

// saidCall is what a piece of an answer says of one call.
type saidCall struct {
	index     int
	name      string // with the first piece
	first     bool
	arguments string
}

// calls is what the tool calls of a choice are within its text; nil: it is a text.
func (r *reply) calls(c *choice) []call { return r.job.sequences[c.index].plan.calls }

// named says whether the request names the tool that is called.
func (r *reply) named() bool { return r.work.tools.named != "" }

// said is what text, the last piece of the choice that is shown, says of its calls.
// A call shows when the first byte of its arguments does.
func (r *reply) said(c *choice, text string) []saidCall {
	to := len(r.joined(c))
	from := to - len(text)
	var all []saidCall
	for i, call := range r.calls(c) {
		begin, end := max(from, call.from), min(to, call.to)
		if begin >= end {
			continue
		}
		s := saidCall{index: i, arguments: text[begin-from : end-from]}
		if s.first = from <= call.from; s.first {
			s.name = call.name
		}
		all = append(all, s)
	}
	return all
}

// madeCall is a call of an answer that isn't streamed.
type madeCall struct {
	id        string
	name      string
	arguments string
}

// made is the calls of a choice: what there is of the one that was named; of
// others, all or, when they were cut, none.
func (r *reply) made(c *choice) []madeCall {
	text := r.joined(c)
	var all []madeCall
	for i, call := range r.calls(c) {
		if c.why == stopped || r.named() && text != "" {
			all = append(all, madeCall{r.callID(c, i), call.name, r.arguments(c, i)})
		}
	}
	return all
}

// arguments is what there is of a call's arguments.
func (r *reply) arguments(c *choice, i int) string {
	text, call := r.joined(c), r.calls(c)[i]
	return text[min(call.from, len(text)):min(call.to, len(text))]
}

// leftover is the text beside the calls: calls that were cut are a text where
// the model was free to call.
func (r *reply) leftover(c *choice) string {
	if c.why != stopped && !r.work.tools.forces() {
		return r.joined(c)
	}
	return ""
}

// announced is how many calls of the choice have been shown, be it in part.
func (r *reply) announced(c *choice) int {
	n, to := 0, len(r.joined(c))
	for _, call := range r.calls(c) {
		if call.from < to {
			n++
		}
	}
	return n
}

// callID is the id of a call, the same each time it is asked for.
func (r *reply) callID(c *choice, i int) string { return "chatcmpl-tool-" + r.tag(c, i, 1) }

// itemID is the id of the item that a response has for a call.
func (r *reply) itemID(c *choice, i int) string { return "fc_" + r.tag(c, i, 2) }

func (r *reply) tag(c *choice, i, use int) string {
	return fmt.Sprintf("%016x", mix(hash([]byte(r.own))+uint64(c.index<<16+i<<2+use)))
}

// reason is a choice's finish reason: calls end with one of their own, but not
// the one that was named.
func (r *reply) reason(c *choice) string {
	if c.why == stopped && len(r.calls(c)) > 0 && !r.named() {
		return "tool_calls"
	}
	return c.why.String()
}
