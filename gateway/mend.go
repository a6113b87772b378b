package gateway

import (
	"errors"
	"fmt"
	"io"
	"time"

	"sluice/config"
	"sluice/gateway/account"
	"sluice/gateway/openai"
	"sluice/router"
)

// A streamed answer that breaks is mended where its route says so (on_break):
// another replica of the same model goes on from the text that the client has. Two
// things must be certain for that, or the answer ends as it would elsewhere: that
// the rest depends on nothing but the prompt and that text (Facts.Continuable), and
// that the client has been told nothing but text (Told).
//
// The stream takes note of what it passes on (stream.pass), holds back the event by
// which a replica itself breaks an answer off (stream.breaksOff), and makes the
// second replica's events the first one's (Sequel). The relay, which owns the
// lease, gives it back for another one, as dispatch does before the commit point.

// rest is what another replica is asked for when an answer broke.
type rest struct {
	openai.Rest
	sequel *openai.Sequel
}

// asked is what goes into the body; nil: the request as it is.
func (r *rest) asked() *openai.Rest {
	if r == nil || len(r.Text) == 0 {
		return nil
	}
	return &r.Rest
}

// listen prepares a stream for what may become of it.
func (x *exchange) listen(s *stream) {
	switch {
	case x.rest != nil:
		s.sequel = x.rest.sequel
	case x.mendable():
		s.told = new(openai.Told)
	}
}

// mendable tells whether another replica may go on with the request's answer. To
// clients of HTTP/1.0 the answer is written when their request is no longer at hand.
func (x *exchange) mendable() bool {
	route, known := x.p.cfg.Routes[x.model.route]
	policy := route.Decode.OnBreak
	if x.grant.Class == router.Prefill {
		policy = route.Prefill.OnBreak
	}
	return known && policy == config.BreakContinue && x.c.Request.Header.IsHTTP11() && x.facts.Continuable(x.body.bytes)
}

// pass lets an event go to the client: as it is, or as the answer's that it goes on
// with, which has opened already.
func (s *stream) pass(ev *openai.Event) {
	if s.sequel != nil {
		if ev.Kind == openai.EventRole && s.first.IsZero() {
			s.cut(len(ev.Raw))
			return
		}
		s.put(len(ev.Raw), s.sequel.Event(nil, ev))
		return
	}
	if s.told != nil {
		s.told.Note(ev)
	}
	s.walked += len(ev.Raw)
}

// put passes something on in place of an event of n bytes.
func (s *stream) put(n int, event []byte) {
	end := s.walked + len(event)
	s.buf = append(s.buf[:s.walked], append(event, s.buf[s.walked+n:]...)...)
	s.walked = end
}

// breaksOff holds an event back by which the replica breaks off an answer that
// another one may go on with.
func (s *stream) breaksOff(ev *openai.Event) bool {
	ending := s.walker.Ending()
	if s.told == nil || s.told.Odd || len(s.told.Text) == 0 && !ev.Tokens || ending != openai.EndingError && ending != openai.EndingAborted {
		return false
	}
	s.ending, s.held = brokenOff, len(ev.Raw)
	return true
}

// letGo passes on what breaksOff held back, if there is anything: nobody goes on.
func (s *stream) letGo() bool {
	s.told = nil
	if s.ending != brokenOff {
		return false
	}
	if s.ending = running; s.toldError {
		s.ending = terminal
	}
	s.walked += s.held
	s.walk()
	return true
}

// errBrokenOff is how an answer ended that its replica broke off in words.
var errBrokenOff = errors.New("the replica broke its answer off")

// clientPause is how long a client may take no bytes before a break that follows
// may be its own doing: whatever stands before a replica may lose patience with it.
const clientPause = 5 * time.Second

// hand gives the client what is ready.
func (r *relay) hand(w io.Writer) (int, error) {
	var began time.Time
	if r.s.told != nil {
		began = time.Now()
	}
	n, err := w.Write(r.s.ready())
	if r.s.told != nil {
		r.heldUp = r.heldUp || time.Since(began) > clientPause
	}
	if err == nil {
		r.s.relayed()
	}
	return n, err
}

