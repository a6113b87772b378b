package openai

// Endpoint is one of the calls that the gateway relays. The zero value means
// "none": the path is not in the table and the answer is 404.
type Endpoint uint8

// The endpoints. Those up to Rerank make a model work: they are classified,
// hold slots and have their own line in the ledger. The rest only ask a
// replica's front end.
const (
	NoEndpoint Endpoint = iota
	Chat
	Completions
	Responses
	Messages
	Embeddings
	Pooling
	Classify
	Score
	Rerank
	Tokenize
	Detokenize
	CountTokens
	RenderChat
	RenderCompletions
	Extra // a path that the operator opted in with relay.extra_paths
)

var endpointNames = [...]string{
	NoEndpoint:        "none",
	Chat:              "chat_completions",
	Completions:       "completions",
	Responses:         "responses",
	Messages:          "messages",
	Embeddings:        "embeddings",
	Pooling:           "pooling",
	Classify:          "classify",
	Score:             "score",
	Rerank:            "rerank",
	Tokenize:          "tokenize",
	Detokenize:        "detokenize",
	CountTokens:       "count_tokens",
	RenderChat:        "render_chat",
	RenderCompletions: "render_completions",
	Extra:             "extra",
}

// String is the endpoint's name in logs and metric labels.
func (e Endpoint) String() string { return endpointNames[e] }

// Generates reports whether the call makes a model work: it is classified and
// holds slots. The calls that pool count as well: they occupy a replica.
func (e Endpoint) Generates() bool { return Chat <= e && e <= Rerank }

// Pools reports whether the call only reads its prompt and decodes nothing
// (embeddings and their kin): its output is 0 tokens.
func (e Endpoint) Pools() bool { return Embeddings <= e && e <= Rerank }

// EndpointOf finds the endpoint of a decoded and cleaned path. The table is
// closed on purpose: vLLM's control paths (sleep, LoRA loading, abort,
// profile, metrics) must never be reachable through a gateway, and new
// releases keep adding some.
func EndpointOf(path string) Endpoint {
	switch path {
	case "/v1/chat/completions":
		return Chat
	case "/v1/completions":
		return Completions
	case "/v1/responses":
		return Responses
	case "/v1/messages":
		return Messages
	}
	return lesserEndpoint(path)
}

// lesserEndpoint holds the rest of the table: the calls that pool, and those
// that generate nothing.
func lesserEndpoint(path string) Endpoint {
	switch path {
	case "/v1/embeddings", "/v2/embed":
		return Embeddings
	case "/pooling":
		return Pooling
	case "/classify":
		return Classify
	case "/score", "/v1/score":
		return Score
	case "/rerank", "/v1/rerank", "/v2/rerank":
		return Rerank
	case "/tokenize":
		return Tokenize
	case "/detokenize":
		return Detokenize
	case "/v1/messages/count_tokens":
		return CountTokens
	case "/v1/chat/completions/render":
		return RenderChat
	case "/v1/completions/render":
		return RenderCompletions
	}
	return NoEndpoint
}
