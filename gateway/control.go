package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"net/url"
	"strings"
)

// controlHandler serves the operator: reload, the router's state, profiles. It
// is for loopback, or for those who know the token.
func (g *Gateway) controlHandler(token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /-/reload", func(w http.ResponseWriter, _ *http.Request) {
		changes, err := g.Reload()
		if err != nil {
			answer(w, http.StatusBadRequest, map[string]any{"reloaded": false, "error": err.Error()})
			return
		}
		answer(w, http.StatusOK, map[string]any{"reloaded": true, "changes": changes})
	})
	mux.HandleFunc("GET /api/state", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, g.gate.State())
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return guard(mux, token)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return // the operator's connection broke; there is nobody to tell
	}
}

// guard lets in who has the token or, with none configured, who speaks to a
// loopback name. The Host check keeps a web page that has had its own name
// resolved to 127.0.0.1 from driving the gateway through a browser; the Origin
// check keeps any other page out.
func guard(next http.Handler, token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case token != "" && !sameToken(r.Header.Get("Authorization"), token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "want Authorization: Bearer with the token of listeners.control.token", http.StatusUnauthorized)
		case token == "" && !isLoopback(r.Host):
			http.Error(w, "the Host header must name a loopback address, or set listeners.control.token", http.StatusForbidden)
		case !sameOrigin(r):
			http.Error(w, "requests from other web pages are not answered here", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func sameToken(header, token string) bool {
	given := sha256.Sum256([]byte(strings.TrimPrefix(header, "Bearer ")))
	want := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(given[:], want[:]) == 1
}

func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}
