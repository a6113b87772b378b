package tokens

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"sluice/gateway/tokens/tokenstest"
)

func small(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := read(bytes.NewReader(tokenstest.Small().JSON()), 0)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// reference does what doc.go says, and nothing to be fast: it looks for added
// tokens, and then merges all that is between them at once.
type reference struct {
	vocab  map[string]int32
	added  []string
	merges map[[2]string]int
}

func newReference(s tokenstest.Spec) *reference {
	ref := &reference{vocab: s.Vocab(), added: slices.Clone(s.Added), merges: map[[2]string]int{}}
	slices.SortFunc(ref.added, func(a, b string) int { return len(b) - len(a) })
	for rank, m := range s.Merges {
		ref.merges[m] = rank
	}
	return ref
}

func (ref *reference) encode(text string) (ids []int32) {
	for text != "" {
		between, token := len(text), ""
		for i := range text {
			at := slices.IndexFunc(ref.added, func(a string) bool { return strings.HasPrefix(text[i:], a) })
			if at >= 0 {
				between, token = i, ref.added[at]
				break
			}
		}
		ids = append(ids, ref.merge(strings.ReplaceAll(text[:between], " ", "▁"))...)
		if token != "" {
			ids = append(ids, ref.vocab[token])
		}
		text = text[between+len(token):]
	}
	return ids
}

func (ref *reference) merge(text string) (ids []int32) {
	var pieces []string
	for _, char := range strings.Split(text, "") {
		if _, ok := ref.vocab[char]; ok {
			pieces = append(pieces, char)
			continue
		}
		for _, b := range []byte(char) {
			pieces = append(pieces, byteName(b))
		}
	}
	for {
		at, lowest := -1, len(ref.merges)
		for i := range max(len(pieces)-1, 0) {
			if rank, ok := ref.merges[[2]string{pieces[i], pieces[i+1]}]; ok && rank < lowest {
				at, lowest = i, rank
			}
		}
		if at < 0 {
			break
		}
		pieces[at] += pieces[at+1]
		pieces = slices.Delete(pieces, at+1, at+2)
	}
	for _, p := range pieces {
		ids = append(ids, ref.vocab[p])
	}
	return ids
}

func byteName(b byte) string {
	const hex = "0123456789ABCDEF"
	return "<0x" + string(hex[b>>4]) + string(hex[b&15]) + ">"
}

var texts = []string{
	"", " ", "a", "The quick brown fox", "the  the   the                    end", "aaaaaaaaaaaaaaaaa", strings.Repeat("aa ", 30), strings.Repeat("a", 300),
	strings.Repeat("abcabc", 60), strings.Repeat("-=", 200), "\n\n\n\n\n\n\n\n\n", "a\n\nb\n", "> </b> > </x", "x> </y>", "> <", ">  </",
	"<b>bold</b>", "<start_of_turn>user\nhi<end_of_turn>\n", "<bos", "<b", "</", "▁▁▁", "a▁b", " ▁ ", "Quiz ~^Z", "\r\n\x00", "你好你好世界", "👩‍👩‍👧 é é",
	"\t\tif (x == 10) {", "für Öl", "\ufffd", "𝔘𝔫𝔦", "thethethe then", strings.Repeat("then the hen ", 40), strings.Repeat(" ", 200),
}

func TestEncode(t *testing.T) {
	tok, ref := small(t), newReference(tokenstest.Small())
	for _, text := range texts {
		want := ref.encode(text)
		if got := tok.Encode(nil, []byte(text)); !slices.Equal(got, want) {
			t.Errorf("%.60q: got %v, want %v", text, got, want)
		}
		for range 2 { // the second time from memory
			if got := tok.Count([]byte(text)); got != len(want) {
				t.Errorf("%.60q: counted %d, want %d", text, got, len(want))
			}
		}
	}
}

// TestEncodeIsAdditive shows that Encode appends.
func TestEncodeIsAdditive(t *testing.T) {
	tok := small(t)
	ids := tok.Encode([]int32{7}, []byte("the hen"))
	if len(ids) < 2 || ids[0] != 7 {
		t.Errorf("got %v", ids)
	}
}

// FuzzEncode compares with the reference, and cuts the text in two: at a space the
// counts add up, unless a piece reaches across.
func FuzzEncode(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	tok, ref := small(f), newReference(tokenstest.Small())
	f.Fuzz(func(t *testing.T, text string) {
		n := tok.Count([]byte(text))
		if n > len(text) || n < 0 {
			t.Fatalf("%q: %d tokens of %d bytes", text, n, len(text))
		}
		if quick, ok := tok.CountQuickly([]byte(text)); ok && quick != n {
			t.Fatalf("%q: quickly %d, else %d", text, quick, n)
		}
		if at := strings.Index(text, " "); at > 0 && !strings.ContainsAny(text[at-1:at], "> ") && !strings.HasSuffix(text[:at], "▁") {
			if sum := tok.Count([]byte(text[:at])) + tok.Count([]byte(text[at:])); sum != n {
				t.Fatalf("%q: %d before and from the space on, %d together", text, sum, n)
			}
		}
		if !utf8.ValidString(text) || len(text) > 500 {
			return // the reference knows text alone, and is slow
		}
		want := ref.encode(text)
		if got := tok.Encode(nil, []byte(text)); !slices.Equal(got, want) || n != len(want) {
			t.Fatalf("%q: got %v, counted %d, want %v", text, got, n, want)
		}
	})
}

func TestCountQuickly(t *testing.T) {
	tok := small(t)
	f := func(text string, want bool) {
		t.Helper()
		if n, quick := tok.CountQuickly([]byte(text)); quick != want || quick && n != tok.Count([]byte(text)) {
			t.Errorf("%.40q: got %d, %v; want %v", text, n, quick, want)
		}
	}
	f("", true)
	f(strings.Repeat("the hen ", 10_000), true)
	f("the\n"+strings.Repeat("a", longestQuick), true)
	f("the\n"+strings.Repeat("a", longestQuick+1), false)
}

// TestInvalidUTF8 shows that each byte that is no character is a token.
func TestInvalidUTF8(t *testing.T) {
	tok := small(t)
	if got := tok.Count([]byte("\xff\xfe\x80\xe4\xbd")); got != 5 {
		t.Errorf("got %d tokens, want 5", got)
	}
}

// TestCountConcurrently is for the race detector: the words are shared.
func TestCountConcurrently(t *testing.T) {
	tok := small(t)
	text := []byte(strings.Join(texts, " "))
	want := len(tok.Encode(nil, text)) // remembers nothing
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if got := tok.Count(text); got != want {
					t.Errorf("got %d, want %d", got, want)
				}
			}
		})
	}
	wg.Wait()
}
