package field

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

const page = "https://chat.example"

// aTenant is the tenant whose key is "foo".
const aTenant = "tenants: {a: {key_sha256: [2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae]}}\n"

// preflight is what a browser asks before a page may send a request with a key.
func preflight(path, origin string) string {
	return gt.Request("OPTIONS", path, "", "Origin: "+origin, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type,x-stainless-os")
}

// allows checks that an answer lets pages of one origin read it, and says so once.
func allows(t *testing.T, what string, answer *gt.Response, origin string) {
	t.Helper()
	want := []string{origin}
	if origin == "" {
		want = nil
	}
	if got := answer.Header.Values("Access-Control-Allow-Origin"); !slices.Equal(got, want) {
		t.Errorf("%s: status %d, Access-Control-Allow-Origin %q, want %q", what, answer.Status, got, want)
	}
	if got := answer.Header.Values("Access-Control-Allow-Credentials"); got != nil {
		t.Errorf("%s: a replica's own word got through: credentials %q", what, got)
	}
}

// TestBrowsersAreLetIn: the question before the request needs no key and takes no
// place, and each answer, errors and streams too, says once that it may be read,
// whatever the replica says of that.
func TestBrowsersAreLetIn(t *testing.T) {
	t.Parallel()
	for name, own := range map[string][]string{
		"replicas that say nothing": nil,
		"replicas with their own":   {"Access-Control-Allow-Origin: *", "access-control-allow-credentials: true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, gt.Send(gt.Head(200, append([]string{"content-type: text/event-stream", "transfer-encoding: chunked"}, own...)...)),
				gt.Chunks(gt.ChatEvents("a")...), gt.Send(gt.FinalChunk))
			b.more = aTenant + "relay: {allow_origins: [" + page + ", http://localhost:3000]}\n"
			r := b.start(t)
			for _, path := range []string{chatPath, "/v1/models", "/v1/embeddings"} {
				answer := gt.Target{Address: r.data}.Fetch(t, preflight(path, page))
				allows(t, "preflight of "+path, answer, page)
				if answer.Status != 204 || len(answer.Body) > 0 || answer.Header.Get("Access-Control-Allow-Methods") != "GET, POST" ||
					answer.Header.Get("Access-Control-Allow-Headers") != "authorization,content-type,x-stainless-os" || answer.Header.Get("Vary") != "Origin" {
					t.Errorf("preflight of %s: status %d, %q", path, answer.Status, answer.Header)
				}
			}
			strange := gt.Target{Address: r.data}.Fetch(t, preflight(chatPath, "https://evil.example"))
			allows(t, "a stranger's preflight", strange, "")
			if strange.Status != 403 || !strings.Contains(string(strange.Body), "relay.allow_origins") {
				t.Errorf("a stranger's preflight: status %d: %s", strange.Status, strange.Body)
			}
			if n := r.metrics().sum("sluice_requests_received_total"); n != 0 || calls(b.all()...) != 0 {
				t.Errorf("preflights: %v requests in the ledger, %d at replicas; want none", n, calls(b.all()...))
			}
			key, from := "Authorization: Bearer foo", "Origin: "+page
			for what, answer := range map[string]*gt.Response{
				"stream":       r.post(streamed, key, from),
				"models":       gt.Get(t, r.data, "/v1/models", key, from),
				"no key":       r.post(whole, from),
				"bad body":     r.post("{", key, from),
				"no such path": gt.Post(t, r.data, "/v1/nothing", whole, key, from),
				"wrong method": gt.Get(t, r.data, chatPath, key, from),
				"asks first":   r.post(whole, from, "Expect: 100-continue"),
				"HTTP/1.0":     gt.Target{Address: r.data}.Fetch(t, strings.Replace(gt.Request("POST", chatPath, streamed, key, from), "1.1", "1.0", 1)),
			} {
				allows(t, what, answer, page)
				if answer.Header.Get("Vary") != "Origin" || answer.Header.Get("Access-Control-Expose-Headers") != "*" {
					t.Errorf("%s: %q", what, answer.Header)
				}
			}
			for what, answer := range map[string]*gt.Response{
				"a stranger": r.post(streamed, key, "Origin: https://evil.example"),
				"no browser": r.post(streamed, key),
				"null":       r.post(streamed, key, "Origin: null"),
			} {
				allows(t, what, answer, "")
			}
			b.script(gt.Send(gt.Error(422, "BadRequest", "no", own...)))
			allows(t, "a replica's error", r.post(whole, key, from), page)
			r.reload(strings.Replace(b.policy(), page+", ", `"*", `, 1))
			allows(t, "any origin", r.post(whole, key, from), "*")
			allows(t, "any origin, a head that is too large", r.post(whole, key, from, "X-Large: "+strings.Repeat("x", 70<<10)), "*")
			b.more = aTenant
			r.reload(b.policy())
			allows(t, "switched off", r.post(whole, key, from), "")
			if answer := (gt.Target{Address: r.data}).Fetch(t, preflight(chatPath, page)); answer.Status != 405 {
				t.Errorf("switched off, preflight: status %d", answer.Status)
			}
			b.more = "" // anybody is welcome
			r.reload(b.policy())
			r.zero(b.all()...)
		})
	}
}

