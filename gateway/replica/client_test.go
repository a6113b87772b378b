package replica

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/router"
)

func TestURL(t *testing.T) {
	f := func(url, dial, host, prefix string) {
		t.Helper()
		got, err := parseURL(url)
		if err != nil || got.dial != dial || got.host != "Host: "+host+"\r\n" || got.prefix != prefix {
			t.Errorf("%s: got %q, %q, %q, error %v", url, got.dial, got.host, got.prefix, err)
		}
	}
	f("http://[::1]:9101", "[::1]:9101", "[::1]:9101", "")
	f("http://[fd00::1]", "[fd00::1]:80", "[fd00::1]", "")
	f("http://[fe80::1%25eth0]:8000", "[fe80::1%eth0]:8000", "[fe80::1]:8000", "")
	f("http://[fe80::1%25eth0]", "[fe80::1%eth0]:80", "[fe80::1]", "")
	f("http://10.0.0.1:8000/", "10.0.0.1:8000", "10.0.0.1:8000", "")
	f("https://vllm-0.vllm.svc", "vllm-0.vllm.svc:443", "vllm-0.vllm.svc", "")
	f("HTTP://dual.test:9101/a/b/", "dual.test:9101", "dual.test:9101", "/a/b")
}

func TestBadURL(t *testing.T) {
	f := func(url, want string) {
		t.Helper()
		_, err := New(Options{URL: url})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got error %v, want one that says %q", url, err, want)
		}
	}
	f("", "want http://host:port")
	f("10.0.0.1:8000", "not a URL")
	f("localhost:8000", "want http://host:port")
	f("grpc://h:1", "want http://host:port")
	f("unix:///run/vllm", "want http://host:port")
	f("http://", "host is missing")
	f("http://:8000", "host is missing")
	f("http://fd00::1:8000", "")
	f("http://h:70000", "port")
	f("http://h:0", "port")
	f("http://h:x", "not a URL")
	f("http://user:secret@h:1", "no user")
	f("http://h:1/?a", "query")
	f("http://h:1/#a", "fragment")
	f("http://h ost:1", "not a URL")
	f("http://héhé:1", "punycode")
	f("http://h:1/\r\nX: y", "not a URL")
}

// TestIPv6 talks to ::1 with the right Host.
func TestIPv6(t *testing.T) {
	if ln, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Log("no IPv6 loopback here: only the parsing is tested (TestURL)")
		return
	} else {
		ln.Close()
	}
	s := newStubAt(t, "[::1]:0", func(_ int, p *peer) {
		if r := p.read(); r == nil || r.Host != p.s.ln.Addr().String() {
			t.Errorf("got %+v, want Host %s", r, p.s.ln.Addr())
		}
		p.send(okAnswer)
	})
	wantOK(t, run(s.client(), post("x", 5*time.Second)))
}

// TestDualStackName: localhost resolves to both families; whichever listens is
// found within the limit.
func TestDualStackName(t *testing.T) {
	s := newStub(t, func(_ int, p *peer) { p.answer(okAnswer) })
	_, port, _ := net.SplitHostPort(s.ln.Addr().String())
	wantOK(t, run(newClient(t, Options{URL: "http://localhost:" + port}), post("x", 5*time.Second)))
}

func TestRefusedConnection(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	got := run(newClient(t, Options{URL: "http://" + ln.Addr().String()}), post("x", 5*time.Second)).err
	wantErr(t, got, ErrConnect)
	if o := Outcome(got, false); o != router.ConnectFailed {
		t.Errorf("got %v, want connect_failed", o)
	}
}

