// Package vllmsim is a simulated vLLM replica on TPU: vLLM's HTTP surface over a
// continuous-batching engine that costs time instead of a chip.
//
// It is written on net/http on purpose. The gateway isn't, so a framing bug of
// the one meets the other's parser.
//
// How a request goes. The handler reads and checks the body ([Server.Handler],
// one file per endpoint), plans the answer from a hash of the prompt, and hands
// its sequences to the engine. A stream's status and header go out at once, long
// before prefill, as vLLM sends them; the first event follows when the prompt
// has been computed. From then on the handler writes what the engine has made
// whenever it is woken, so a slow reader gets several tokens in a chunk. When
// the client leaves, its sequences are dropped at the next step.
//
// The engine is router/tpu's, which says what it does in a step; this package
// only keeps it in step with real time, Options.Speed times as fast as
// modelled, and tells handlers what it did. Unless
// Options.MaxNumQueuedReqs bounds it, what doesn't fit waits, however much it is,
// which is why a gateway must not send more than fits.
//
// Options.Release chooses between two generations of vLLM, which answer errors and
// name metrics differently. The shapes write what the newer one says; release.go
// turns that into what the older one said.
//
// With Options.Published there is no engine: requests take as long, fail early
// and get lost as often as a published table implies for as many users.
//
// The durations are a roofline model with assumed efficiencies, not
// measurements of a TPU. Prompt tokens are counted as a quarter of the bytes plus
// the chat template's own; token-id prompts exactly. Prompts that begin alike
// share the pages of the prefix cache; answers aren't found there, because their
// words are other tokens when a client sends them back. Answers are words that
// mean nothing, unless the request wants a form: a choice, a regular expression
// (pattern.go) or a JSON schema (schema.go) is satisfied by a text that pen.go
// writes, and tools are called with arguments of their schema (tools.go). Where
// the model may choose, it calls a tool when the user names one or says "tool",
// else in one answer of four, and never right after a tool has answered. All of
// it follows from the prompt's hash. Grammars (EBNF, Lark) and structural tags
// are refused with 400.
package vllmsim
