package gateway

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"sluice/gateway/conn"
	"sluice/gateway/gatewaytest"
	"sluice/gateway/openai"
	"sluice/router"
)

// The holes of fasthttp that the gateway closes; those of accepting, departures
// and shutting down have tests elsewhere.

// A bug in the handler is an answer and an outcome, and not the end of all streams.
func TestBugInTheHandler(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.ChatStream("a")...)
	r := start(t, onePool(2, rep))
	fleet := r.g.handler.fleet
	r.g.handler.fleet = nil // the bug
	answer := r.post(plainStream, "x-request-id: id-of-it")
	if answer.Status != 500 || !strings.HasPrefix(string(answer.Body), openAIError) || answer.Header.Get("x-request-id") != "id-of-it" {
		t.Errorf("answer %d, %q: %s", answer.Status, answer.Header, answer.Body)
	}
	r.quiet()
	if n := r.outcomes(router.Internal); n != 1 {
		t.Errorf("%d ended as internal, want 1", n)
	}
	if log := r.log.String(); !strings.Contains(log, "a bug in the gateway") || !strings.Contains(log, "id-of-it") {
		t.Errorf("the log doesn't tell of the bug:\n%s", log)
	}
	r.g.handler.fleet = fleet
	if answer := r.post(plainStream); answer.Status != 200 || answer.Ending != gatewaytest.Whole {
		t.Errorf("the next answer: %d, %v", answer.Status, answer.Ending)
	}
	r.quiet()
}

// explodes is a replica's body with a bug in it.
type explodes struct{}

func (explodes) Read([]byte) (int, error) { panic("the bug") }

// A bug in mid-stream cuts that stream alone. fasthttp would catch it for a client
// of HTTP/1.1, but not account for it; for one of HTTP/1.0 it would not.
func TestBugInTheRelay(t *testing.T) {
	t.Parallel()
	r := start(t, onePool(2, gatewaytest.NewReplica(t)))
	server := newServer(r.g.started, r.g.handler, r.g.log)
	server.Handler = func(c *fasthttp.RequestCtx) {
		x := newExchange(r.g.handler, r.g.policies.get(), c, openai.Chat, "/v1/chat/completions")
		broken := &relay{x: x, s: newStream(explodes{}, openai.NewWalker(openai.Chat, 1, false), 1<<20)}
		broken.s.buf = append(broken.s.buf, gatewaytest.Content("a")...)
		broken.s.walk()
		if c.Request.Header.IsHTTP11() {
			c.Response.SetBodyStream(broken, -1)
			return
		}
		x.replyWithoutChunks(broken)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := conn.NewListener(plain, conn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	for i, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
		raw := strings.Replace(gatewaytest.Request("POST", "/v1/chat/completions", plainStream), "HTTP/1.1", version, 1)
		answer := gatewaytest.Target{Address: plain.Addr().String()}.Fetch(t, raw)
		if answer.Ending == gatewaytest.Whole || !strings.Contains(string(answer.Body), `"content":"a"`) {
			t.Errorf("%s: answer %d, ending %v: %s", version, answer.Status, answer.Ending, answer.Body)
		}
		eventually(t, "it ends as internal", func() bool { return r.outcomes(router.Internal) == i+1 })
	}
	if err := server.Shutdown(); err != nil {
		t.Error(err)
	}
	<-served
	r.quiet()
}

// Clients of HTTP/1.0 (old proxies, ab) can't read chunks.
func TestHTTP10(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t)
	r := start(t, onePool(2, rep))
	old := func(body string) string {
		return strings.Replace(gatewaytest.Request("POST", "/v1/chat/completions", body, "Connection: Keep-Alive"), "HTTP/1.1", "HTTP/1.0", 1)
	}
	rep.Script(gatewaytest.Send(gatewaytest.ChatAnswer("a", "stop", 1, 1)))
	c := gatewaytest.Connect(t, r.data)
	for range 3 { // ab -k: the connection is kept, and the answers say how long they are
		if err := c.Send(old(plainBody)); err != nil {
			t.Fatal(err)
		}
		answer := wantAnswer(t, c, 200)
		if got := answer.Header.Get("Connection"); !strings.EqualFold(got, "keep-alive") || answer.Header.Get("Transfer-Encoding") != "" {
			t.Errorf("not streamed: headers %q", answer.Header)
		}
	}
	next := make(chan struct{})
	rep.Script(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("a")), gatewaytest.Wait(next),
		gatewaytest.Chunks(gatewaytest.Finish("b", "stop"), gatewaytest.Done), gatewaytest.Send(gatewaytest.FinalChunk))
	if err := c.Send(old(plainStream)); err != nil {
		t.Fatal(err)
	}
	head, err := c.ReadHead()
	if err != nil || head.Status != 200 || head.Header.Get("Transfer-Encoding") != "" || head.Header.Get("Content-Length") != "" || !strings.EqualFold(head.Header.Get("Connection"), "close") {
		t.Fatalf("streamed: %v, %v", head, err)
	}
	for _, want := range []string{gatewaytest.Role, gatewaytest.Content("a")} { // before the rest has been sent
		if event, err := c.ReadEvent(); err != nil || event.Raw != want {
			t.Errorf("event %q, %v, want %q", event.Raw, err, want)
		}
	}
	close(next)
	if rest, ending := c.Timeline(); len(rest) != 2 || ending != gatewaytest.Unframed {
		t.Errorf("then %d events, ending %v", len(rest), ending)
	}
	r.quiet()
	if n := r.outcomes(router.Completed); n != 4 {
		t.Errorf("%d completed, want 4", n)
	}
	rep.Script(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Content("a")), gatewaytest.Close())
	answer := gatewaytest.Target{Address: r.data}.Fetch(t, old(plainStream))
	events := answer.Events()
	if last := events[len(events)-1].Raw; !strings.HasPrefix(last, "data: "+openAIError) {
		t.Errorf("a cut stream ends with %q", last)
	}
	r.quiet()
}

