package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// testCase is a text, or a conversation.
type testCase struct {
	Kind     string          `json:"kind"`
	Text     string          `json:"text,omitempty"`
	Messages json.RawMessage `json:"messages,omitempty"`
}

// The texts: those that the estimator is tested with, and ours.
var folders = []string{"gateway/openai/testdata/tokens", "gateway/tokens/testdata"}

func writeCases(path string) error {
	sources, err := readTexts()
	if err != nil {
		return err
	}
	var all []testCase
	for _, s := range sources {
		all = append(all, s)
		for line := range strings.Lines(s.Text) {
			all = append(all, testCase{Kind: s.Kind, Text: line})
		}
	}
	all = append(all, fragmentPairs()...)
	all = append(all, codePoints()...)
	all = append(all, random(sources)...)
	all = append(all, chats(sources)...)
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	for _, c := range all {
		if err := enc.Encode(c); err != nil {
			return err
		}
	}
	return errJoin(w.Flush(), f.Close())
}

func errJoin(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func readTexts() (texts []testCase, err error) {
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "*.txt"))
		if err != nil || len(names) == 0 {
			return nil, fmt.Errorf("no texts in %s; run from the top of the repository", folder)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			texts = append(texts, testCase{Kind: strings.TrimSuffix(filepath.Base(name), ".txt"), Text: string(text)})
		}
	}
	return texts, nil
}

// fragments are what tokenizers stumble over.
var fragments = []string{
	" ", "  ", strings.Repeat(" ", 31), strings.Repeat(" ", 40), "\n", "\n\n\n", strings.Repeat("\n", 33), "\t", "\t\t\t", "\r\n", "\x00", "\x7f", "\u00a0", "\u200b", "\ufeff",
	"a", "Hello", "hello", "HELLO", "naïve", "don't", "1", "2024", "3.14159", "0x7f", "-", "--", strings.Repeat("-", 17), "...", "…", ">", "> </", "</", "</b>", "<b>", "<table>", "<tab",
	"<bos>", "<eos>", "<pad>", "<unk>", "<start_of_turn>", "<end_of_turn>", "<start_of_turn", "<start_of_image>", "<unused17>", "<unused9999>", "[multimodal]", "[@BOS@]", "<0x0A>", "▁", "▁▁", "▁▁▁",
	"中文", "日本語の", "한국어", "Привет", "مرحبا", "שלום", "नमस्ते", "สวัสดี", "Γειά", "é", "e\u0301", "ß", "ﬁ", "Ａ", "😀", "👩‍👩‍👧", "🇩🇪", "👍🏽", "𝔘", "𠀀", "\U0010ffff", "\ufffd",
	`{"a":[1,2]}`, "https://example.org/a?b=c&d=%20", "aGVsbG8gd29ybGQ=", "//", "/*", "*/", "::", "->", "=>", "!=", "()", "[]", "{}", "\\n", "\"", "'", "`", "```", "$", "€",
}

// fragmentPairs puts each fragment before and behind each other.
func fragmentPairs() (all []testCase) {
	for _, a := range fragments {
		for _, b := range fragments {
			all = append(all, testCase{Kind: "pairs of fragments", Text: a + b})
		}
		all = append(all, testCase{Kind: "fragments between words", Text: "the" + a + "end " + a + " 9" + a})
		all = append(all, testCase{Kind: "fragments repeated", Text: strings.Repeat(a, 50)})
	}
	return all
}

// codePoints walks over Unicode: a text for each 64 code points.
func codePoints() (all []testCase) {
	for from := rune(0); from < 0x20000; from += 64 {
		if 0xd800 <= from && from < 0xe000 {
			continue // surrogates are no characters
		}
		var b strings.Builder
		for r := from; r < from+64; r++ {
			b.WriteRune(r)
		}
		all = append(all, testCase{Kind: "code points in order", Text: b.String()})
	}
	return all
}

// random makes the same texts each time: of slices of the sources, of fragments, and
// of characters.
func random(sources []testCase) (all []testCase) {
	r := rand.New(rand.NewPCG(3, 14))
	for range 600 {
		var b strings.Builder
		for range 1 + r.IntN(8) {
			switch r.IntN(4) {
			case 0:
				b.WriteString(fragments[r.IntN(len(fragments))])
			case 1:
				for range r.IntN(20) {
					b.WriteByte(byte(' ' + r.IntN(95)))
				}
			case 2:
				for range r.IntN(60) {
					b.WriteByte("abcdefghijklmnopqrstuvwxyz"[r.IntN(26)])
				}
			default:
				b.WriteString(slice(r, sources[r.IntN(len(sources))].Text))
			}
		}
		all = append(all, testCase{Kind: "random mixtures", Text: b.String()})
	}
	return all
}

// slice is up to 200 characters from somewhere in the text.
func slice(r *rand.Rand, text string) string {
	chars := []rune(text)
	from := r.IntN(len(chars))
	return string(chars[from:min(from+r.IntN(200), len(chars))])
}

// chats makes conversations of one to six messages. What a content begins and ends
// with are white spaces that Python and JavaScript agree on.
func chats(sources []testCase) (all []testCase) {
	r := rand.New(rand.NewPCG(2, 71))
	edges := []string{"", " ", "\n", "\n\n", "\t", "\u00a0", "\u3000", "\r\n", "  \n"}
	said := func() any {
		edge := func() string { return edges[r.IntN(len(edges))] }
		text := func() string {
			return edge() + strings.TrimSpace(slice(r, sources[r.IntN(len(sources))].Text)) + fragments[16+r.IntN(len(fragments)-16)] + edge()
		}
		switch r.IntN(5) {
		case 0:
			return ""
		case 1:
			return []any{part(text()), part(text())}
		}
		return text()
	}
	for n := range 400 {
		var messages []any
		if n%3 == 0 {
			messages = append(messages, map[string]any{"role": "system", "content": said()})
		}
		for i := range 1 + r.IntN(6) {
			role := "user"
			if i%2 == 1 {
				role = "assistant"
			}
			messages = append(messages, map[string]any{"role": role, "content": said()})
		}
		raw, err := json.Marshal(messages)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		all = append(all, testCase{Kind: "whole chats", Messages: raw})
	}
	return append(all, testCase{Kind: "whole chats", Messages: json.RawMessage(`[{"role":"user","content":"a"},{"role":"user","content":"b"}]`)},
		testCase{Kind: "whole chats", Messages: json.RawMessage(`[{"role":"assistant","content":"a"}]`)},
		testCase{Kind: "whole chats", Messages: json.RawMessage(`[{"role":"user","content":"a"},{"role":"tool","content":"b"}]`)})
}

func part(text string) any { return map[string]string{"type": "text", "text": text} }
