package vllmsim

import (
	"net/http"
	"strings"
)

// loadHeader writes the replica's load into the header of an answer that isn't
// streamed, where the request asks for it (ORCA, endpoint load metrics). Chat and
// completions do that.
func (s *Server) loadHeader(w http.ResponseWriter, r *http.Request) {
	if !s.options.Release.generation().orca || r.URL.Path != "/v1/chat/completions" && r.URL.Path != "/v1/completions" {
		return
	}
	now := s.engine.snapshot()
	waiting, kv := number(float64(now.Waiting)), number(now.KV)
	switch strings.ToLower(r.Header.Get("endpoint-load-metrics-format")) {
	case "text":
		w.Header().Set("endpoint-load-metrics", "TEXT named_metrics.num_requests_waiting="+waiting+", named_metrics.kv_cache_usage_perc="+kv)
	case "json":
		w.Header().Set("endpoint-load-metrics", `JSON {"named_metrics": {"num_requests_waiting": `+waiting+`, "kv_cache_usage_perc": `+kv+`}}`)
	}
}

// identify gives every answer the request's id, or one of the server's own, where
// that is switched on.
func (s *Server) identify(w http.ResponseWriter, r *http.Request) {
	if !s.options.RequestIDHeaders {
		return
	}
	id := r.Header.Get("X-Request-Id")
	if id == "" {
		id = s.nextID()
	}
	w.Header().Set("X-Request-Id", id)
}
