package openai

// Usage is what a replica counted, in tokens. CachedTokens is the part of
// PromptTokens that a prefix cache held; 0 where the replica doesn't say.
type Usage struct {
	PromptTokens     int
	CompletionTokens int
	CachedTokens     int
}
