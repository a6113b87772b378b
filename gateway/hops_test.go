package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// What is for one hop ends at the gateway; the rest arrives as it was sent.
func TestRequestHeadersEndToEnd(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("x", "stop", 1, 1)))
	r := start(t, onePool(4, rep))
	answer := r.post(plainBody,
		"Connection: X-Foo, keep-alive", "Connection: x-bar", "X-Foo: 1", "X-Bar: 1", "Keep-Alive: timeout=5", "TE: trailers",
		"Proxy-Authorization: Basic abc", "Proxy-Connection: keep-alive", "Upgrade: h2c", "HTTP2-Settings: AAA", "Trailer: X-T",
		"Authorization: Bearer secret", "x-api-key: secret", "x-sluice-class: decode",
		"X-Two: a", "X-One: z", "X-Two: b", "X-Empty:", "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"x-request-id: abc-1", "X-Forwarded-For: 10.0.0.1", "X-Forwarded-For: 10.0.0.2", "Cookie: a=b; c=d",
		"Accept-Encoding: gzip, br", "User-Agent: test/1", "X-Under_Score: 1", "X-Spaced:   both sides  ")
	if answer.Status != 200 {
		t.Fatalf("answer %d: %s", answer.Status, answer.Body)
	}
	want := gatewaytest.Header{
		{Name: "Host", Value: rep.Address()}, // the replica's, as for any client that calls it
		{Name: "X-Two", Value: "a"}, {Name: "X-One", Value: "z"}, {Name: "X-Two", Value: "b"}, {Name: "X-Empty", Value: ""},
		{Name: "Traceparent", Value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		{Name: "Cookie", Value: "a=b; c=d"}, {Name: "User-Agent", Value: "test/1"}, {Name: "X-Spaced", Value: "both sides"},
		{Name: "Content-Type", Value: "application/json"},
		{Name: "Accept-Encoding", Value: "identity"},
		{Name: "X-Request-Id", Value: "abc-1"},
		{Name: "X-Forwarded-For", Value: "10.0.0.1, 10.0.0.2, 127.0.0.1"},
		{Name: "Content-Length", Value: fmt.Sprint(len(rep.Call(0).Body))},
	}
	if got := rep.Call(0).Header; !slices.Equal(got, want) {
		t.Errorf("the replica got\n%q\nwant\n%q", got, want)
	}
	r.quiet()
}

func TestAnswerHeadersEndToEnd(t *testing.T) {
	t.Parallel()
	body := `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.JSON(200, body,
		"Connection: close, X-Hop", "X-Hop: 1", "Keep-Alive: timeout=5", "Trailer: X-T", "Proxy-Authenticate: Basic", "Upgrade: h2c",
		"Set-Cookie: a=1; Path=/", "Set-Cookie: a=2; Path=/x", "x-lowercase: 1", "X-UPPER: 2", "x-empty:", "x-twice: b", "x-twice: a",
		"server: uvicorn", "x-ratelimit-remaining-requests: 7", "x-large: "+strings.Repeat("v", 9<<10))), gatewaytest.Close())
	r := start(t, onePool(4, rep))
	answer := r.post(plainBody)
	if answer.Status != 200 || string(answer.Body) != body {
		t.Fatalf("answer %d: %s", answer.Status, answer.Body)
	}
	for name, want := range map[string][]string{
		"Connection": nil, "X-Hop": nil, "Keep-Alive": nil, "Trailer": nil, "Proxy-Authenticate": nil, "Upgrade": nil,
		"Transfer-Encoding": nil, "Content-Length": {fmt.Sprint(len(body))},
		"Set-Cookie": {"a=1; Path=/", "a=2; Path=/x"}, "X-Lowercase": {"1"}, "X-Upper": {"2"}, "X-Empty": {""}, "X-Twice": {"b", "a"},
		"Server": {"uvicorn"}, "X-Ratelimit-Remaining-Requests": {"7"}, "X-Large": {strings.Repeat("v", 9<<10)},
		"Content-Type": {"application/json"}, "X-Sluice-Pool": {"p"},
	} {
		if got := answer.Header.Values(name); !slices.Equal(got, want) {
			t.Errorf("%s: got %.60q, want %.60q", name, got, want)
		}
	}
	for _, f := range answer.Header {
		if strings.EqualFold(f.Name, "x-lowercase") && f.Name != "x-lowercase" {
			t.Errorf("the name's case has changed: %q", f.Name)
		}
	}
	if dates := answer.Header.Values("Date"); len(dates) != 1 {
		t.Errorf("dates: %q", dates)
	}
	r.quiet()
}

// Headers up to the documented limit pass; above it the client can read why not.
func TestHeaderSizes(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("x", "stop", 1, 1)))
	r := start(t, onePool(4, rep))
	for kib, want := range map[int]int{3: 200, 5: 200, 15: 200, 30: 200, 70: 431, 200: 431} {
		value := strings.Repeat("v", kib<<10)
		answer := r.post(plainBody, "X-Large: "+value)
		if answer.Status != want || answer.Ending != gatewaytest.Whole {
			t.Errorf("%d KiB: answer %d, ending %v, %v, want %d", kib, answer.Status, answer.Ending, answer.Err, want)
		}
		if want == 431 && !strings.Contains(string(answer.Body), "limits.headers") {
			t.Errorf("%d KiB: the answer doesn't name the limit: %s", kib, answer.Body)
		}
	}
	answer := r.post(plainBody, strings.Repeat("X-Line: 1\r\n", 120)+"X-Last: 1")
	if answer.Status != 431 || !strings.Contains(string(answer.Body), "limits.header_lines=100") {
		t.Errorf("120 lines: answer %d: %s", answer.Status, answer.Body)
	}
	r.quiet()
	if n := r.outcomes(router.TooLarge); n != 1 { // the blocks over limits.headers were never read, so they have no line in the ledger
		t.Errorf("%d are too large, want 1", n)
	}
}
