package vllmsim

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
)

// Server is one simulated replica.
type Server struct {
	options Options
	engine  timing
	http    *http.Server
	mux     *http.ServeMux
	ids     atomic.Uint64
	served  atomic.Int64
	faults  faults
	life    life
	web     *web
}

// timing is what gives jobs their time: the engine, or the published figures.
type timing interface {
	add(j *job) bool // begins it, and wakes its handler as it goes on; false: it is one too many
	cancel(j *job)   // drops what is left of it
	close()          // aborts what is left of all, and at once what is added later
	die()            // fails them instead
	hang(bool)       // stops time, or lets it go on
	slow(k float64)  // makes everything last k times as long from now on
	snapshot() *snapshot
	// held is how many sequences there are, now and at most, and how many were
	// dropped because their client left.
	held() (now, most, left int)
}

func newTiming(o Options) timing {
	if o.Published {
		return newPublished(o)
	}
	return newEngine(o)
}

// New makes a replica and starts its engine; Shutdown ends it. It panics on
// options that Options.Check refuses.
func New(o Options) *Server {
	if err := o.Check(); err != nil {
		panic("BUG: simulated replica: " + err.Error())
	}
	o = o.withDefaults()
	s := &Server{options: o, engine: newTiming(o), mux: http.NewServeMux(), web: newWeb()}
	s.routes()
	s.http = &http.Server{Handler: s, IdleTimeout: o.KeepAlive, ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug)}
	return s
}

// Handler is the replica's HTTP surface, for tests without a listener. It
// needs no Serve, but still a Shutdown.
func (s *Server) Handler() http.Handler { return s }

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
	s.identify(w, r)
	s.web.serve(s.mux, w, r)
}

// routes is the table of what the replica answers.
func (s *Server) routes() {
	s.generating("/v1/chat/completions", parseChat, chatShape{})
	s.generating("/v1/completions", parseCompletions, completionShape{})
	s.generating("/v1/responses", parseResponses, responsesShape{})
	s.generating("/v1/embeddings", parseEmbeddings, embeddingShape{})
	if s.options.Release.generation().messages {
		s.generating("/v1/messages", parseMessages, messagesShape{})
		s.handle("POST", "/v1/messages/count_tokens", s.countTokens)
	}
	s.handle("POST", "/tokenize", s.tokenize)
	s.handle("POST", "/detokenize", s.detokenize)
	s.handle("GET", "/v1/models", s.models)
	s.handle("GET", "/health", s.health)
	s.handle("GET", "/version", s.version)
	s.handle("GET", "/load", answer(http.StatusOK, `{"server_load":0}`))
	s.handle("GET", "/metrics", s.metrics)
	s.mux.HandleFunc("/ping", s.health)
	s.mux.HandleFunc(faultsPath, s.control)
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
