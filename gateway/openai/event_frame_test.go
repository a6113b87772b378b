package openai

import (
	"slices"
	"strings"
	"testing"
)

// frames splits a stream with a framer, fed with pieces of the given size.
func frames(stream string, size int) (events []string, rest string) {
	var f framer
	begin := 0
	for fed := 0; fed < len(stream); {
		fed = min(fed+size, len(stream))
		for n := f.end([]byte(stream[begin:fed])); n > 0; n = f.end([]byte(stream[begin:fed])) {
			events = append(events, stream[begin:begin+n])
			begin += n
		}
	}
	return events, stream[begin:]
}

func TestFramerEnd(t *testing.T) {
	f := func(stream string, want ...string) {
		t.Helper()
		for size := 1; size <= len(stream); size++ {
			if got, rest := frames(stream, size); !slices.Equal(append(got, rest), want) {
				t.Errorf("%q in pieces of %d: got %q, want %q", stream, size, append(got, rest), want)
			}
		}
	}
	f("a\n\nb\n\n", "a\n\n", "b\n\n", "")
	f("a\r\n\r\nb\r\n\r\n", "a\r\n\r\n", "b\r\n\r\n", "")
	f("a\r\rb\r\r", "a\r\r", "b\r\r", "")
	f("a\nb\r\nc\rd\n\ne", "a\nb\r\nc\rd\n\n", "e")
	f("a\n\r\nb\r\n\nc\r\n\rd", "a\n\r\n", "b\r\n\n", "c\r\n\r", "d")
	f("a\r\r\nb\n\n", "a\r\r", "\nb\n\n", "")
	f("a\r\r\n\n", "a\r\r", "\n\n", "")
	f("\n\n\na\n\n", "\n", "\n", "\n", "a\n\n", "")
	f("\ufeff\na\n\n", "\ufeff\n", "a\n\n", "")
	f("\ufeffa\n\n\ufeff\n\n", "\ufeffa\n\n", "\ufeff\n\n", "")
	f("a\n", "a\n")
	f("a\r\n\r", "a\r\n\r") // the LF may follow
	f("a", "a")
}

// An event of pure CR lines must not wait for the byte after it.
func TestFramerDoesNotHoldBackCR(t *testing.T) {
	var f framer
	if n := f.end([]byte("data: a\r\r")); n != 9 {
		t.Errorf("got %d, want 9", n)
	}
}

func TestReadFields(t *testing.T) {
	f := func(raw, name, data string) {
		t.Helper()
		gotName, gotData, _ := readFields([]byte(raw), nil)
		if string(gotName) != name || string(gotData) != data {
			t.Errorf("%q: got %q, %q; want %q, %q", raw, gotName, gotData, name, data)
		}
	}
	f("data: a\n\n", "", "a")
	f("data:a\n\n", "", "a")
	f("data:  a\n\n", "", " a")
	f("data: a: b\n\n", "", "a: b")
	f("data\ndata\n\n", "", "\n")
	f("data: a\r\ndata:b\rdata: c\n\n", "", "a\nb\nc")
	f("event: x\nevent: y\ndata: a\nid: 1\nretry: 2\n: note\n\n", "y", "a")
	f(" data: a\ndatas: b\n\n", "", "")
	f("\ndata: a\n\n", "", "a")
}

// Each byte is looked at once, however the body arrives: this would take minutes
// otherwise.
func TestFramerIsLinear(t *testing.T) {
	stream := "data: " + strings.Repeat("x", 1<<20) + "\n\n"
	buf := []byte(stream)
	var f framer
	for i := range buf {
		if n := f.end(buf[:i+1]); n != 0 && i+1 != len(buf) {
			t.Fatalf("got an event of %d bytes after %d", n, i+1)
		}
	}
}
