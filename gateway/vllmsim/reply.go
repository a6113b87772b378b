package vllmsim

import (
	"context"
	"net/http"
)

// reply is the answer to one generating request while it is written.
type reply struct {
	id      string // the client's, or own
	own     string // the server's
	most    int    // bound of an answer in tokens
	created int64  // Unix seconds
	work    *work
	job     *job
	choices []choice
	events  int // typed events written
	fault   Fault
}

// choice is what of one sequence has been shown.
type choice struct {
	index int
	begun bool
	shown int    // tokens
	why   ending // set when all is shown
}

// shape writes one endpoint's answers. The first four append events to dst.
type shape interface {
	open(dst []byte, r *reply) []byte                         // what a stream begins with, at once
	begin(dst []byte, r *reply, c *choice) []byte             // the prompt is computed
	text(dst []byte, r *reply, c *choice, text string) []byte // tokens; c.why is set with the last
	end(dst []byte, r *reply) []byte                          // every choice is done
	whole(r *reply, texts []string) any                       // an answer that isn't streamed
	fail(f *failure) []byte                                   // an error object
	broken(f *failure) []byte                                 // what a stream that fails ends with; nil: it is cut
}

// usage sums up the tokens of a request.
func (r *reply) usage() (prompt, completion int) {
	for _, p := range r.work.prompts {
		prompt += p.tokens()
	}
	for i := range r.choices {
		completion += r.choices[i].shown
	}
	return prompt, completion
}

// progress is how far a reply has come.
type progress uint8

const (
	going  progress = iota
	done            // every choice has ended
	struck          // its fault strikes now
	broken          // the engine is dead
	gone            // the client is
)

// look is how much of a sequence may be shown now, and how far the reply has come
// with it when those before it have come to at.
func (r *reply) look(s *sequence, at progress) (made int, why ending, _ progress) {
	made, why, hit := r.fault.limit(s.progress())
	switch {
	case why == failed:
		at = broken
	case hit:
		at = struck
	case why == running && at == done:
		at = going
	}
	return made, why, at
}

// drain appends what has been made since the last time.
func (r *reply) drain(dst []byte, sh shape) ([]byte, progress) {
	at := done
	for i, s := range r.job.sequences {
		c := &r.choices[i]
		if c.why != running {
			continue
		}
		var made int
		var why ending
		if made, why, at = r.look(s, at); at == broken {
			return dst, broken
		}
		if !c.begun && (made > 0 || why != running) {
			c.begun = true
			dst = sh.begin(dst, r, c)
		}
		if made > c.shown || why != running {
			text := s.plan.text(c.shown, made)
			c.shown, c.why = made, why
			dst = sh.text(dst, r, c, text)
		}
	}
	return dst, at
}

// stream writes events as they are made, until there is something to decide.
// Status and header have been sent.
func (r *reply) stream(ctx context.Context, w http.ResponseWriter, sh shape) progress {
	flush := http.NewResponseController(w).Flush
	var events []byte
	for {
		select {
		case <-ctx.Done():
			return gone
		case <-r.job.wake:
		}
		var at progress
		if events, at = r.drain(events[:0], sh); at == done {
			events = sh.end(events, r)
		}
		if len(events) > 0 {
			if _, err := w.Write(events); err != nil {
				return gone
			}
			if at != done && flush() != nil { // the last events and the end of the body go out together
				return gone
			}
		}
		if at != going {
			return at
		}
	}
}

// wait lets everything be made and gives the texts.
func (r *reply) wait(ctx context.Context) ([]string, progress) {
	for {
		select {
		case <-ctx.Done():
			return nil, gone
		case <-r.job.wake:
		}
		if texts, at := r.collect(); at != going {
			return texts, at
		}
	}
}

// collect is the texts of all choices.
func (r *reply) collect() ([]string, progress) {
	texts, at := make([]string, len(r.choices)), done
	for i, s := range r.job.sequences {
		c := &r.choices[i]
		if c.shown, c.why, at = r.look(s, at); at == broken {
			return nil, broken
		}
		texts[i] = s.plan.text(0, c.shown)
	}
	return texts, at
}

// typed appends an event with a type line; fields are names and values in turn.
func (r *reply) typed(dst []byte, kind string, fields ...any) []byte {
	r.events++
	dst = append(dst, "event: "+kind+"\ndata: "...)
	dst = append(dst, mustJSON(append(obj("type", kind), obj(fields...)...))...)
	return append(dst, "\n\n"...)
}

// joined is the text of a choice as far as it is shown.
func (r *reply) joined(c *choice) string {
	return r.job.sequences[c.index].plan.text(0, c.shown)
}
