package gateway

import (
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

// The smuggling corpus: messages that two readers could take for different ones,
// written from RFC 9112, and what each must get. Requests are in the tables
// requestLines, requestHeads and requestBodies, answers of replicas in
// replicaHeads and replicaBodies, each in a file of its own. Behind every one
// comes a marker, a second message that is to be taken for one only where the
// end of the first is beyond doubt.

// marker is a second request hidden behind a first one.
const marker = "GET /smuggled HTTP/1.1\r\nHost: gateway.test\r\n\r\n"

// suspect is one request of the corpus.
type suspect struct {
	name string
	rfc  string // the section of RFC 9112 that it tries, or of another where that is named
	raw  string // without the marker
	want verdict
}

// verdict is the statuses that a client reads from the connection, the marker's
// 404 among them, until it is silent or closed.
type verdict string

const (
	turnedDown verdict = "400 closed"     // nothing behind it is read
	lastOne    verdict = "200 closed"     // one request, of chunks, behind which nothing is read
	takenOnce  verdict = "200 404"        // one request, and the marker is the next
	bodiless   verdict = "400 404"        // one request without a body, which is refused for that; the marker is the next
	cutShort   verdict = "400 400 closed" // one request, refused; what follows begins with its own rest, and is none
	swallowed  verdict = "400 silent"     // the marker is the end of its body, which is no JSON
)

// closing is turnedDown with another status.
func closing(status int) verdict { return verdict(fmt.Sprintf("%d closed", status)) }

// chat is a chat request whose framing is the test's own.
func chat(lines, body string) string {
	return "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway.test\r\n" + lines + "\r\n" + body
}

var (
	plainBody   = gatewaytest.ChatBody("m", "hi", false)
	plainStream = gatewaytest.ChatBody("m", "hi", true)
	chunkedBody = gatewaytest.Chunk(plainBody) + gatewaytest.FinalChunk
	plainLength = fmt.Sprintf("Content-Length: %d\r\n", len(plainBody))
)

const coded = "Transfer-Encoding: chunked\r\n"

// oneByteChunk is the body with a size line of the test's own before its first byte.
func oneByteChunk(size string) string {
	return size + "\r\n" + plainBody[:1] + "\r\n" + gatewaytest.Chunk(plainBody[1:]) + gatewaytest.FinalChunk
}

// TestSmuggledRequests sends each request of the corpus with its marker. What is
// refused reaches no replica; what is taken reaches it once, whole, with one
// length of the gateway's own.
func TestSmuggledRequests(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("x", "stop", 1, 1)))
	r := start(t, onePool(64, rep)+"limits: {body: 64KiB}\ntimeouts: {read_body: 1s}\n")
	corpus := append(append(append([]suspect{}, requestLines...), requestHeads...), requestBodies...)
	names, taken := make(map[string]bool), 0
	for _, s := range corpus {
		if names[s.name] {
			t.Fatalf("two requests are called %q", s.name)
		}
		names[s.name] = true
		if strings.HasPrefix(string(s.want), "200") && !strings.Contains(s.raw, "GET /v1/models") { // which goes to no replica
			taken++
		}
		t.Run(s.name, func(t *testing.T) {
			if got := verdictOn(t, r, s.raw+marker, s.want); got != s.want {
				t.Errorf("section %s: got %q, want %q\n%q", s.rfc, got, s.want, s.raw)
			}
		})
	}
	checkReplicaSaw(t, rep, taken)
	r.quiet()
	t.Logf("%d requests, of which %d are taken", len(corpus), taken)
}

// verdictOn sends raw and reads the statuses that come back, as many as are wanted
// and whatever comes behind them.
func verdictOn(t *testing.T, r *rig, raw string, want verdict) verdict {
	t.Helper()
	c := gatewaytest.Connect(t, r.data)
	if err := c.Send(raw); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range strings.Count(string(want), " ") + 1 {
		if len(got) > 0 && strings.HasSuffix(string(want), "silent") {
			break
		}
		answer, err := c.ReadAnswer()
		if err != nil {
			break
		}
		if answer.Ending != gatewaytest.Whole {
			t.Errorf("answer %d, ending %v: %s", answer.Status, answer.Ending, answer.Body)
		}
		got = append(got, fmt.Sprint(answer.Status))
	}
	switch {
	case strings.HasSuffix(string(want), "closed"):
		if err := c.WaitClosed(); err != nil {
			return verdict(strings.Join(append(got, err.Error()), " "))
		}
		got = append(got, "closed")
	case strings.HasSuffix(string(want), "silent"):
		// A request of its own is answered next: nothing was left of the marker.
		if err := c.Send(strings.Replace(marker, "GET", "PUT", 1)); err != nil {
			t.Error(err)
		}
		if answer, err := c.ReadAnswer(); err != nil || answer.Status != 404 {
			t.Errorf("the next answer: %v, %v", answer, err)
		}
		if err := c.CloseWrite(); err != nil {
			t.Error(err)
		}
		if err := c.WaitClosed(); err != nil {
			t.Errorf("the marker was answered too: %v", err)
		}
		got = append(got, "silent")
	}
	return verdict(strings.Join(got, " "))
}

// checkReplicaSaw checks that whole requests came, as many as were sent, and
// nothing of a marker.
func checkReplicaSaw(t *testing.T, rep *gatewaytest.Replica, want int) {
	t.Helper()
	calls := rep.Calls()
	if len(calls) != want {
		t.Errorf("the replica got %d requests, want %d", len(calls), want)
	}
	for _, call := range calls {
		if strings.Contains(string(call.Raw), "smuggled") || string(call.Body) != strings.Replace(plainBody, `"m"`, `"served"`, 1) {
			t.Errorf("the replica got %q", call.Raw)
		}
		if n := call.Header.Values("Content-Length"); len(n) != 1 || call.Header.Get("Transfer-Encoding") != "" {
			t.Errorf("framing for the replica: %q", call.Header)
		}
		for _, f := range call.Header {
			if n := strings.ToLower(f.Name); strings.Contains(n, "_") || n == "x-sum" || n == "trailer" || n == "upgrade" || n == "te" || n == "expect" {
				t.Errorf("the replica got %s: %q", f.Name, f.Value)
			}
		}
	}
}

