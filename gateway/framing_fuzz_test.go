package gateway

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// FuzzRequest compares the gateway's reading of a request with net/http's: where
// both take it they find the same method, body and rest. Where only one takes it
// there is nothing to compare, and nothing can hide.
func FuzzRequest(f *testing.F) {
	for _, list := range [][]suspect{requestLines, requestHeads, requestBodies} {
		for _, s := range list {
			f.Add([]byte(s.raw + marker))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ours, err := readAsGateway(raw)
		if err != nil {
			return
		}
		theirs, err := readAsNetHTTP(raw)
		if err != nil {
			return
		}
		if ours.method != theirs.method || ours.body != theirs.body {
			t.Errorf("%q\ngot  %+v\nwant %+v, as net/http reads it", raw, ours, theirs)
		}
		if ours.rest != theirs.rest && !ours.last {
			t.Errorf("%q: behind it %q, to net/http %q", raw, ours.rest, theirs.rest)
		}
	})
}

// reading is what somebody takes a request for.
type reading struct {
	method, body, rest string
	last               bool // nothing behind it is read
}

// readAsGateway is what fasthttp does before it calls Serve, and what Serve and
// read do then.
func readAsGateway(raw []byte) (r reading, err error) {
	br := bufio.NewReaderSize(bytes.NewReader(raw), len(raw)+16)
	var req fasthttp.Request
	if err := req.Header.Read(br); err != nil {
		return r, err
	}
	if err := req.ContinueReadBodyStream(br, 1, false); err != nil {
		return r, err
	}
	if err := checkFraming(&req.Header); err != nil {
		return r, err
	}
	length := req.Header.ContentLength()
	var body []byte
	if stream := req.BodyStream(); stream == nil {
		body = req.Body()
	} else if body, err = io.ReadAll(stream); err != nil {
		return r, err
	}
	if length >= 0 && len(body) < length {
		return r, io.ErrUnexpectedEOF
	}
	rest, err := io.ReadAll(br)
	return reading{string(req.Header.Method()), string(body), string(rest), length == chunkedLength}, err
}

func readAsNetHTTP(raw []byte) (r reading, err error) {
	br := bufio.NewReaderSize(bytes.NewReader(raw), len(raw)+16)
	req, err := http.ReadRequest(br)
	if err != nil {
		return r, err
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return r, err
	}
	rest, err := io.ReadAll(br)
	return reading{method: req.Method, body: string(body), rest: string(rest)}, err
}

// FuzzRequestFields: whatever headers a client sends, a replica gets only lines that
// every server reads alike, none of one hop, none of the client's secrets, and one
// of each of the gateway's own.
func FuzzRequestFields(f *testing.F) {
	f.Add([]byte(usualHead))
	f.Add([]byte("Host: a\r\nConnection: X-Hop, close\r\nConnection: x-two\r\nX-Hop: 1\r\nX-Two: 2\r\nx-three: 3\r\n\r\n"))
	f.Add([]byte("Host: a\r\nX_Under: 1\r\nauthorization: Bearer k\r\nX-API-Key: k\r\nX-Sluice-Class: decode\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n"))
	f.Add([]byte("Host: a\r\nTE: trailers\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\nUpgrade: h2c\r\nproxy-connection: x\r\n\r\n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		req := new(fasthttp.Request)
		if req.Header.Read(bufio.NewReader(bytes.NewReader(append([]byte("POST / HTTP/1.1\r\n"), head...)))) != nil || checkFraming(&req.Header) != nil {
			return
		}
		var c fasthttp.RequestCtx
		c.Init(req, nil, nil)
		x := &exchange{c: &c, id: "id"}
		seen := make(map[string]int)
		for _, field := range x.requestFields("replica-key") {
			name := strings.ToLower(field.Name)
			seen[name]++
			if !isToken([]byte(field.Name)) || strings.ContainsAny(field.Name, "_") || strings.ContainsAny(field.Value, "\r\n\x00") {
				t.Errorf("%q: the replica gets %q: %q", head, field.Name, field.Value)
			}
			if stays[name] && !slices.Contains([]string{"accept-encoding", "x-request-id", "x-forwarded-for", "authorization"}, name) || strings.HasPrefix(name, "x-sluice-") {
				t.Errorf("%q: the replica gets %q", head, field.Name)
			}
			if lists(strings.ToLower(allOf(&req.Header, "Connection")), name) && !stays[name] {
				t.Errorf("%q: the replica gets %q, which Connection lists", head, field.Name)
			}
			if name == "authorization" && field.Value != "Bearer replica-key" {
				t.Errorf("%q: the replica gets the client's key", head)
			}
		}
		for _, name := range []string{"accept-encoding", "x-request-id", "x-forwarded-for", "authorization"} {
			if seen[name] != 1 {
				t.Errorf("%q: the replica gets %d lines %q", head, seen[name], name)
			}
		}
	})
}
