package gateway

import (
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// marker is a second request hidden behind a first one. It must never be taken
// for a request where the first one's end is in doubt.
const marker = "GET /smuggled HTTP/1.1\r\nHost: gateway.test\r\n\r\n"

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

func TestRequestFramingIsStrict(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("x", "stop", 1, 1)))
	r := start(t, onePool(4, rep)+"limits: {body: 64KiB}\n")
	refused := map[string]string{
		"length, then coding":               chat(plainLength+coded, chunkedBody),
		"coding, then length":               chat(coded+plainLength, chunkedBody),
		"coding twice":                      chat(coded+coded, chunkedBody),
		"two codings":                       chat("Transfer-Encoding: chunked, identity\r\n", chunkedBody),
		"identity":                          chat("Transfer-Encoding: identity\r\n", plainBody),
		"another coding":                    chat("Transfer-Encoding: xchunked\r\n", chunkedBody),
		"coding behind a tab":               chat("Transfer-Encoding:\tchunked\r\n", chunkedBody),
		"space before the colon":            chat("Transfer-Encoding : chunked\r\n", chunkedBody),
		"space before the length's":         chat(strings.Replace(plainLength, ":", " :", 1), plainBody),
		"space in a name":                   chat("X Foo: 1\r\n"+plainLength, plainBody),
		"folded":                            chat("X-Foo: a\r\n b\r\n"+plainLength, plainBody),
		"folded coding":                     chat("Transfer-Encoding:\r\n chunked\r\n", chunkedBody),
		"first line folded":                 strings.Replace(chat(plainLength, plainBody), "Host", " Host", 1),
		"two lengths":                       chat("Content-Length: 5\r\nContent-Length: 6\r\n", plainBody),
		"one length twice":                  chat(plainLength+plainLength, plainBody),
		"length with a sign":                chat("Content-Length: +5\r\n", plainBody),
		"negative length":                   chat("Content-Length: -1\r\n", plainBody),
		"list of lengths":                   chat("Content-Length: 5,5\r\n", plainBody),
		"length in hex":                     chat("Content-Length: 0x5\r\n", plainBody),
		"no length in its line":             chat("Content-Length:\r\n", plainBody),
		"length beyond all bounds":          chat("Content-Length: 99999999999999999999\r\n", plainBody),
		"one bare LF":                       chat("X-Foo: 1\n"+plainLength, plainBody),
		"bare LF everywhere":                strings.ReplaceAll(chat(plainLength, plainBody), "\r\n", "\n"),
		"CR in a value":                     chat("X-Foo: a\rb\r\n"+plainLength, plainBody),
		"NUL in a value":                    chat("X-Foo: a\x00b\r\n"+plainLength, plainBody),
		"no host":                           "POST /v1/chat/completions HTTP/1.1\r\n" + plainLength + "\r\n" + plainBody,
		"two hosts":                         chat("Host: other.test\r\n"+plainLength, plainBody),
		"chunk size with 0x":                chat(coded, oneByteChunk("0x1")),
		"negative chunk size":               chat(coded, oneByteChunk("-1")),
		"huge chunk size":                   chat(coded, oneByteChunk("1"+strings.Repeat("0", 16))),
		"no chunk size":                     chat(coded, oneByteChunk("")),
		"chunk size behind a bare LF":       chat(coded, strings.Replace(chunkedBody, "\r\n", "\n", 1)),
		"chunk longer than said":            chat(coded, strings.Replace(chunkedBody, "}\r\n", "}x\r\n", 1)),
		"coding in HTTP/1.0":                strings.Replace(chat(coded, chunkedBody), "HTTP/1.1", "HTTP/1.0", 1),
		"forbidden trailer":                 chat(coded, strings.Replace(chunkedBody, "0\r\n", "0\r\nContent-Length: 5\r\n", 1)),
		"a length as a trailer in disguise": chat(coded, strings.Replace(chunkedBody, "0\r\n", "0\r\nTransfer-Encoding: chunked\r\n", 1)),
	}
	for name, raw := range refused {
		t.Run(name, func(t *testing.T) {
			c := gatewaytest.Connect(t, r.data)
			if err := c.Send(raw + marker); err != nil {
				t.Fatal(err)
			}
			wantAnswer(t, c, 400)
			if err := c.WaitClosed(); err != nil {
				t.Errorf("after the refusal: %v", err)
			}
		})
	}
	accepted := map[string]string{
		"small letters":           chat("transfer-encoding: chunked\r\n", chunkedBody),
		"extension":               chat(coded, oneByteChunk("1;ext")),
		"extension with a value":  chat(coded, oneByteChunk(`1;a="b"`)),
		"leading zeros":           chat(coded, oneByteChunk("0001")),
		"space behind the size":   chat(coded, oneByteChunk("1 ")),
		"length":                  chat(plainLength, plainBody),
		"spaces round a length":   chat(strings.Replace(plainLength, ": ", ":   ", 1), plainBody),
		"underscore":              chat("Content_Length: 5\r\n"+plainLength, plainBody),
		"request line and LF":     strings.Replace(chat(plainLength, plainBody), "\r\n", "\n", 1),
		"empty line before":       "\r\n" + chat(plainLength, plainBody),
		"trailer":                 chat(coded+"Trailer: X-Sum\r\n", strings.Replace(chunkedBody, "0\r\n", "0\r\nX-Sum: 1\r\n", 1)),
		"absolute address":        strings.Replace(chat(plainLength, plainBody), "/v1/", "http://else.test/v1/", 1),
		"later version of HTTP/1": strings.Replace(chat("Connection: keep-alive\r\n"+plainLength, plainBody), "HTTP/1.1", "HTTP/1.2", 1),
	}
	for name, raw := range accepted {
		t.Run(name, func(t *testing.T) {
			c := gatewaytest.Connect(t, r.data)
			if err := c.Send(raw + marker); err != nil {
				t.Fatal(err)
			}
			wantAnswer(t, c, 200)
			wantAnswer(t, c, 404) // the marker is a request of its own here, for nothing there is
		})
	}
	checkReplicaSaw(t, rep, len(accepted))
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

