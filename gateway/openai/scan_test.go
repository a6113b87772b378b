package openai

import (
	"strings"
	"testing"
)

// scanAll checks one JSON text with the scanner alone.
func scanAll(text string, depth int) error {
	s := newScanner([]byte(text), depth)
	s.skip()
	s.end()
	return s.err
}

func TestScannerAccepts(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `0`, `-0`, `1e400`, `1.5E-7`, `9007199254740993`, `true`, `null`, `""`,
		" \r\n\t{ \"a\" : [ ] , \"b\" : { } } \n", `[[],{},[{}],""]`, `{"a":1,"a":2}`, `{"":0}`,
		`"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`, `"\ud800"`, `"é\u0000 😀"`, "\"\x7f\"", `"` + strings.Repeat("x", 100) + `é"`,
		strings.Repeat("[", 200) + strings.Repeat("]", 200),
		strings.Repeat(`{"a":[`, 100) + "1" + strings.Repeat("]}", 100),
	} {
		if err := scanAll(text, 200); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestScannerRefuses(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		err := scanAll(text, 200)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want an error with %q", text, err, want)
		}
	}
	f(``, "at byte 0: it ends where a value should be")
	f(`[1,`, "at byte 3")
	f(`[1,]`, "at byte 3: ']' after a comma")
	f(`[,1]`, "at byte 1: ',' where a value should be")
	f(`[1 2]`, "at byte 3: ',' or ']' should follow a value")
	f(`{"a":1,}`, "at byte 7: '}' after a comma")
	f(`{"a" 1}`, "at byte 5: ':' should follow")
	f(`{a:1}`, "at byte 1: a member's name must be a string")
	f(`{"a":}`, "at byte 5: '}' where a value should be")
	f(`{"a":1]`, "at byte 6: ',' or '}'")
	f(`[1}`, "at byte 2: ',' or ']'")
	f(`{"a`, "at byte 3: it ends inside a string")
	f(`"a\`, "it ends inside a string")
	f(`"\x"`, "a backslash followed by 'x' is no escape")
	f(`"\u12g4"`, `\u must be followed by four hex digits`)
	f(`"\u12`, `\u must be followed by four hex digits`)
	f("\"a\nb\"", "at byte 2: byte 0x0a inside a string must be escaped")
	f("\"12345678\x01\"", "at byte 9")
	f("\"ab\xff\"", "at byte 3: not valid UTF-8")
	f("\"é\xc3\"", "at byte 3: not valid UTF-8")
	f("\"\xed\xa0\x80\"", "not valid UTF-8")
	f("\xef\xbb\xbf{}", "at byte 0: byte 0xef where a value should be")
	f(`01`, "at byte 1: '1' after the end")
	f(`-`, "a number lacks a digit")
	f(`1.`, "a number lacks a digit")
	f(`1e+`, "a number lacks a digit")
	f(`+1`, "'+' where a value should be")
	f(`NaN`, "'N' where a value should be")
	f(`nul`, "neither a value nor true, false or null")
	f(`truex`, "'x' after the end")
	f(`{} {}`, "at byte 3: '{' after the end")
	f("{}\x00", "byte 0x00 after the end")
	f(strings.Repeat("[", 201), "nests deeper than limits.json_depth=200 allows, at byte 200")
	f(strings.Repeat("[", 1_000_000), "nests deeper")
	f(strings.Repeat(`{"a":`, 10_000), "nests deeper")
}

// TestScannerDepthCeiling asks for more depth than there is room to remember.
func TestScannerDepthCeiling(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	if err := scanAll(deep, 1<<30); err != nil {
		t.Error(err)
	}
	if err := scanAll("["+deep+"]", 1<<30); err == nil {
		t.Error("one deeper than MaxDepth was accepted")
	}
	if err := scanAll("[]", 0); err != nil {
		t.Errorf("a depth of 0 counts as 1: %v", err)
	}
}

func TestPlainEnd(t *testing.T) {
	for n := range 40 {
		for _, odd := range []string{`"`, `\`, "\x00", "\x1f", "\x80", "\xff"} {
			data := strings.Repeat("~", n) + odd + strings.Repeat("!", 20)
			if got := plainEnd([]byte(data), 0); got != n {
				t.Errorf("plainEnd(%d plain bytes, %q) = %d", n, odd, got)
			}
		}
		if got := plainEnd([]byte(strings.Repeat("\x7f", n)), 0); got != n {
			t.Errorf("plainEnd(%d plain bytes) = %d", n, got)
		}
	}
}

func TestTextString(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		s := newScanner([]byte(`"`+raw+`"`), 1)
		if got := s.str().String(); got != want || s.err != nil {
			t.Errorf("%s: got %q, want %q (%v)", raw, got, want, s.err)
		}
	}
	f(`plain`, "plain")
	f(`a\n\t\r\b\f\"\\\/z`, "a\n\t\r\b\f\"\\/z")
	f(`\u00e9\u4F60\u0000`, "é你\x00")
	f(`\ud83d\ude00!`, "😀!")
	f(`\ud83d`, "\ufffd")
	f(`\ud83d\u0041`, "\ufffdA")
	f(`\ud83dxx`, "\ufffdxx")
	f(`\ude00\ud83d\ude00`, "\ufffd😀")
	f("é😀", "é😀")
}
