package openai

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"io"
	"strings"
	"testing"
)

// chatBody is a chat request of about so many bytes: turns of prose, code and
// other scripts, with the escapes that they bring.
func chatBody(size int) []byte {
	turns := []string{
		`How do I read a file line by line in Go, and what happens with very long lines?\nPlease show an example.`,
		"Use a scanner:\\n\\n```go\\nfor s.Scan() {\\n\\tfmt.Println(\\\"line:\\\", s.Text(), 42)\\n}\\n```\\n\\nIt stops at lines of 64 KiB, unless you give it a larger buffer.",
		`Und wie verhält sich das bei einer Größe von 10 MB? Ich möchte nichts verlieren, außer der letzten Zeile.`,
		`The same holds: set the buffer first. Каждая строка читается целиком; 一行太长会报错。`,
	}
	var b strings.Builder
	b.WriteString(`{"model":"gemma-3","messages":[{"role":"system","content":"You are a helpful assistant."}`)
	for i := 0; b.Len() < size-120; i++ {
		role := [...]string{"user", "assistant"}[i%2]
		fmt.Fprintf(&b, `,{"role":%q,"content":"%s"}`, role, turns[i%len(turns)])
	}
	b.WriteString(`],"stream":true,"max_tokens":256,"temperature":0.7,"top_p":0.95,"user":"u-123"}`)
	return []byte(b.String())
}

// imageBody is a chat request with one picture of about so many bytes.
func imageBody(size int) []byte {
	return []byte(`{"model":"gemma-3","messages":[{"role":"user","content":[{"type":"text","text":"What is this?"},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat("iVBORw0KGgoAAAANSUhE/+19", size/24) + `"}}]}]}`)
}

var benchBodies = []struct {
	name string
	body []byte
}{
	{"chat2KB", chatBody(2 << 10)}, {"chat16KB", chatBody(16 << 10)}, {"chat512KB", chatBody(512 << 10)}, {"image8MB", imageBody(8 << 20)},
}

func BenchmarkInspect(b *testing.B) {
	for _, c := range benchBodies {
		b.Run(c.name, func(b *testing.B) {
			estimator := NewEstimator()
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				f, err := Inspect(Chat, c.body, 200)
				if err != nil || estimator.Estimate(f).Total == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTokenWalk is what Inspect is measured by: the standard library's
// walk over the same body, without looking at anything.
func BenchmarkTokenWalk(b *testing.B) {
	for _, c := range benchBodies {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := tokenWalk(c.body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func tokenWalk(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	for {
		if _, err := d.ReadToken(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func BenchmarkSplice(b *testing.B) {
	for _, c := range benchBodies {
		b.Run(c.name, func(b *testing.B) {
			f, err := Inspect(Chat, c.body, 200)
			if err != nil {
				b.Fatal(err)
			}
			var parts [][]byte
			b.ReportAllocs()
			for b.Loop() {
				parts = f.Splice(parts[:0], c.body, Edit{Model: "google/gemma-3-27b-it", AskUsage: true})
			}
		})
	}
}
