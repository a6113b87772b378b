package replica

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// TestAnswers sends one answer, closes, and looks at what the caller sees.
func TestAnswers(t *testing.T) {
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	f := func(name, answer, wantBody string, wantStatus int, wantErrs ...error) {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, func(_ int, p *peer) { p.answer(answer) })
			got := run(s.client(), post("hello", 5*time.Second))
			if got.status != wantStatus || got.body != wantBody {
				t.Errorf("got %d %q (%v), want %d %q", got.status, got.body, got.err, wantStatus, wantBody)
			}
			if len(wantErrs) > 0 {
				wantErr(t, got.err, wantErrs...)
			} else if got.err != nil {
				t.Errorf("got error %v, want none", got.err)
			}
		})
	}
	cut := []error{ErrLost, io.ErrUnexpectedEOF}

	f("length", okAnswer, "ok", 200)
	f("length zero", "HTTP/1.1 500 Oops\r\ncontent-length:0\r\n\r\n", "", 500)
	f("no reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "ok", 200)
	f("chunks", chunked+"2\r\nok\r\n3\r\nay!\r\n0\r\n\r\n", "okay!", 200)
	f("chunk extension", chunked+"2;a=b\r\nok\r\n00;x\r\n\r\n", "ok", 200)
	f("trailers", chunked+"2\r\nok\r\n0\r\nX-Sum: 1\r\nY: \r\n\r\n", "ok", 200)
	f("other case", "HTTP/1.1 200 OK\r\ntransfer-encoding:\t CHUNKED \r\n\r\n2\r\nok\r\n0\r\n\r\n", "ok", 200)
	f("no content", "HTTP/1.1 204 No Content\r\n\r\n", "", 204)
	f("not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "", 304)
	f("interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"+okAnswer, "ok", 200)
	f("1.0 with length", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", 200)
	f("1.0 until close", "HTTP/1.0 200 OK\r\n\r\nok", "ok", 200)
	f("until close", "HTTP/1.1 200 OK\r\n\r\nok", "ok", 200)

	f("cut in head", "HTTP/1.1 200 OK\r\nContent-Le", "", 0, cut...)
	f("cut in length", "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nok", "ok", 200, cut...)
	f("cut before length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "", 200, cut...)
	f("cut in chunk size", chunked+"2\r\nok\r\n1", "ok", 200, cut...)
	f("cut in chunk data", chunked+"2\r\nok\r\n9\r\nmore", "okmore", 200, cut...)
	f("cut behind data", chunked+"2\r\nok", "ok", 200, cut...)
	f("cut before last chunk", chunked+"2\r\nok\r\n", "ok", 200, cut...)
	f("cut at the trailer", chunked+"2\r\nok\r\n0\r\n", "ok", 200, cut...)
	f("cut in the last CRLF", chunked+"2\r\nok\r\n0\r\n\r", "ok", 200, cut...)
	f("nothing", "", "", 0, cut...)

	f("chunk size with 0x", chunked+"0x2\r\nok\r\n0\r\n\r\n", "", 200, ErrMalformed)
	f("chunk size too long", chunked+"0000000000000002\r\nok\r\n0\r\n\r\n", "", 200, ErrMalformed)
	f("chunk size empty", chunked+"\r\nok\r\n0\r\n\r\n", "", 200, ErrMalformed)
	f("chunk size negative", chunked+"-2\r\nok\r\n0\r\n\r\n", "", 200, ErrMalformed)
	f("chunk size with space", chunked+"2 \r\nok\r\n0\r\n\r\n", "", 200, ErrMalformed)
	f("chunk with bare LF", chunked+"2\nok\r\n0\r\n\r\n", "", 200, ErrMalformed)
	f("LF in extension", chunked+"2;a\nok\r\n0\r\n\r\n", "", 200, ErrMalformed)
	f("extension without end", chunked+"2;"+strings.Repeat("x", 1000), "", 200, ErrMalformed)
	f("chunk longer than said", chunked+"2\r\nokay\r\n0\r\n\r\n", "ok", 200, ErrMalformed)
	f("chunk end bare LF", chunked+"2\r\nok\n0\r\n\r\n", "ok", 200, ErrMalformed)
	f("trailer without colon", chunked+"0\r\nX\r\n\r\n", "", 200, ErrMalformed)
	f("trailers without end", chunked+"0\r\n"+strings.Repeat("X: y\r\n", 5000), "", 200, ErrMalformed)
}

// TestRefusedHeads are answers that two parsers could read in two ways.
func TestRefusedHeads(t *testing.T) {
	f := func(head string) {
		t.Helper()
		s := newStub(t, func(_ int, p *peer) {
			if p.answer(head + "\r\n2\r\nok\r\n0\r\n\r\n") {
				p.gone()
			}
		})
		c := s.client()
		got := run(c, post("hello", 5*time.Second))
		if got.status != 0 || !errors.Is(got.err, ErrMalformed) {
			t.Errorf("%q: got %d %q, error %v, want malformed", head, got.status, got.body, got.err)
		}
		if c.idleCount() != 0 || len(s.requests()) != 1 {
			t.Errorf("%q: %d idle connections, %d requests, want 0 and 1", head, c.idleCount(), len(s.requests()))
		}
	}
	const ok = "HTTP/1.1 200 OK\r\n"
	f(ok + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n")
	f(ok + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n")
	f(ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")
	f(ok + "Transfer-Encoding: chunked, identity\r\n")
	f(ok + "Transfer-Encoding: gzip, chunked\r\n")
	f(ok + "Transfer-Encoding: identity\r\n")
	f(ok + "Transfer-Encoding: xchunked\r\n")
	f(ok + "Transfer-Encoding: \r\n")
	f(ok + "Transfer-Encoding: chun\u212Aed\r\n")
	f(ok + "Transfer-Encoding : chunked\r\n")
	f(ok + " Transfer-Encoding: chunked\r\n")
	f(ok + "Transfer-Encoding:\x0bchunked\r\n")
	f(ok + "Content-Length: 2\r\nContent-Length: 2\r\n")
	f(ok + "Content-Length: 2\r\ncontent-length: 5\r\n")
	f(ok + "Content-Length: 2, 2\r\n")
	f(ok + "Content-Length: +2\r\n")
	f(ok + "Content-Length: -2\r\n")
	f(ok + "Content-Length: 0x2\r\n")
	f(ok + "Content-Length: 2 2\r\n")
	f(ok + "Content-Length:\r\n")
	f(ok + "Content-Length: 1000000000000000000\r\n")
	f(ok + "X: a\r\n folded\r\nContent-Length: 2\r\n")
	f(ok + "X: a\nContent-Length: 2\r\n")
	f(ok + "X: a\rb\r\nContent-Length: 2\r\n")
	f(ok + "X: a\x00b\r\nContent-Length: 2\r\n")
	f(ok + "X Y: a\r\nContent-Length: 2\r\n")
	f(ok + ": a\r\nContent-Length: 2\r\n")
	f(ok + "no colon\r\nContent-Length: 2\r\n")
	f("HTTP/1.1 200 OK\nContent-Length: 2\r\n")
	f("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n")
	f("HTTP/1.2 200 OK\r\nContent-Length: 2\r\n")
	f("HTTP/2 200 OK\r\nContent-Length: 2\r\n")
	f("http/1.1 200 OK\r\nContent-Length: 2\r\n")
	f("HTTP/1.1  200 OK\r\nContent-Length: 2\r\n")
	f("HTTP/1.1 20 OK\r\nContent-Length: 2\r\n")
	f("HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n")
	f("HTTP/1.1 +20 OK\r\nContent-Length: 2\r\n")
	f("HTTP/1.1 600 OK\r\nContent-Length: 2\r\n")
	f("HTTP/1.1 200 O\x00K\r\nContent-Length: 2\r\n")
	f("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n")
	f("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n")
	f("HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n")
	f("HTTP/1.1 103 Early\r\nContent-Length: 2\r\n")
	f("\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n")
	f("SSH-2.0-OpenSSH_9.9\r\n")
	f(strings.Repeat("HTTP/1.1 103 Early\r\n\r\n", 20))
	f(ok + "X: " + strings.Repeat("a", 40<<10) + "\r\n")
	f(ok + strings.Repeat("X: a\r\n", 300))
}

func TestHeadLimitIsExact(t *testing.T) {
	f := func(block int, ok bool) {
		t.Helper()
		const frame = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: \r\n\r\n"
		head := strings.Replace(frame, "X: ", "X: "+strings.Repeat("a", block-len(frame)), 1)
		s := newStub(t, func(_ int, p *peer) {
			if p.answer(head + "ok") {
				p.gone()
			}
		})
		c := newClient(t, Options{URL: "http://" + s.ln.Addr().String(), MaxHeader: 20000})
		got := run(c, post("x", 5*time.Second))
		if ok != (got.body == "ok") || ok == errors.Is(got.err, ErrMalformed) {
			t.Errorf("head of %d bytes, limit 20000: got %q, error %v", block, got.body, got.err)
		}
	}
	f(300, true)
	f(4096, true)
	f(4097, true)
	f(16384, true)
	f(20000, true)
	f(20001, false)
	f(70000, false)
}

func TestHeadRequestHasNoBody(t *testing.T) {
	s := newStub(t, func(_ int, p *peer) {
		for p.answer("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n") {
		}
	})
	c := s.client()
	for range 2 {
		got := run(c, &Request{Method: "HEAD", Path: "/health"})
		if got.err != nil || got.status != 200 || got.body != "" {
			t.Fatalf("got %+v, want 200 without a body", got)
		}
	}
	if s.accepted() != 1 {
		t.Errorf("got %d connections, want 1", s.accepted())
	}
}

func TestFieldsInOrderWithoutTheHop(t *testing.T) {
	s := newStub(t, func(_ int, p *peer) {
		p.answer("HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nConnection: close, X-Hop\r\nX-HOP: 1\r\nKeep-Alive: timeout=5\r\n" +
			"Set-Cookie: b=2\r\nx-lowercase:y\r\nProxy-Authenticate: z\r\nTrailer: t\r\nTE: t\r\nUpgrade: h2c\r\n" +
			"X-Empty:\r\nContent-Length: 2\r\nX-Last: \t v w \r\n\r\nok")
	})
	var call Call
	a, err := s.client().Do(&call, post("x", 5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var got []string
	for name, value := range a.Fields {
		got = append(got, name+"="+value)
	}
	want := "set-cookie=a=1 Set-Cookie=b=2 x-lowercase=y X-Empty= X-Last=v w"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if a.ContentLength != 2 || a.Header("set-cookie") != "a=1" || a.Header("upgrade") != "" || !a.Framed() {
		t.Errorf("got length %d, cookie %q, upgrade %q, framed %v", a.ContentLength, a.Header("set-cookie"), a.Header("upgrade"), a.Framed())
	}
}

// TestCoalescing: what has arrived comes in one Read, across chunks, and the
// end is known as soon as it is here.
func TestCoalescing(t *testing.T) {
	s := newStub(t, func(_ int, p *peer) {
		p.answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("8\r\ndata: x\n\r\n", 200) + "0\r\n\r\n")
	})
	var call Call
	a, err := s.client().Do(&call, post("x", 5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	buf := make([]byte, 64<<10)
	reads, total := 0, 0
	for !a.Ended() {
		n, err := a.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		reads, total = reads+1, total+n
	}
	if total != 1600 || reads > 2 {
		t.Errorf("got %d bytes in %d reads, want 1600 in at most 2", total, reads)
	}
	if n, err := a.Read(buf); n != 0 || err != io.EOF {
		t.Errorf("got %d, %v after the end, want EOF", n, err)
	}
}

func TestUnframedIsMarked(t *testing.T) {
	s := newStub(t, func(_ int, p *peer) { p.answer("HTTP/1.1 200 OK\r\n\r\nok") })
	var call Call
	c := s.client()
	a, err := c.Do(&call, post("x", 5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(a)
	if a.Framed() || a.ContentLength != -1 || string(body) != "ok" || err != nil {
		t.Errorf("got framed %v, length %d, %q, error %v", a.Framed(), a.ContentLength, body, err)
	}
	a.Close()
	if c.idleCount() != 0 {
		t.Error("an unframed answer's connection was kept")
	}
}