// heap is the bytes in use after a collection.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools are emptied by the second
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Clients that claim much and send little cost what they have sent. Not parallel,
// as it looks at the memory of the whole process.
func TestClaimsCostNothing(t *testing.T) {
	r := start(t, onePool(2, gatewaytest.NewReplica(t)))
	before := heap()
	const each = 70
	claims := map[string]string{
		"one byte":        chat(fmt.Sprintf("Content-Length: %d\r\n", 16<<20), "{"),
		"nine KiB":        chat(fmt.Sprintf("Content-Length: %d\r\n", 16<<20), "{"+strings.Repeat(" ", 9<<10)),
		"one huge chunk":  chat(coded, "1000000\r\n{"),
		"nothing at all":  "P",
		"half of a head":  "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway.test\r\nX-Large: " + strings.Repeat("x", 20<<10),
		"one byte, waits": chat(fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n", 16<<20), "{"),
	}
	for _, raw := range claims {
		for range each {
			if err := gatewaytest.Connect(t, r.data).Send(raw); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Two kinds have come as far as our own reader.
	eventually(t, "the bodies are being read", func() bool {
		return sum(r.metrics(), "sluice_requests_in_flight", `state="reading"`) >= 2*each
	})
	// Each has a read buffer of limits.headers=32 KiB, and the first 16 KiB of a body.
	if grown, most := heap()-before, len(claims)*each*64<<10; grown > most {
		t.Errorf("%d connections that claim 16 MiB cost %d KiB, at most %d KiB are due", len(claims)*each, grown>>10, most>>10)
	}
}

// A large body is held until its answer begins, and no longer: neither while the
// answer streams nor by the idle connection afterwards.
func TestBodiesAreNotHeld(t *testing.T) {
	const clients, size = 20, 2 << 20
	goOn := make(chan struct{})
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Content("a")), gatewaytest.Wait(goOn),
		gatewaytest.Chunks(gatewaytest.Finish("b", "stop"), gatewaytest.Done), gatewaytest.Send(gatewaytest.FinalChunk))
	r := start(t, onePool(clients, rep))
	body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"pad":%q}`, strings.Repeat("x", size))
	before := heap()
	open := make([]*gatewaytest.Client, clients)
	for i := range open {
		open[i] = gatewaytest.Connect(t, r.data)
		if err := open[i].Send(gatewaytest.Request("POST", "/v1/chat/completions", body)); err != nil {
			t.Fatal(err)
		}
		if _, err := open[i].ReadHead(); err != nil {
			t.Fatal(err)
		}
	}
	recorded := 0 // the replica is in the process too, and keeps what it gets
	for _, call := range rep.Calls() {
		recorded += cap(call.Raw) + cap(call.Body)
	}
	if grown := heap() - before - recorded; grown > clients*size/8 {
		t.Errorf("%d streams whose requests had %d KiB hold %d KiB", clients, size>>10, grown>>10)
	}
	close(goOn)
	for _, c := range open {
		if _, ending := c.Timeline(); ending != gatewaytest.Whole {
			t.Errorf("ending %v", ending)
		}
	}
	r.quiet()
	if grown := heap() - before - recorded; grown > clients*size/8 {
		t.Errorf("%d idle connections hold %d KiB of the %d KiB that each sent", clients, grown>>10, size>>10)
	}
	if held := r.g.handler.bodies.held.Load(); held != 0 {
		t.Errorf("limits.held_bodies counts %d bytes", held)
	}
}
