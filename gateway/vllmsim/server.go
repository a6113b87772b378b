package vllmsim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Server is one simulated replica.
type Server struct {
	options Options
	engine  timing
	http    *http.Server
	mux     *http.ServeMux
	ids     atomic.Uint64
	served  atomic.Int64
}

// timing is what gives jobs their time: the engine, or the published figures.
type timing interface {
	add(j *job)    // begins it, and wakes its handler as it goes on
	cancel(j *job) // drops what is left of it
	close()        // aborts what is left of all, and at once what is added later
	snapshot() *snapshot
	// held is how many sequences there are, now and at most, and how many were
	// dropped because their client left.
	held() (now, most, left int)
}

// New makes a replica and starts its engine; Shutdown ends it. It panics on an
// unknown Options.Size.
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{options: o, engine: newEngine(o), mux: http.NewServeMux()}
	s.routes()
	s.http = &http.Server{Handler: s, IdleTimeout: o.KeepAlive, ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug)}
	return s
}

// Handler is the replica's HTTP surface, for tests without a listener. It
// needs no Serve, but still a Shutdown.
func (s *Server) Handler() http.Handler { return s }

// Serve answers on ln until Shutdown; then it returns nil. It closes ln.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve simulated replica on %s: %w", ln.Addr(), err)
	}
	return nil
}

// Shutdown stops accepting and lets the requests under way finish until ctx
// ends. What is left then is aborted as vLLM does it, with status 200 and the
// finish reason "abort", and the connections are closed.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	s.engine.close()
	if err == nil {
		return nil
	}
	last, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(last) != nil {
		s.http.Close()
	}
	return fmt.Errorf("shut down simulated replica: requests were aborted: %w", err)
}

// Held is how many sequences the replica holds now: running and waiting.
func (s *Server) Held() int {
	now, _, _ := s.engine.held()
	return now
}

// Peak is the most sequences that the replica ever held at once.
func (s *Server) Peak() int {
	_, most, _ := s.engine.held()
	return most
}

// Cancelled is how many sequences were dropped because their client left.
func (s *Server) Cancelled() int {
	_, _, left := s.engine.held()
	return left
}

// Served is how many generating requests were answered to their end.
func (s *Server) Served() int { return int(s.served.Load()) }

// ServeHTTP checks the API key, where vLLM does, and routes.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", "uvicorn")
	w.Header().Set("Vary", "Origin")
	if s.options.APIKey != "" && strings.HasPrefix(r.URL.Path, "/v1") && r.Method != http.MethodOptions &&
		r.Header.Get("Authorization") != "Bearer "+s.options.APIKey {
		writeJSON(w, http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// routes is the table of what the replica answers.
func (s *Server) routes() {
	s.generating("/v1/chat/completions", parseChat, chatShape{})
	s.generating("/v1/completions", parseCompletions, completionShape{})
	s.generating("/v1/responses", parseResponses, responsesShape{})
	s.generating("/v1/messages", parseMessages, messagesShape{})
	s.handle("POST", "/v1/embeddings", s.embeddings)
	s.handle("POST", "/v1/messages/count_tokens", s.countTokens)
	s.handle("POST", "/tokenize", s.tokenize)
	s.handle("POST", "/detokenize", s.detokenize)
	s.handle("GET", "/v1/models", s.models)
	s.handle("GET", "/health", s.health)
	s.handle("GET", "/version", s.version)
	s.handle("GET", "/load", answer(http.StatusOK, `{"server_load":0}`))
	s.handle("GET", "/metrics", s.metrics)
	s.mux.HandleFunc("/ping", s.health)
	s.mux.HandleFunc("/", answer(http.StatusNotFound, `{"detail":"Not Found"}`))
}

// handle registers a path for one method; any other is answered 405.
func (s *Server) handle(method, path string, f http.HandlerFunc) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == method {
			f(w, r)
			return
		}
		w.Header().Set("Allow", method)
		writeJSON(w, http.StatusMethodNotAllowed, []byte(`{"detail":"Method Not Allowed"}`))
	})
}

// answer always gives the same answer.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, status, []byte(body)) }
}

// generating registers one generating endpoint: parse and check the body, then
// run it through the engine and write it in the endpoint's shape.
func (s *Server) generating(path string, parse func(*http.Request) (*work, error), sh shape) {
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
	if task.seeded() {
		s.refuseSeed(w, task, sh)
		return
	}
	rep := s.reply(r, task)
	if task.Stream {
		openStream(w)
	}
	s.engine.add(rep.job)
	defer s.engine.cancel(rep.job) // drops nothing when all has ended
	if task.Stream {
		if rep.stream(r.Context(), w, sh) {
			s.served.Add(1)
		}
		return
	}
	if texts := rep.wait(r.Context()); texts != nil {
		writeJSON(w, http.StatusOK, mustJSON(sh.whole(rep, texts)))
		s.served.Add(1)
	}
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

// openStream sends status and header, which vLLM does before prefill.
func openStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	http.NewResponseController(w).Flush()
}

// refuseSeed answers as the TPU platform does: 400, but within a stream that
// has already been opened.
func (s *Server) refuseSeed(w http.ResponseWriter, task *work, sh shape) {
	if !task.Stream {
		s.fail(w, sh.fail, &noSeed)
		return
	}
	openStream(w)
	end := sh.broken(&noSeed)
	if end == nil {
		panic(http.ErrAbortHandler)
	}
	w.Write(end)
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
