package openai

import (
	"strings"
	"testing"
)

func TestEndpointOf(t *testing.T) {
	f := func(path string, want Endpoint) {
		t.Helper()
		if got := EndpointOf(path); got != want {
			t.Errorf("EndpointOf(%q) = %v, want %v", path, got, want)
		}
	}
	f("/v1/chat/completions", Chat)
	f("/v1/completions", Completions)
	f("/v1/responses", Responses)
	f("/v1/messages", Messages)
	f("/v1/embeddings", Embeddings)
	f("/v2/embed", Embeddings)
	f("/pooling", Pooling)
	f("/classify", Classify)
	f("/score", Score)
	f("/v1/score", Score)
	f("/rerank", Rerank)
	f("/v1/rerank", Rerank)
	f("/v2/rerank", Rerank)
	f("/tokenize", Tokenize)
	f("/detokenize", Detokenize)
	f("/v1/messages/count_tokens", CountTokens)
	f("/v1/chat/completions/render", RenderChat)
	f("/v1/completions/render", RenderCompletions)

	for _, control := range []string{"", "/", "/sleep", "/metrics", "/v1/load_lora_adapter", "/abort_requests",
		"/start_profile", "/v1/chat/completions/", "/V1/chat/completions", "/v1/chat/completions/batch"} {
		f(control, NoEndpoint)
	}
}

func TestEndpointKinds(t *testing.T) {
	for e := Chat; e <= Extra; e++ {
		wantGenerates := e < Tokenize
		wantPools := e >= Embeddings && e < Tokenize
		if e.Generates() != wantGenerates || e.Pools() != wantPools {
			t.Errorf("%v: Generates %v, Pools %v", e, e.Generates(), e.Pools())
		}
		if e.String() == "" || strings.ToLower(e.String()) != e.String() {
			t.Errorf("endpoint %d has no label: %q", e, e.String())
		}
	}
	if NoEndpoint.Generates() || NoEndpoint.Pools() {
		t.Error("the zero endpoint generates nothing")
	}
}