// mends tells whether the relay goes on although its stream ended: another replica
// has the rest, or there is something left to say of the end.
func (r *relay) mends(w io.Writer, cause error) bool {
	if r.s.told == nil {
		return false
	}
	outcome := r.judge(cause)
	if !outcome.MayContinue() || errors.Is(cause, errEventTooLarge) {
		return r.s.letGo()
	}
	rest, ok := r.restOf()
	if !ok {
		r.x.h.account.Continued(account.NotPlain)
		return r.s.letGo()
	}
	if _, err := r.hand(w); err == nil && r.goOn(w, outcome, cause, rest) {
		return true
	}
	return r.s.letGo() || r.lost != nil
}

// restOf is what another replica would be asked for; false where that leaves doubt.
func (r *relay) restOf() (*rest, bool) {
	s, x := r.s, r.x
	told := s.told
	unsaid := len(told.Text) == 0 && s.held > 0 // its first words came with the news that there will be no more
	if told.Odd || r.heldUp || s.walker.Ending().Whole() || !unsaid && !x.endpoint.CanGoOn(told.Text) {
		return nil, false
	}
	prompt, tokens := told.Usage.PromptTokens, told.Usage.CompletionTokens
	if tokens == 0 {
		tokens = x.tokensTold(told)
	}
	if prompt == 0 && x.record.TokensInExact {
		prompt = x.record.TokensInEstimate
	}
	left, ok := x.leftOf(tokens, told.Usage.CompletionTokens > 0)
	return &rest{Rest: openai.Rest{Text: told.Text, Left: left}, sequel: openai.NewSequel(told, prompt, tokens)}, ok
}

// leftOf is how many tokens of the request's bound are left after so many; -1: it
// has no bound. False: none, so nothing is missing but the end.
func (x *exchange) leftOf(tokens int, exact bool) (int, bool) {
	bound := x.facts.OutBound
	switch {
	case bound < 0:
		return -1, true
	case exact && tokens >= bound:
		return 0, false
	}
	return max(bound-tokens, 1), true
}

// tokensTold is how many tokens a text has for which no replica told: as counted
// where there is a tokenizer; else as many as there were events, which bear one
// token each unless they had to wait for each other, or as many as it surely has.
func (x *exchange) tokensTold(told *openai.Told) int {
	if x.model.tokenizer != nil {
		if n, quick := x.model.tokenizer.CountQuickly(told.Text); quick {
			return n
		}
	}
	return max(told.Events, openai.TokensSurely(told.Text))
}

// goOn leaves the replica whose answer broke and lets another one go on with it.
// False: nobody does; the relay has no replica any more.
func (r *relay) goOn(w io.Writer, o router.Outcome, cause error, rest *rest) bool {
	x := r.x
	tokens := rest.sequel.Tokens()
	x.leaveReplica(o)
	x.leased = false
	grant, err := x.h.gate.Continue(&x.visit, x.grant.Lease, o, tokens)
	if err != nil {
		r.lost = fmt.Errorf("%w; %w", cause, err)
		if x.visit.Err() == nil {
			x.h.account.Continued(account.NobodyElse)
		}
		return false
	}
	broken := x.grant.Replica
	x.take(grant)
	x.rest = rest
	second := x.attempt()
	if s := second.stream; s == nil || s.failedAtOnce() {
		r.lost = x.leaveSecond(second, cause)
		return false
	}
	r.tellTimes()
	r.s, r.told = second.stream, false
	x.record.BrokenAt = broken
	x.h.account.Continued(account.GoneOn)
	_, err = w.Write(gap(o))
	return err == nil
}

// failedAtOnce tells whether a stream has nothing to say but that it failed.
func (s *stream) failedAtOnce() bool {
	ending := s.walker.Ending()
	return s.first.IsZero() && (ending == openai.EndingError || ending == openai.EndingAborted)
}

// leaveSecond gives a second replica back that has nothing to say, and tells how the
// answer ended: as it broke at the first.
func (x *exchange) leaveSecond(second result, cause error) error {
	o, why := second.outcome, "it said nothing"
	if o == router.Undecided {
		o = router.ErrorEvent
	}
	if second.fail != nil {
		why = second.fail.logged()
	}
	x.giveBack(o)
	x.h.account.Continued(account.AlsoFailed)
	return fmt.Errorf("%w; another replica was to go on, and failed: %s", cause, why)
}

// gap is the comment that stands in the stream where one replica ends and another
// goes on. Clients drop comments; people find it in a trace.
func gap(o router.Outcome) []byte {
	return []byte(": sluice: the replica failed here (" + o.String() + "); another one goes on\n\n")
}
