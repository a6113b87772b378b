// Package tokenstest makes small tokenizers in the form of Gemma 3's, for tests: the
// real file is the model's, 33 MB, and not ours to keep here.
package tokenstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Spec is a tokenizer: pieces get their numbers in the order in which they stand.
type Spec struct {
	Added  []string    // tokens taken out of the text first
	Chars  string      // characters that have a piece; others become bytes
	Merges [][2]string // the first with the lowest rank
}

// sample is what the merges of Small are learned from.
const sample = `The quick brown fox jumps over the lazy dog, and the dog thinks: "that's the third time this week".
In the end the hen then went to the tent. aaaa aaaaaaaa ---- ======== abcabcabc. für über Öl, naïve café. 你好，世界。你好你好
if (x == 10) { return "<b>" + name + "</b>"; }  // the thing and the other thing        end`

// Small has what makes Gemma's tokenizer odd: runs of spaces whose longest merge has
// the lowest rank, a piece across a space, characters without a piece, and runs of
// newlines among the added tokens. The rest is learned from a paragraph.
func Small() Spec {
	s := Spec{
		Added: []string{"<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>", "<b>", "</b>", "▁▁"},
		Chars: "▁éüÖï你好世界，。“”" + ascii("~^QZ\r\x00"),
	}
	for n := range 6 {
		s.Added = append(s.Added, strings.Repeat("\n", n+1))
	}
	for n := 7; n > 0; n-- {
		for left := 1; left <= n; left++ {
			s.Merges = append(s.Merges, [2]string{strings.Repeat("▁", left), strings.Repeat("▁", n+1-left)})
		}
	}
	s.Merges = append(s.Merges, [][2]string{{"<", "/"}, {"▁", "</"}, {">", "▁</"}}...)
	s.learn(sample, 160)
	return s
}

func ascii(without string) string {
	var b strings.Builder
	for r := rune('\t'); r < 0x7f; r++ {
		if r == '\t' || r > ' ' && !strings.ContainsRune(without, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// learn adds the n merges that shorten the text most, one after the other.
func (s *Spec) learn(text string, n int) {
	pieces := strings.Split(strings.ReplaceAll(text, " ", "▁"), "")
	for range n {
		best, most := [2]string{}, 1
		seen := map[[2]string]int{}
		for i := range len(pieces) - 1 {
			pair := [2]string{pieces[i], pieces[i+1]}
			if s.mergeable(pair) {
				seen[pair]++
			}
			if seen[pair] > most {
				best, most = pair, seen[pair]
			}
		}
		if most == 1 {
			return
		}
		s.Merges = append(s.Merges, best)
		for i := 0; i+1 < len(pieces); i++ {
			if pieces[i] == best[0] && pieces[i+1] == best[1] {
				pieces[i] += pieces[i+1]
				pieces = slices.Delete(pieces, i+1, i+2)
			}
		}
	}
}

// mergeable says which merges Gemma might have: none of what has no piece, or goes
// on behind a space.
func (s *Spec) mergeable(pair [2]string) bool {
	for _, r := range pair[0] + pair[1] {
		if !strings.ContainsRune(s.Chars, r) {
			return false
		}
	}
	return !strings.Contains(pair[1], "▁") && !slices.Contains(s.Merges, pair)
}

// Vocab is the pieces and their numbers.
func (s Spec) Vocab() map[string]int32 {
	vocab := map[string]int32{}
	add := func(piece string) {
		if _, have := vocab[piece]; !have {
			vocab[piece] = int32(len(vocab))
		}
	}
	for _, token := range s.Added {
		add(token)
	}
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b))
	}
	for _, r := range s.Chars {
		add(string(r))
	}
	for _, m := range s.Merges {
		add(m[0] + m[1])
	}
	return vocab
}

// JSON is the tokenizer.json.
func (s Spec) JSON() []byte {
	vocab := s.Vocab()
	var added []map[string]any
	for _, token := range s.Added {
		added = append(added, map[string]any{"id": vocab[token], "content": token, "special": token[0] == '<',
			"single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
	}
	space := map[string]string{"String": " "}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added,
		"normalizer":    map[string]any{"type": "Replace", "pattern": space, "content": "▁"},
		"pre_tokenizer": map[string]any{"type": "Split", "pattern": space, "behavior": "MergedWithPrevious", "invert": false},
		"model": struct {
			Type         string           `json:"type"`
			Dropout      *float64         `json:"dropout"`
			ByteFallback bool             `json:"byte_fallback"`
			IgnoreMerges bool             `json:"ignore_merges"`
			Vocab        map[string]int32 `json:"vocab"`
			Merges       [][2]string      `json:"merges"`
		}{"BPE", nil, true, false, vocab, s.Merges},
	})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return out.Bytes()
}

// File writes the tokenizer into a folder of the test's and gives its path.
func (s Spec) File(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, s.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
