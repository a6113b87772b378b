package tokens

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/gateway/tokens/tokenstest"
)

func TestLoad(t *testing.T) {
	tok, err := Load(tokenstest.Small().File(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Count([]byte("the hen")); got < 1 || got > 7 {
		t.Errorf("the hen: %d tokens", got)
	}
}

// TestLoadOldMerges reads merges that are written as one string.
func TestLoadOldMerges(t *testing.T) {
	file := string(tokenstest.Small().JSON())
	before, rest, _ := strings.Cut(file, `"merges":[`)
	merges, after, _ := strings.Cut(rest, "]]")
	old := strings.NewReplacer(`["`, `"`, `","`, ` `, `"]`, `"`).Replace(merges + "]")
	tok, err := read(strings.NewReader(before+`"merges":[`+old+"]"+after), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if got, want := tok.Count([]byte(text)), small(t).Count([]byte(text)); got != want {
			t.Errorf("%.40q: got %d, want %d", text, got, want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	good := string(tokenstest.Small().JSON())
	f := func(old, new, want string) {
		t.Helper()
		file := strings.Replace(good, old, new, 1)
		if file == good {
			t.Fatalf("%s isn't in the file", old)
		}
		path := filepath.Join(t.TempDir(), "t.json")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s for %s: got %v, want an error with the path and %q", new, old, err, want)
		}
	}
	f(good, "", "unexpected EOF")
	f(good, "[]", "the file begins with [, not with {")
	f(good, good[:len(good)/2], "unexpected EOF")
	f(good, good+"{}", "something follows")
	f(good, "{}", "/model/vocab or /model/merges is missing")
	f(good, "\xff", "invalid")
	f(`"type":"BPE"`, `"type":"Unigram"`, `/model/type is "Unigram", not "BPE"`)
	f(`"byte_fallback":true`, `"byte_fallback":false`, "/model/byte_fallback is false")
	f(`"ignore_merges":false`, `"ignore_merges":true`, "/model/ignore_merges is true")
	f(`"dropout":null`, `"dropout":0.1`, "/model/dropout is 0.1")
	f(`"normalized":false`, `"normalized":true`, `"<pad>" has single_word, lstrip, rstrip or normalized set`)
	f(`"type":"Replace"`, `"type":"NFKC"`, `/normalizer of type "NFKC" is not understood`)
	f(`"content":"▁"`, `"content":"ab"`, `/normalizer`)
	f(`"content":"▁"`, `"content":"☃"`, `/normalizer doesn't replace spaces by a piece of the vocabulary`)
	f(`"type":"Split"`, `"type":"Metaspace"`, `/pre_tokenizer of type "Metaspace" is not understood`)
	f(`"<0x0A>":`, `"<0x0a>":`, "lacks <0x0A>")
	f(`"content":"<bos>"`, `"content":"<s>"`, "/added_tokens lacks <bos>")
	f(`"a":`, `"no a":`, "pieces that are not all in the vocabulary")
	f(`"<0x41>":`, `"<0x41>":"x","y":`, "/model/vocab/<0x41> is no number")
	f(`"<0x41>":`, `"<0x41>":99999999,"y":`, "/model/vocab/<0x41> is 99999999, understood are")
	f(`"merges":[`, `"merges":["a",`, "is not two pieces")
	f(`"merges":[`, `"merges":[["a"],`, "/model/merges/0 is a list of 1 pieces, not of 2")
	f(`"merges":[`, `"merges":[7,`, "/model/merges/0 begins with number")
	f(`"merges":[["▁","▁▁▁▁▁▁▁"],`, `"merges":[["▁","▁▁▁▁▁▁▁"],["▁","▁▁▁▁▁▁▁"],`, "there twice")
	if _, err := Load(filepath.Join(t.TempDir(), "none.json")); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("no file: got %v", err)
	}
}

// FuzzLoad must end with a tokenizer or an error.
func FuzzLoad(f *testing.F) {
	small := tokenstest.Spec{Added: []string{"<bos>", "<start_of_turn>", "<end_of_turn>"}, Chars: "▁ab", Merges: [][2]string{{"a", "b"}}}
	f.Add(string(small.JSON()))
	f.Add(`{"model":{"vocab":{"a":1},"merges":[["a","a"]]}}`)
	f.Fuzz(func(t *testing.T, file string) {
		if tok, err := read(strings.NewReader(file), 0); err == nil {
			tok.Count([]byte("ab <bos>\n" + file))
		}
	})
}
