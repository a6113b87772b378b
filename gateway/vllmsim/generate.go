package vllmsim

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// generating registers one generating endpoint: parse and check the body, then
// run it through the engine and write it in the endpoint's shape.
func (s *Server) generating(path string, parse func(*http.Request) (*work, error), sh shape) {
	sh = s.options.Release.generation().shape(path, sh)
	s.handle("POST", path, func(w http.ResponseWriter, r *http.Request) {
		task, err := parse(r)
		if err == nil {
			err = task.check(&s.options)
		}
		if err != nil {
			s.fail(w, sh.fail, err)
			return
		}
		s.generate(w, r, task, sh)
	})
}

// generate answers a request that has been checked.
func (s *Server) generate(w http.ResponseWriter, r *http.Request, task *work, sh shape) {
	fault, err := s.faultOf(r)
	switch {
	case err != nil:
		s.fail(w, sh.fail, err)
		return
	case fault.instead(w, sh):
		return
	case task.seeded():
		s.refuseLate(w, r, task, sh, &noSeed)
		return
	case task.refused != nil:
		s.refuseLate(w, r, task, sh, task.refused)
		return
	}
	rep := s.reply(r, task)
	rep.fault = fault
	if !s.engine.add(rep.job) {
		s.fail(w, sh.fail, &overflow)
		return
	}
	if fault.Kind != Deaf {
		defer s.engine.cancel(rep.job) // drops nothing when all has ended
	}
	switch {
	case rep.job.patience > 0:
		s.lose(w, r, rep, sh)
	case task.Stream:
		s.stream(w, r, rep, sh)
	default:
		s.whole(w, r, rep, sh)
	}
}

// stream writes a streamed answer.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, rep *reply, sh shape) {
	openStream(w, sh.open(nil, rep))
	at := rep.stream(r.Context(), w, sh)
	for at == struck && s.befell(rep) {
		at = rep.stream(r.Context(), w, sh)
	}
	switch at {
	case done:
		s.served.Add(1)
	case broken:
		breakOff(w, sh.broken(&engineDead))
	case struck:
		rep.fault.strikeStream(r.Context(), w, sh)
	}
}

// whole writes an answer that isn't streamed.
func (s *Server) whole(w http.ResponseWriter, r *http.Request, rep *reply, sh shape) {
	texts, at := rep.wait(r.Context())
	for at == struck && s.befell(rep) {
		texts, at = rep.wait(r.Context())
	}
	switch at {
	case done:
		s.loadHeader(w, r)
		s.finish(w, sh, sh.whole(rep, texts))
	case broken:
		s.fail(w, sh.fail, &engineDead)
	case struck:
		rep.fault.strikeWhole(r.Context(), w, sh, mustJSON(sh.whole(rep, texts)))
	}
}

// finish writes a whole answer, which may be that there can be none.
func (s *Server) finish(w http.ResponseWriter, sh shape, answer any) {
	if f, is := answer.(*failure); is {
		s.fail(w, sh.fail, f)
		return
	}
	writeJSON(w, http.StatusOK, mustJSON(answer))
	s.served.Add(1)
}

// befell says that the request's fault has hit the whole replica; the answer
// goes on if it still can.
func (s *Server) befell(rep *reply) bool {
	if kinds[rep.fault.Kind].scope != either {
		return false
	}
	s.befall(rep.fault)
	rep.fault = Fault{}
	rep.job.ring()
	return true
}

func (s *Server) reply(r *http.Request, task *work) *reply {
	rep := &reply{own: s.nextID(), most: task.longest(s.options.MaxModelLen - task.prompts[0].tokens()), created: time.Now().Unix(), work: task, job: task.job(&s.options)}
	rep.id = requestID(r, rep.own)
	rep.choices = make([]choice, len(rep.job.sequences))
	for i := range rep.choices {
		rep.choices[i].index = i
	}
	return rep
}

// openStream sends status, header and the first events, which vLLM does before
// prefill.
func openStream(w http.ResponseWriter, events []byte) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	if len(events) > 0 {
		w.Write(events)
	}
	http.NewResponseController(w).Flush()
}

// refuseLate answers what only the engine refuses: 400, but within a stream that
// has already been opened.
func (s *Server) refuseLate(w http.ResponseWriter, r *http.Request, task *work, sh shape, f *failure) {
	if !task.Stream {
		s.fail(w, sh.fail, f)
		return
	}
	openStream(w, sh.open(nil, s.reply(r, task)))
	breakOff(w, sh.broken(f))
}

// fail writes an error answer, unless the client is what failed.
func (s *Server) fail(w http.ResponseWriter, shape func(*failure) []byte, err error) {
	var f *failure
	if !errors.As(err, &f) {
		s.options.Logger.Debug("request was not read", "error", err)
		f = badRequest("", "%v", err)
	}
	writeJSON(w, f.status, shape(f))
}

func (s *Server) nextID() string { return fmt.Sprintf("%016x", mix(s.ids.Add(1))) }
