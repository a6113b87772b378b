package gatewaytest

import (
	"io"
	"strings"
	"testing"
)

func TestBodyReadsItsFraming(t *testing.T) {
	f := func(header, rest, want string, wantErr error) {
		t.Helper()
		r := newReader(strings.NewReader("POST / HTTP/1.1\r\n" + header + "\r\n" + rest))
		_, h, err := r.head()
		if err != nil {
			t.Fatal(err)
		}
		b, err := newBody(r, h, framedLength)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.all()
		if string(got) != want || err != wantErr {
			t.Errorf("%q: got %q, %v; want %q, %v", header+rest, got, err, want, wantErr)
		}
	}
	f("Content-Length: 3\r\n", "abcd", "abc", nil)
	f("Content-Length: 3\r\n", "ab", "ab", io.ErrUnexpectedEOF)
	f("", "abc", "", nil)
	f("Transfer-Encoding: chunked\r\n", "1\r\na\r\n0\r\n\r\n", "a", nil)
	f("transfer-encoding: CHUNKED\r\n", "A;x=1\r\n0123456789\r\n0\r\nT: v\r\n\r\n", "0123456789", nil)
	f("Transfer-Encoding: chunked\r\n", "5\r\nab", "ab", io.ErrUnexpectedEOF)
	f("Transfer-Encoding: chunked\r\n", "1\r\na\r\n", "a", io.ErrUnexpectedEOF)
	f("Transfer-Encoding: chunked\r\n", "1\r\na\r\n0\r\n", "a", io.ErrUnexpectedEOF)
}

func TestEventEnd(t *testing.T) {
	f := func(in string, want int) {
		t.Helper()
		if got := eventEnd([]byte(in)); got != want {
			t.Errorf("%q: got %d, want %d", in, got, want)
		}
	}
	f("data: a\n", 0)
	f("data: a\n\ndata: b", 9)
	f("data: a\r\n\r\ndata: b\n\n", 11)
	f(": ping\n\n", 8)
}

func TestEventFields(t *testing.T) {
	e := Event{Raw: TypedEvent("ping", "one\ndata:two")}
	if e.Name() != "ping" || e.Data() != "one\ntwo" {
		t.Errorf("got name %q, data %q", e.Name(), e.Data())
	}
}

func FuzzReader(f *testing.F) {
	f.Add("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
	f.Add("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\n\r\n")
	f.Fuzz(func(t *testing.T, in string) {
		r := newReader(strings.NewReader(in))
		_, h, err := r.head()
		if err != nil {
			return
		}
		b, err := newBody(r, h, framedClose)
		if err != nil {
			return
		}
		b.all()
		if !strings.HasPrefix(in, string(r.raw)) {
			t.Errorf("raw %q is not what came: %q", r.raw, in)
		}
	})
}