// TestHeadKeepsStep: HEAD is answered at once and without a body, and what follows
// on the same connection is answered in step. The models are the configuration's,
// so it doesn't matter how a replica frames its own list.
func TestHeadKeepsStep(t *testing.T) {
	t.Parallel()
	b := newBench(t, gt.Send(gt.ChatAnswer("a", "stop", 1, 1)))
	for i, rep := range b.all() {
		rep.On("/v1/models", gt.Send([]string{gt.Head(200, "transfer-encoding: chunked"), gt.Head(200, "content-length: 500")}[i%2]), gt.Stall())
	}
	r := b.start(t)
	c := gt.Connect(t, r.data)
	for _, ask := range []struct {
		method, path, body string
		status             int
	}{
		{"HEAD", "/v1/models", "", 200}, {"GET", "/v1/models", "", 200}, {"HEAD", "/v1/models/m", "", 200}, {"HEAD", "/v1/models/none", "", 404},
		{"HEAD", chatPath, "", 405}, {"HEAD", "/nothing", "", 404}, {"OPTIONS", "/v1/models", "", 405}, {"POST", chatPath, whole, 200},
	} {
		what := ask.method + " " + ask.path
		if err := c.Send(gt.Request(ask.method, ask.path, ask.body)); err != nil {
			t.Fatal(err)
		}
		answer, err := c.ReadAnswer()
		if err != nil || answer.Status != ask.status {
			t.Fatalf("%s: %+v, %v", what, answer, err)
		}
		if ask.method == "HEAD" && (len(answer.Body) > 0 || answer.Header.Get("Content-Length") == "0") {
			t.Errorf("%s: %q, %d bytes of body", what, answer.Header, len(answer.Body))
		}
	}
	head, full := gt.Target{Address: r.data}.Fetch(t, gt.Request("HEAD", "/v1/models", "")), gt.Get(t, r.data, "/v1/models")
	if n := head.Header.Get("Content-Length"); n != fmt.Sprint(len(full.Body)) {
		t.Errorf("HEAD tells %s bytes, GET has %d", n, len(full.Body))
	}
	c.Conn.Close()
	r.ended(map[router.Outcome]int{router.Completed: 1})
	r.zero(b.all()...)
}

// TestHTTP10Callers: old tools and proxies get no chunks. A connection is kept only
// for those who ask, and only where the answer says how long it is; a stream comes
// event by event, and ends with the connection.
func TestHTTP10Callers(t *testing.T) {
	t.Parallel()
	b := newBench(t, gt.Send(gt.ChatAnswer("a", "stop", 1, 1)))
	r := b.start(t)
	old := func(method, path, body string, lines ...string) string {
		return strings.Replace(gt.Request(method, path, body, lines...), "HTTP/1.1", "HTTP/1.0", 1)
	}
	kept := gt.Connect(t, r.data)
	for i := range 10 {
		if err := kept.Send(old("POST", chatPath, whole, "Connection: keep-alive")); err != nil {
			t.Fatal(err)
		}
		answer, err := kept.ReadAnswer()
		if err != nil || answer.Status != 200 || answer.Ending != gt.Whole || !strings.EqualFold(answer.Header.Get("Connection"), "keep-alive") {
			t.Fatalf("call %d on one connection: %+v, %v", i, answer, err)
		}
	}
	for _, ask := range []struct{ method, path, body string }{{"POST", chatPath, whole}, {"GET", "/v1/models", ""}, {"POST", chatPath, "{"}, {"GET", "/none", ""}} {
		c := gt.Connect(t, r.data)
		if err := c.Send(old(ask.method, ask.path, ask.body)); err != nil {
			t.Fatal(err)
		}
		answer, err := c.ReadAnswer()
		if err != nil || answer.Ending != gt.Whole || answer.Header.Get("Transfer-Encoding") != "" || !strings.EqualFold(answer.Header.Get("Connection"), "close") {
			t.Errorf("%s %s: %+v, %v", ask.method, ask.path, answer, err)
		}
		if err := c.WaitClosed(); err != nil {
			t.Errorf("%s %s: %v", ask.method, ask.path, err)
		}
	}
	events := gt.ChatEvents("a", "b")
	goOn := make(chan struct{})
	b.script(gt.Send(gt.SSEHead), gt.Chunks(events[:2]...), gt.Wait(goOn), gt.Chunks(events[2:]...), gt.Send(gt.FinalChunk))
	for _, line := range []string{"Connection: keep-alive", "X-None: 1"} {
		if err := kept.Send(old("POST", chatPath, streamed, line)); err != nil {
			t.Fatal(err)
		}
		head, err := kept.ReadHead()
		if err != nil || head.Status != 200 || head.Header.Get("Transfer-Encoding") != "" || !strings.EqualFold(head.Header.Get("Connection"), "close") {
			t.Fatalf("a stream: %+v, %v", head, err)
		}
		for _, want := range events[:2] { // before the rest has been sent
			if event, err := kept.ReadEvent(); err != nil || event.Raw != want {
				t.Errorf("event %q, %v, want %q", event.Raw, err, want)
			}
		}
		if line == "Connection: keep-alive" {
			close(goOn)
		}
		if rest, ending := kept.Timeline(); len(rest) != len(events)-2 || ending != gt.Unframed {
			t.Errorf("then %d events, ending %v", len(rest), ending)
		}
		kept.Conn.Close()
		kept = gt.Connect(t, r.data)
	}
	kept.Conn.Close()
	r.ended(map[router.Outcome]int{router.Completed: 13, router.Invalid: 1})
	r.zero(b.all()...)
}
