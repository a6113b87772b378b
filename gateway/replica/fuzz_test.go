package replica

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"strings"
	"testing"
)

// FuzzHead: whatever we take, net/http takes and understands alike: the same
// status, the same framing, the same end-to-end fields.
func FuzzHead(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: a\r\nx: b\r\n\r\n",
		"HTTP/1.0 503 Busy\r\nConnection: keep-alive, x-a\r\nX-A:1\r\nContent-Length:\t0 \r\n\r\n",
		"HTTP/1.1 204\r\n\r\n",
		"HTTP/1.1 304 \r\nContent-Length: 18\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: a\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parseHead(text)
		if err != nil {
			return
		}
		r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
		if err != nil {
			t.Fatalf("we take %q, net/http says %v", text, err)
		}
		if r.StatusCode != h.status || r.ProtoMinor != h.minor {
			t.Errorf("%q: got %d in 1.%d, net/http %d in %s", text, h.status, h.minor, r.StatusCode, r.Proto)
		}
		if want := framingOf(r); h.framing(false) != want {
			t.Errorf("%q: got framing %d, net/http %d", text, h.framing(false), want)
		}
		sameFields(t, &h, r)
	})
}

// framingOf is how net/http understands a head.
func framingOf(r *http.Response) framing {
	switch {
	case len(r.TransferEncoding) > 0:
		return byChunks
	case r.StatusCode < 200, r.StatusCode == 204, r.StatusCode == 304, r.ContentLength == 0:
		return noBody
	case r.ContentLength > 0:
		return byLength
	}
	return byClose
}

func sameFields(t *testing.T, h *head, r *http.Response) {
	ours := http.Header{}
	for name, value := range h.fields {
		key := textproto.CanonicalMIMEHeaderKey(name)
		ours[key] = append(ours[key], value)
	}
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return h.hopByHop(name) })
	if !maps.EqualFunc(ours, r.Header, func(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }) {
		t.Errorf("got fields %q, net/http %q", ours, r.Header)
	}
}

// FuzzChunked: the decoder gives the same whatever the pieces it is fed in and
// drained by, and what it takes as whole, net/http takes with the same data.
func FuzzChunked(f *testing.F) {
	for _, seed := range []string{
		"2\r\nok\r\n0\r\n\r\n",
		"2;a=b\r\nok\r\n00a\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\nleft over",
		"0x2\r\nok\r\n0\r\n\r\n",
		"2\nok\r\n0\r\n\r\n",
		"fffffffffffffff\r\nx",
	} {
		f.Add([]byte(seed), uint8(1), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, feed, drain uint8) {
		whole, used, ended, err := decodeAll(in, len(in)+1, len(in)+1)
		again, usedAgain, endedAgain, errAgain := decodeAll(in, int(feed)+1, int(drain)+1)
		if !bytes.Equal(whole, again) || used != usedAgain || ended != endedAgain || !errors.Is(errAgain, err) {
			t.Fatalf("%q in one go: %q, used %d, ended %v, %v; in pieces of %d: %q, %d, %v, %v",
				in, whole, used, ended, err, int(feed)+1, again, usedAgain, endedAgain, errAgain)
		}
		if !ended {
			return
		}
		theirs, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(in[:used])))
		if err != nil || !bytes.Equal(whole, theirs) {
			t.Fatalf("%q: got %q, net/http %q, %v", in, whole, theirs, err)
		}
	})
}

// decodeAll feeds in pieces of feed bytes to a decoder that has drain bytes of
// room at a time.
func decodeAll(in []byte, feed, drain int) (out []byte, used int, ended bool, err error) {
	var d chunked
	room := make([]byte, drain)
	for used < len(in) && d.state != chunksEnded {
		n, m, err := d.decode(room, in[used:min(used+feed, len(in))])
		out, used = append(out, room[:n]...), used+m
		if err != nil {
			return out, used, false, err
		}
	}
	return out, used, d.state == chunksEnded, nil
}
