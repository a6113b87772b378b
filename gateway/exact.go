package gateway

import (
	"fmt"
	"os"

	"sluice/config"
	"sluice/gateway/openai"
	"sluice/gateway/tokens"
)

// exactBytes is the largest body whose prompts are counted exactly. Counting costs
// 40 to 80 µs for each KiB where words are new (docs/tokens.md), so this keeps it
// below 1 ms.
const exactBytes = 12 << 10

// count is how many tokens the request's prompts have: counted where the model's
// tokenizer is at hand and it is quickly done, estimated elsewhere.
func (x *exchange) count() openai.Count {
	if x.model.tokenizer != nil && len(x.body.bytes) <= exactBytes && x.endpoint.Generates() {
		if c, ok := counted(x.model.tokenizer, x.facts, x.body.bytes); ok {
			return c
		}
	}
	return x.model.estimator.Estimate(x.facts)
}

// counted counts prompts that are text alone. It gives up at a text that would take
// long, and at a conversation that the chat template refuses.
func counted(t *tokens.Tokenizer, facts *openai.Facts, body []byte) (openai.Count, bool) {
	said, ok := facts.Said(body)
	if !ok {
		return openai.Count{}, false
	}
	if said.Chat {
		return countedChat(t, facts, &said)
	}
	total, longest := 0, 0
	for _, prompt := range said.Prompts {
		n, quick := t.CountQuickly(prompt)
		if !quick {
			return openai.Count{}, false
		}
		total += n + beforePrompt
		longest = max(longest, n+beforePrompt)
	}
	return facts.CountedExactly(total, longest), true
}

// beforePrompt is the <bos> before each prompt that is no conversation.
const beforePrompt = 1

func countedChat(t *tokens.Tokenizer, facts *openai.Facts, said *openai.Said) (openai.Count, bool) {
	chat := tokens.Chat{System: said.System, HasSystem: said.HasSystem, Turns: make([]tokens.Turn, len(said.Turns))}
	for i, turn := range said.Turns {
		chat.Turns[i] = tokens.Turn{Role: turn.Role, Parts: turn.Texts}
	}
	if !chat.Alternates() {
		return openai.Count{}, false
	}
	n, quick := t.CountQuickly(tokens.AppendChat(nil, &chat))
	if !quick {
		return openai.Count{}, false
	}
	return facts.CountedExactly(n, n), true
}

// tokenizers holds those that the policy in force uses, by their files. One that
// hasn't changed outlives a reload.
type tokenizers map[string]loadedTokenizer

type loadedTokenizer struct {
	*tokens.Tokenizer
	info os.FileInfo // of the file when it was read
}

// of gives the tokenizers that the pools name, of which those that have changed are
// read. The error names the pool's setting.
func (old tokenizers) of(cfg *config.Config) (tokenizers, error) {
	fresh := make(tokenizers)
	for name, pool := range cfg.Pools {
		if _, have := fresh[pool.Tokenizer]; have || pool.Tokenizer == "" {
			continue
		}
		loaded, err := old.load(pool.Tokenizer)
		if err != nil {
			return nil, fmt.Errorf("pools.%s.tokenizer: %w", name, err)
		}
		fresh[pool.Tokenizer] = loaded
	}
	return fresh, nil
}

func (old tokenizers) load(path string) (loadedTokenizer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return loadedTokenizer{}, err
	}
	if had, ok := old[path]; ok && os.SameFile(had.info, info) && had.info.Size() == info.Size() && had.info.ModTime().Equal(info.ModTime()) {
		return had, nil
	}
	t, err := tokens.Load(path)
	return loadedTokenizer{t, info}, err
}
