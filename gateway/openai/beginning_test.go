package openai

import (
	"fmt"
	"strings"
	"testing"
)

func beginnings(t testing.TB, e Endpoint, body string) (hashes [4]uint64, length int) {
	t.Helper()
	f, err := Inspect(e, []byte(body), 20)
	if err != nil {
		t.Fatal(err)
	}
	length = f.Beginnings([]byte(body), 64, hashes[:])
	return hashes, length
}

func TestBeginnings(t *testing.T) {
	talk := func(turns int, more string) string {
		var b strings.Builder
		for i := range turns {
			fmt.Fprintf(&b, `{"role":"user","content":"turn %d of a long conversation"},`, i)
		}
		return `{"model":"m",` + more + `"messages":[` + strings.TrimSuffix(b.String(), ",") + `]}`
	}
	short, length := beginnings(t, Chat, talk(3, ""))
	long, _ := beginnings(t, Chat, talk(9, `"temperature":0.5,`))
	if short[0] == 0 || short[0] != long[0] || short[1] != long[1] || length < 150 {
		t.Errorf("a conversation that went on begins with other hashes: %x and %x (%d bytes)", short, long, length)
	}
	if short[2] != 0 || long[2] == 0 || long[3] == 0 {
		t.Errorf("not only what is long enough has hashes: %x and %x", short, long)
	}
	if tools, _ := beginnings(t, Chat, talk(3, `"tools":[{"type":"function"}],`)); tools[0] == short[0] {
		t.Error("other tools, and the same beginning")
	}
	if system, _ := beginnings(t, Messages, talk(3, `"max_tokens":9,"system":"be brief",`)); system[0] == short[0] {
		t.Error("another system text, and the same beginning")
	}
	if other, _ := beginnings(t, Chat, strings.Replace(talk(3, ""), "turn 0", "turn x", 1)); other[0] == short[0] {
		t.Error("another text, and the same beginning")
	}
	if none, length := beginnings(t, Completions, `{"model":"m"}`); none[0] != 0 || length != 0 {
		t.Errorf("no prompt, and %d bytes begin with %x", length, none)
	}
}

func BenchmarkBeginnings(b *testing.B) {
	body := []byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("word ", 3200) + `"}]}`)
	f, err := Inspect(Chat, body, 20)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var hashes [10]uint64
	for b.Loop() {
		f.Beginnings(body, 2048, hashes[:])
	}
}
