package openai

// Doubt is what an answer that ended in good order says against itself.
type Doubt uint8

const (
	// NoDoubt: nothing, as far as can be told.
	NoDoubt Doubt = iota
	// NothingSaid: it holds nothing that a model said, and no token was counted.
	// A model that ends at once has said a token, the one that ends.
	NothingSaid
	// UsageContradicts: the tokens counted can't be those of the answer.
	UsageContradicts
)

// Doubt judges an answer by itself that is complete. said is how many of its events
// bear tokens, or 1 for an answer that isn't streamed and bears any; u is what the
// replica counted, if that is known. Only what no vLLM does is doubted:
//
//   - It counts each token that its engine makes, the one that ends a sequence too,
//     whether or not the client sees it (stop strings, reasoning that is hidden).
//   - It makes no more tokens than the request's bound, for each sequence. Tools
//     that Responses calls by itself have turns of their own, so there it may.
//   - It sends at most one event for each output of a chat's or a completion's
//     sequence, with a token at least in it. Tools are left out: their parsers may
//     split what they held back.
//
// A text that echoes its prompt says nothing about what was generated.
func (f *Facts) Doubt(said int, u Usage, known bool) Doubt {
	switch {
	case !f.speaks() || f.Echo || f.OutBound == 0:
		return NoDoubt
	case said == 0 && u.CompletionTokens == 0:
		return NothingSaid
	case !known:
		return NoDoubt
	case u.CompletionTokens == 0, u.CompletionTokens > f.mostTokens(), u.CompletionTokens < f.leastTokens(said):
		return UsageContradicts
	}
	return NoDoubt
}

// speaks tells whether an answer has text, or something in place of it.
func (f *Facts) speaks() bool {
	switch f.Endpoint {
	case Chat, Completions, Responses, Messages:
		return true
	}
	return false
}

// mostTokens is how many the answer may surely have.
func (f *Facts) mostTokens() int {
	if f.OutBound < 0 || f.boundGuessed || f.Endpoint == Responses {
		return countLimit
	}
	return min(f.OutBound, countLimit/f.Sequences) * f.Sequences
}

// leastTokens is how many an answer with so many events surely has.
func (f *Facts) leastTokens(said int) int {
	if f.Endpoint != Chat && f.Endpoint != Completions || f.Tools > 0 {
		return min(said, 1)
	}
	return said
}