// Nothing of a request goes to a replica before its last byte has come and its
// framing is known to be good.
func TestNothingGoesAheadOfTheBody(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("x", "stop", 1, 1)))
	r := start(t, onePool(4, rep))
	for name, test := range map[string]struct {
		first, last string
		status      int
	}{
		"a length":            {chat(plainLength, plainBody[:len(plainBody)-1]), "}", 200},
		"chunks":              {chat(coded, chunkedBody[:len(chunkedBody)-1]), "\n", 200},
		"a bad chunk":         {chat(coded, gatewaytest.Chunk(plainBody)), "0x0\r\n\r\n", 400},
		"text behind a chunk": {chat(coded, strings.TrimSuffix(gatewaytest.Chunk(plainBody), "\r\n")), "0\r\n\r\n", 400},
		"a bad trailer":       {chat(coded, gatewaytest.Chunk(plainBody)+"0\r\n"), "no colon\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			calls := len(rep.Calls())
			c := gatewaytest.Connect(t, r.data)
			if err := c.Send(test.first); err != nil {
				t.Fatal(err)
			}
			eventually(t, "its body is being read", func() bool {
				return sum(r.metrics(), "sluice_requests_in_flight", `state="reading"`) == 1
			})
			if r.held() != 0 || len(rep.Calls()) != calls || rep.Running() != 0 {
				t.Errorf("%d sequences are held, the replica has %d requests", r.held(), len(rep.Calls())-calls)
			}
			if err := c.Send(test.last); err != nil {
				t.Fatal(err)
			}
			wantAnswer(t, c, test.status)
		})
	}
	if n := len(rep.Calls()); n != 2 {
		t.Errorf("the replica got %d requests, want 2", n)
	}
	r.quiet()
}

// wantAnswer reads one answer.
func wantAnswer(t *testing.T, c *gatewaytest.Client, status int) *gatewaytest.Response {
	t.Helper()
	answer, err := c.ReadAnswer()
	if err != nil {
		t.Fatalf("no answer: %v, want %d", err, status)
	}
	if answer.Status != status || answer.Ending != gatewaytest.Whole {
		t.Fatalf("answer %d, ending %v, want %d: %s", answer.Status, answer.Ending, status, answer.Body)
	}
	return answer
}

// Requests that are answered before their body has been read: what follows on
// the connection is still body, and never a request.
func TestEarlyRefusalLeavesNoBodyBehind(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Stall())
	r := start(t, onePool(1, rep)+`limits: {body: 64KiB}
tenants: {a: {key_sha256: ["2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"]}}
`) // the digest of "foo"
	const key = "Authorization: Bearer foo\r\n"
	long := fmt.Sprintf("Content-Length: %d\r\n", 16<<20)
	for name, test := range map[string]struct {
		raw    string
		status int
	}{
		"too large":          {chat(key+long, strings.Repeat(" ", 9<<10)+marker), 413},
		"too large, chunked": {chat(key+coded, gatewaytest.Chunk(strings.Repeat(" ", 65<<10))+marker), 413},
		"wrong method":       {strings.Replace(chat("Content-Length: 60000\r\n", strings.Repeat(" ", 9<<10)+marker), "POST", "PUT", 1), 405},
		"models don't take":  {strings.Replace(chat("Content-Length: 60000\r\n", strings.Repeat(" ", 9<<10)+marker), "chat/completions", "models", 1), 405},
		"key unknown":        {chat("Content-Length: 60000\r\n", strings.Repeat(" ", 9<<10)+marker), 401},
		"no such path":       {strings.Replace(chat("Content-Length: 60000\r\n", strings.Repeat(" ", 9<<10)+marker), "/v1/chat", "/v2/chat", 1), 404},
		"compressed":         {chat(key+"Content-Encoding: gzip\r\nContent-Length: 60000\r\n", strings.Repeat(" ", 9<<10)+marker), 415},
		"too many lines":     {chat(key+strings.Repeat("X-A: 1\r\n", 101)+"Content-Length: 60000\r\n", strings.Repeat(" ", 9<<10)+marker), 431},
	} {
		t.Run(name, func(t *testing.T) {
			if got := verdictOn(t, r, test.raw, closing(test.status)); got != closing(test.status) {
				t.Errorf("got %q, want %q", got, closing(test.status))
			}
		})
		if name == "too large, chunked" {
			continue // its headers don't say so
		}
		t.Run(name+", asks first", func(t *testing.T) {
			c := gatewaytest.Connect(t, r.data)
			if err := c.Send(strings.Replace(test.raw, "\r\n", "\r\nExpect: 100-continue\r\n", 1)); err != nil {
				t.Fatal(err)
			}
			head, err := c.ReadHead()
			if err != nil || head.Status != test.status {
				t.Fatalf("answer %+v, %v; want %d, and not to be asked for the body", head, err, test.status)
			}
			if body, err := c.ReadBody(); err != nil || len(body) == 0 {
				t.Errorf("%q, %v", body, err)
			}
			if err := c.WaitClosed(); err != nil {
				t.Errorf("after the refusal: %v", err)
			}
		})
	}
	if calls := rep.Calls(); len(calls) != 0 {
		t.Errorf("the replica got %q", calls[0].Raw)
	}
	r.quiet()
}
