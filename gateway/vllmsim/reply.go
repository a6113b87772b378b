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

// drain appends what has been made since the last time; done says that every
// choice has ended.
func (r *reply) drain(dst []byte, sh shape) (events []byte, done bool) {
	done = true
	for i, s := range r.job.sequences {
		c := &r.choices[i]
		if c.why != running {
			continue
		}
		made, why := s.progress()
		if !c.begun && (made > 0 || why != running) {
			c.begun = true
			dst = sh.begin(dst, r, c)
		}
		if made > c.shown || why != running {
			text := s.plan.text(c.shown, made)
			c.shown, c.why = made, why
			dst = sh.text(dst, r, c, text)
		}
		done = done && c.why != running
	}
	return dst, done
}

// stream writes events as they are made. Status and header have been sent. It
// returns false when the client left first.
func (r *reply) stream(ctx context.Context, w http.ResponseWriter, sh shape) bool {
	flush := http.NewResponseController(w).Flush
	events := sh.open(nil, r)
	if len(events) > 0 {
		w.Write(events)
		if flush() != nil {
			return false
		}
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-r.job.wake:
		}
		var done bool
		if events, done = r.drain(events[:0], sh); done {
			events = sh.end(events, r)
		}
		if len(events) == 0 {
			continue
		}
		if _, err := w.Write(events); err != nil {
			return false
		}
		if done {
			return true
		}
		if err := flush(); err != nil {
			return false
		}
	}
}

// wait lets everything be made and gives the texts; nil when the client left.
func (r *reply) wait(ctx context.Context) []string {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.job.wake:
		}
		if texts := r.collect(); texts != nil {
			return texts
		}
	}
}

// collect is the texts of all choices once the last has ended.
func (r *reply) collect() []string {
	texts := make([]string, len(r.choices))
	for i, s := range r.job.sequences {
		made, why := s.progress()
		if why == running {
			return nil
		}
		r.choices[i].shown, r.choices[i].why = made, why
		texts[i] = s.plan.text(0, made)
	}
	return texts
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
