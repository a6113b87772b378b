// Package vllmsim is a simulated vLLM replica on TPU: vLLM's HTTP surface over a
// continuous-batching engine that costs time instead of a chip.
//
// It is written on net/http on purpose. The gateway isn't, so a framing bug of
// the one meets the other's parser.
//
// How a request goes. Its endpoint's file reads the body into a work (work.go);
// chat, completions, responses, messages and embeddings each have one. The answer
// of each sequence is planned from a hash of the prompt (plan.go), and the
// sequences are handed to the engine as a job (sequence.go, engine.go). A
// stream's status and header go out at once, long before prefill, as vLLM sends
// them; the first event follows when the prompt has been computed. From then on
// the handler (generate.go, reply.go) writes what the engine has made whenever it
// is woken, in the shape of its endpoint, so a slow reader gets several tokens in
// a chunk. When the client leaves, its sequences are dropped at the next step.
//
// The engine is router/tpu's, which says what it does in a step; this package
// only keeps it in step with real time, Options.Speed times as fast as modelled,
// and tells handlers what it did (observe.go). Unless Options.MaxNumQueuedReqs
// bounds it, what doesn't fit waits, however much it is, which is why a gateway
// must not send more than fits. The durations are a roofline model with assumed
// efficiencies, not measurements of a TPU. With Options.Published there is no
// engine: requests take as long, fail early and get lost as often as a published
// table implies for as many users (published.go, published_table.go).
//
// What is said. Prompt tokens are counted as a quarter of the bytes plus the chat
// template's own (turns.go, prompt.go, tokens.go); token-id prompts exactly.
// Prompts that begin alike share the pages of the prefix cache; answers aren't
// found there, because their words are other tokens when a client sends them
// back; a begun answer that is to be gone on with is known again (begun.go). Answers are words that mean nothing, unless the request wants a form: a
// choice, a regular expression or a JSON schema (structured.go) is satisfied by a
// text that package form writes. Tools are called with arguments of their schema
// (tools.go; calls.go and an endpoint's own file write the calls). Where the
// model may choose, it calls a tool when the user names one or says "tool", else
// in one answer of four, and never right after a tool has answered. All of it
// follows from the prompt's hash. Grammars (EBNF, Lark) and structural tags are
// refused with 400.
//
// What goes wrong is asked for: [Server.Inject], a line to /sim/faults, or one
// request's header X-Sim-Fault (fault.go, inject.go). A fault hits the replica as
// a whole, or one request when its answer has come so far: then the reply shows
// no more, and strike.go spoils the rest. life.go has what befalls the process:
// warm-up, a dead engine, a crash, the end; door.go the port that refuses.
//
// Options.Release chooses between two generations of vLLM, which answer errors and
// name metrics differently. The shapes and failure.go write what the newer one
// says; release.go turns that into what the older one said.
//
// /metrics is vLLM's, to the label: metric_rows.go is the table of its own series,
// metric_http.go counts requests as vLLM's web framework does, metric_text.go
// writes both. Package conformance checks all that is visible here, and the real
// vLLM, with one suite; docs/conformance.md lists what differs.
package vllmsim