// TestPrefixAndMethods: the URL's path goes before the request's, and only
// requests that can have a body say its length.
func TestPrefixAndMethods(t *testing.T) {
	s := newStub(t, func(_ int, p *peer) {
		for r := p.read(); r != nil; r = p.read() {
			got := r.Method + " " + r.RequestURI + " " + r.Header.Get("Content-Length")
			p.send("HTTP/1.1 200 OK\r\nX-Got: " + got + "\r\nContent-Length: 0\r\n\r\n")
		}
	})
	c := newClient(t, Options{URL: "http://" + s.ln.Addr().String() + "/base/"})
	f := func(method, want string) {
		t.Helper()
		var call Call
		a, err := c.Do(&call, &Request{Method: method, Path: "/v1/models?x=%20"})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if got := a.Header("x-got"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f("GET", "GET /base/v1/models?x=%20")
	f("POST", "POST /base/v1/models?x=%20 0")
}

// TestRequestOnTheWire, byte by byte.
func TestRequestOnTheWire(t *testing.T) {
	got := make(chan string, 1)
	s := newStub(t, func(_ int, p *peer) {
		var wire strings.Builder
		p.in.Reset(io.TeeReader(p.Conn, &wire))
		p.read()
		got <- wire.String()
		p.send(okAnswer)
	})
	want := "POST /v1/x?y=z HTTP/1.1\r\nHost: " + s.ln.Addr().String() + "\r\nX-Twice: 1\r\nx-twice: 2\r\n" +
		"X-Empty: \r\nContent-Length: 4\r\n\r\nbody"
	wantOK(t, run(s.client(), &Request{Method: "POST", Path: "/v1/x?y=z",
		Body:   [][]byte{[]byte("bo"), []byte("dy")},
		Header: []Field{{"X-Twice", "1"}, {"x-twice", "2"}, {"X-Empty", ""}}}))
	if text := <-got; text != want {
		t.Errorf("got  %q\nwant %q", text, want)
	}
}

// TestUnsendable: nothing is sent that could be read as something else.
func TestUnsendable(t *testing.T) {
	c := newClient(t, Options{URL: "http://h", Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("connected for a request that can't be sent")
		return nil, errors.New("no network here")
	}})
	f := func(req Request) {
		t.Helper()
		err := run(c, &req).err
		wantErr(t, err, ErrUnsendable)
		if o := Outcome(err, false); o != router.Internal {
			t.Errorf("got %v, want internal", o)
		}
	}
	header := func(name, value string) {
		t.Helper()
		f(Request{Method: "POST", Path: "/", Header: []Field{{"A", "b"}, {name, value}}})
	}
	header("", "x")
	header("X Y", "x")
	header("X:", "x")
	header("X\r\nY", "x")
	header("Ü", "x")
	header("X", "a\r\nY: b")
	header("X", "a\nb")
	header("X", "a\rb")
	header("X", "a\x00b")
	header("content-length", "5")
	header("Transfer-Encoding", "chunked")
	header("Host", "other")
	header("Connection", "close")
	f(Request{Method: "", Path: "/"})
	f(Request{Method: "GET /", Path: "/"})
	f(Request{Method: "CONNECT", Path: "/"})
	f(Request{Method: "GET", Path: ""})
	f(Request{Method: "GET", Path: "v1"})
	f(Request{Method: "GET", Path: "/ HTTP/1.1\r\nX: y"})
	f(Request{Method: "GET", Path: "/a b"})
	f(Request{Method: "GET", Path: "/é"})
	f(Request{Method: "GET", Path: "/#f"})
}

func TestJudge(t *testing.T) {
	f := func(status int, aboutModel bool, want router.Outcome) {
		t.Helper()
		if got := Judge(status, aboutModel); got != want {
			t.Errorf("%d, about the model %v: got %v, want %v", status, aboutModel, got, want)
		}
	}
	f(200, false, router.Undecided)
	f(204, false, router.Undecided)
	f(http.StatusTemporaryRedirect, false, router.Misconfigured)
	f(http.StatusNotModified, false, router.Misconfigured)
	f(400, false, router.ClientError)
	f(401, false, router.Misconfigured)
	f(403, false, router.Misconfigured)
	f(404, true, router.Misconfigured)
	f(404, false, router.ClientError)
	f(413, false, router.ClientError)
	f(422, true, router.ClientError)
	f(429, false, router.Busy)
	f(500, false, router.ReplicaError)
	f(501, false, router.ClientError)
	f(502, false, router.ReplicaError)
	f(503, false, router.Busy)
	f(504, true, router.ReplicaError)
	f(599, false, router.ReplicaError)
}

func TestOutcome(t *testing.T) {
	f := func(err error, before, after router.Outcome) {
		t.Helper()
		if err != nil {
			err = &Error{Phase: PhaseBody, Kind: err}
		}
		if b, a := Outcome(err, false), Outcome(err, true); b != before || a != after {
			t.Errorf("%v: got %v and %v, want %v and %v", err, b, a, before, after)
		}
	}
	f(nil, router.Undecided, router.Undecided)
	f(ErrCancelled, router.Undecided, router.Undecided)
	f(ErrConnect, router.ConnectFailed, router.ConnectFailed)
	f(ErrTimeout, router.Silent, router.Stalled)
	f(ErrLost, router.Lost, router.Truncated)
	f(ErrMalformed, router.Lost, router.Truncated)
	f(ErrUnsendable, router.Internal, router.Internal)
	f(errClosed, router.Internal, router.Internal)
	f(syscall.EMFILE, router.Internal, router.Internal) // ours: the replica isn't to blame
}

func TestErrorText(t *testing.T) {
	f := func(e *Error, want string) {
		t.Helper()
		if got := e.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f(&Error{Address: "http://r:1", Phase: PhaseHead, Kind: ErrLost, Err: io.ErrUnexpectedEOF},
		"replica http://r:1: read the answer's head: connection lost: unexpected EOF")
	f(&Error{Address: "http://r:1", Phase: PhaseConnect, Kind: ErrCancelled}, "replica http://r:1: connect: cancelled")
}
