package vllmsim

import (
	"encoding/json"
	"net/http"
	"time"
)

// health is green unless the engine is dead; a hung one looks well.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.life.isDead() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, mustJSON(obj("version", s.options.Release)))
}

// models answers /v1/models, where max_model_len is the only in-band word of
// the context limit.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	data := list{}
	for _, name := range s.options.served() {
		data = append(data, obj("id", name, "object", "model", "created", time.Now().Unix(), "owned_by", "vllm", "root", s.options.Root,
			"parent", nil, "max_model_len", s.options.MaxModelLen, "permission", list{permission()}))
	}
	writeJSON(w, http.StatusOK, mustJSON(obj("object", "list", "data", data)))
}

// permission is the one entry of a model's list of permissions.
func permission() object {
	return obj("id", "modelperm-0000000000000000", "object", "model_permission", "created", time.Now().Unix(),
		"allow_create_engine", false, "allow_sampling", true, "allow_logprobs", true, "allow_search_indices", false,
		"allow_view", true, "allow_fine_tuning", false, "organization", "*", "group", nil, "is_blocking", false)
}

// metrics answers a scrape.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	var t exposition
	s.engine.snapshot().write(&t, &s.options)
	s.web.write(&t)
	w.Header().Set("Content-Type", "text/plain; version=1.0.0; charset=utf-8")
	w.Write(t.dst)
}

// tokenizeRequest is the body of /tokenize: a prompt, or messages.
type tokenizeRequest struct {
	Model    string          `json:"model"`
	Prompt   *string         `json:"prompt"`
	Messages json.RawMessage `json:"messages"`
}

func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	var body tokenizeRequest
	err := decodeBody(r, &body)
	var ids []uint32
	if err == nil {
		ids, err = body.ids()
	}
	if err == nil && body.Model != "" {
		err = s.options.known(body.Model)
	}
	if err != nil {
		s.fail(w, s.options.Release.generation().refuse, err)
		return
	}
	writeJSON(w, http.StatusOK, mustJSON(obj("count", len(ids), "max_model_len", s.options.MaxModelLen, "tokens", ids, "token_strs", nil)))
}

// ids are as many as a generating request with the same content would count.
func (b *tokenizeRequest) ids() ([]uint32, error) {
	if b.Prompt != nil {
		return append([]uint32{beginID}, encode(*b.Prompt)...), nil
	}
	p, err := chatPrompt(b.Messages)
	return p.ids, err
}

func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Tokens []uint32 `json:"tokens"`
	}
	if err := decodeBody(r, &body); err != nil {
		s.fail(w, s.options.Release.generation().refuse, err)
		return
	}
	writeJSON(w, http.StatusOK, mustJSON(obj("prompt", decode(body.Tokens))))
}