// checkReplicaSaw checks that whole requests came, as many as were sent, and
// nothing of a marker.
func checkReplicaSaw(t *testing.T, rep *gatewaytest.Replica, want int) {
	t.Helper()
	calls := rep.Calls()
	if len(calls) != want {
		t.Errorf("the replica got %d requests, want %d", len(calls), want)
	}
	for _, call := range calls {
		if strings.Contains(string(call.Raw), "smuggled") || !strings.Contains(string(call.Body), `"content":"hi"`) {
			t.Errorf("the replica got %q", call.Raw)
		}
		if n := call.Header.Values("Content-Length"); len(n) != 1 || call.Header.Get("Transfer-Encoding") != "" {
			t.Errorf("framing for the replica: %q", call.Header)
		}
		for _, name := range []string{"Content_Length", "X-Sum", "Trailer"} {
			if v := call.Header.Values(name); v != nil {
				t.Errorf("the replica got %s: %q", name, v)
			}
		}
	}
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
			c := gatewaytest.Connect(t, r.data)
			if err := c.Send(test.raw); err != nil {
				t.Fatal(err)
			}
			wantAnswer(t, c, test.status)
			if err := c.WaitClosed(); err != nil {
				t.Errorf("after the refusal: %v", err)
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

// A replica whose answer could be read in two ways is hung up on.
func TestAnswerFramingIsStrict(t *testing.T) {
	t.Parallel()
	body := gatewaytest.ChatAnswer("x", "stop", 1, 1)
	body = body[strings.Index(body, "\r\n\r\n")+4:]
	head := func(lines ...string) string {
		return gatewaytest.Head(200, append([]string{"content-type: application/json"}, lines...)...)
	}
	length := fmt.Sprint("content-length: ", len(body))
	const coding = "transfer-encoding: chunked"
	chunked := gatewaytest.Chunk(body) + gatewaytest.FinalChunk
	rep := gatewaytest.NewReplica(t)
	r := start(t, onePool(4, rep)+"limits: {headers: 16KiB}\n")
	for name, test := range map[string]struct {
		answer string
		want   router.Outcome
	}{
		"length and coding":  {head(length, coding) + chunked, router.Lost},
		"coding and length":  {head(coding, length) + chunked, router.Lost},
		"coding twice":       {head(coding, coding) + chunked, router.Lost},
		"two codings":        {head("transfer-encoding: chunked, identity") + chunked, router.Lost},
		"two lengths":        {head(length, "content-length: 5") + body, router.Lost},
		"length with a sign": {head("content-length: +5") + body, router.Lost},
		"list of lengths":    {head("content-length: 5,5") + body, router.Lost},
		"folded":             {head("x-foo: a\r\n b", length) + body, router.Lost},
		"bare LF":            {head("x-foo: a\nx-bar: b", length) + body, router.Lost},
		"CR in a value":      {head("x-foo: a\rb", length) + body, router.Lost},
		"space before colon": {head("x-foo : a", length) + body, router.Lost},
		"headers too large":  {head("x-foo: "+strings.Repeat("a", 40<<10), length) + body, router.Lost},
		"chunk size with 0x": {head(coding) + "0x1\r\n" + body[:1] + "\r\n" + chunked, router.Lost},
		"chunk size huge":    {head(coding) + "ffffffffffffffff1\r\n" + body, router.Lost},
		"bad later chunk":    {head(coding) + gatewaytest.Chunk(body[:9]) + "x\r\n" + body[9:], router.Truncated},
	} {
		t.Run(name, func(t *testing.T) {
			before := r.outcomes(test.want)
			rep.Script(gatewaytest.Send(test.answer))
			answer := r.post(plainBody)
			if answer.Status != 502 || answer.Ending != gatewaytest.Whole {
				t.Errorf("answer %d, ending %v: %s", answer.Status, answer.Ending, answer.Body)
			}
			if n := r.outcomes(test.want); n != before+1 {
				t.Errorf("%d ended as %v, want 1", n-before, test.want)
			}
			rep.Script(gatewaytest.Send(gatewaytest.ChatAnswer("x", "stop", 1, 1)))
			if answer := r.post(plainBody); answer.Status != 200 {
				t.Errorf("the next answer is %d: %s", answer.Status, answer.Body)
			}
			calls := rep.Calls()
			if bad, next := calls[len(calls)-2], calls[len(calls)-1]; bad.Conn == next.Conn {
				t.Error("the connection was used again")
			}
		})
	}
	r.quiet()
}
