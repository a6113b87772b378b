package gateway

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// usualHead is what OpenAI's client for Python sends.
const usualHead = "Host: gateway.test\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\nAccept: application/json\r\n" +
	"Content-Type: application/json\r\nUser-Agent: OpenAI/Python 1.99.9\r\nX-Stainless-Lang: python\r\nX-Stainless-Package-Version: 1.99.9\r\n" +
	"X-Stainless-OS: Linux\r\nX-Stainless-Arch: x64\r\nX-Stainless-Runtime: CPython\r\nX-Stainless-Runtime-Version: 3.13.5\r\n" +
	"Authorization: Bearer sk-0123456789abcdef0123456789abcdef\r\nX-Stainless-Async: false\r\nx-stainless-retry-count: 0\r\n" +
	"x-stainless-read-timeout: 600\r\nContent-Length: 1834\r\n\r\n"

func TestCheckHead(t *testing.T) {
	for raw, want := range map[string]error{
		"":                                  nil,
		"\r\n":                              nil,
		usualHead:                           nil,
		"A: 1\r\ncontent-length: 5\r\n\r\n": nil,
		"A:\r\ntransfer-encoding:   Chunked  \r\n\r\n":                  nil,
		"Content-Length: 5\r\nContent-Length: 5\r\n\r\n":                errFraming,
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n":       errFraming,
		"TRANSFER-ENCODING: chunked\r\nA: 1\r\ncontent-length: 5\r\n\r": errFraming,
		"Transfer-Encoding: identity\r\n\r\n":                           errFraming,
		"Transfer-Encoding:\r\n\r\n":                                    errFraming,
		"Transfer-Encoding:\tchunked\r\n\r\n":                           errFraming,
		"A: 1\nB: 2\r\n\r\n":                                            errBareLF,
		"A: 1\r\nB: 2":                                                  errBareLF,
		"A: 1\r\n\n":                                                    errBareLF,
		"A: 1\r\n B: 2\r\n\r\n":                                         errFolded,
		"A: 1\r\n\tB: 2\r\n\r\n":                                        errFolded,
		"A B: 1\r\n\r\n":                                                errName,
		"A : 1\r\n\r\n":                                                 errName,
		": 1\r\n\r\n":                                                   errName,
		"A\x00: 1\r\n\r\n":                                              errName,
		"Ä: 1\r\n\r\n":                                                  errName,
	} {
		if err := checkHead([]byte(raw)); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", raw, err, want)
		}
	}
}

// FuzzCheckHead: a head that passes reads the same to a reader that takes every
// LF for a line's end and to one that takes CRLF alone.
func FuzzCheckHead(f *testing.F) {
	f.Add([]byte(usualHead))
	f.Add([]byte("A: 1\r\n b\r\nTransfer-Encoding: chunked\r\n\r\n"))
	f.Add([]byte("A: 1\nContent-Length: 1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if checkHead(raw) != nil || bytes.HasPrefix(raw, []byte("\r\n")) {
			return
		}
		head, _, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
		lengths := 0
		for line := range strings.Lines(string(head)) {
			name, _, _ := strings.Cut(line, ":")
			if strings.HasSuffix(line, "\n") && !strings.HasSuffix(line, "\r\n") || strings.ContainsAny(name, " \t") {
				t.Errorf("%q passes with the line %q", raw, line)
			}
			if strings.EqualFold(name, "content-length") || strings.EqualFold(name, "transfer-encoding") {
				lengths++
			}
		}
		if lengths > 1 {
			t.Errorf("%q passes with %d framings", raw, lengths)
		}
	})
}

func BenchmarkCheckHead(b *testing.B) {
	raw := []byte(usualHead)
	b.ReportAllocs()
	for b.Loop() {
		if err := checkHead(raw); err != nil {
			b.Fatal(err)
		}
	}
}
