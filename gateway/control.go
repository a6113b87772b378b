package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"net/url"
	"strings"
)

// controlIndex is what an operator who comes without a path is told.
const controlIndex = `Sluice, for operators:

GET  /api/state     what the router knows: pools, replicas, queues (JSON)
POST /-/reload      read the configuration again, all or nothing
GET  /debug/pprof/  profiles of this process
`

// controlHandler serves the operator: reload, the router's state, profiles. It
// is for loopback, or for those who know the token.
func (g *Gateway) controlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { plain(w, controlIndex) })
	mux.HandleFunc("POST /-/reload", g.serveReload)
	mux.HandleFunc("GET /api/state", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, g.gate.State())
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol) // as `go tool pprof` asks
	return guard(mux, func() string { return g.shown.Load().token })
}

// reloadAnswer is what POST /-/reload answers. Its lists are never null.
type reloadAnswer struct {
	Reloaded bool     `json:"reloaded"`
	Changes  []string `json:"changes"`  // now in force
	Restart  []string `json:"restart"`  // in force after a restart
	Problems []string `json:"problems"` // why nothing has changed
}

func (g *Gateway) serveReload(w http.ResponseWriter, _ *http.Request) {
	done, err := g.Reload()
	switch {
	case errors.Is(err, errNoReload):
		answer(w, http.StatusNotImplemented, newReloadAnswer(done, err))
	case err != nil:
		answer(w, http.StatusUnprocessableEntity, newReloadAnswer(done, err))
	default:
		answer(w, http.StatusOK, newReloadAnswer(done, nil))
	}
}

func newReloadAnswer(done Reloaded, err error) reloadAnswer {
	a := reloadAnswer{
		Reloaded: err == nil,
		Changes:  append([]string{}, done.Changes...),
		Restart:  append([]string{}, done.Restart...),
		Problems: []string{},
	}
	if err != nil {
		a.Problems = strings.Split(err.Error(), "\n")
	}
	return a
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v) // fails when the operator's connection broke: there is nobody to tell
}

// guard lets in who has the token or, with none configured, who comes by way of
// a loopback address and calls it by a loopback name. The Host check keeps a web
// page that has had its own name resolved to 127.0.0.1 from driving the gateway
// through a browser; the Origin check keeps any other page out. The address is
// asked of the connection, since a reload can take the token away while the
// listener is still open to all.
func guard(next http.Handler, token func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch want := token(); {
		case want != "" && !sameToken(r.Header.Get("Authorization"), want):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "want Authorization: Bearer with the token of listeners.control.token", http.StatusUnauthorized)
		case want == "" && !cameByLoopback(r):
			http.Error(w, "without listeners.control.token this is served on loopback addresses alone", http.StatusForbidden)
		case want == "" && !isLoopback(r.Host):
			http.Error(w, "the Host header must name a loopback address, or set listeners.control.token", http.StatusForbidden)
		case !sameOrigin(r):
			http.Error(w, "requests from other web pages are not answered here", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// sameToken compares in a time that says nothing about the token.
func sameToken(header, token string) bool {
	scheme, value, _ := strings.Cut(header, " ")
	given := sha256.Sum256([]byte(strings.TrimSpace(value)))
	want := sha256.Sum256([]byte(token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(given[:], want[:]) == 1
}

func cameByLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(local.String())
}

// isLoopback judges a Host header or an address, with or without a port.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// sameOrigin: browsers name the page that a request comes from; other clients
// name none. Of what a page embeds (an image's address may be a profile's) they
// say only that it is another site's. A link that an operator follows is let in.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		site, followed := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Dest") == "document"
		return followed || site == "" || site == "same-origin" || site == "none"
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}
