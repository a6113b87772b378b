package openai

import (
	"bytes"
	"testing"
)

// BenchmarkWalk measures one event of a stream as vLLM sends it, 120 to 240 bytes,
// in the middle of a stream: events of its shape have gone before.
func BenchmarkWalk(b *testing.B) {
	f := func(name string, e Endpoint, file string, at int) {
		event := bytes.SplitAfter(golden(b, file), []byte("\n\n"))[at]
		b.Run(name, func(b *testing.B) {
			w := NewWalker(e, 1, true)
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				if w.Next(event).Raw == nil {
					b.Fatal("not a whole event")
				}
			}
		})
	}
	f("chat", Chat, "chat", 1)
	f("chat_finish", Chat, "chat", 3)
	f("chat_usage", Chat, "chat", 4)
	f("completions", Completions, "completions", 1)
	f("responses", Responses, "responses", 4)
	f("messages", Messages, "messages", 3)
}
