package main

import (
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

// read is what came of a stream of chat.
type read struct {
	chunks       []openai.ChatCompletionChunk
	text         string
	first, whole time.Duration
	err          error
}

func readAll(s *ssestream.Stream[openai.ChatCompletionChunk], start time.Time) read {
	defer s.Close()
	var r read
	for s.Next() {
		chunk := s.Current()
		r.chunks = append(r.chunks, chunk)
		if len(chunk.Choices) > 0 {
			r.text += chunk.Choices[0].Delta.Content
		}
		if r.first == 0 && r.text != "" {
			r.first = time.Since(start)
		}
	}
	r.whole, r.err = time.Since(start), s.Err()
	return r
}
