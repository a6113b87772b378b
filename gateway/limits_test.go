package gateway

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

// One client too many hears so, in words that clients understand; the others
// don't notice.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Content("a")), gatewaytest.Stall())
	r := start(t, onePool(8, rep)+"limits: {connections: 3}\n")
	var streams [3]*gatewaytest.Client
	for i := range streams {
		streams[i] = gatewaytest.Connect(t, r.data)
		if err := streams[i].Send(gatewaytest.Request("POST", "/v1/chat/completions", plainStream)); err != nil {
			t.Fatal(err)
		}
		if _, err := streams[i].ReadHead(); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		answer := r.post(plainBody)
		if answer.Status != 503 || answer.Header.Get("Retry-After") != "1" || answer.Ending != gatewaytest.Whole ||
			!strings.HasPrefix(string(answer.Body), openAIError) || !strings.Contains(string(answer.Body), "limits.connections=3") {
			t.Errorf("answer %d, %q, %v: %s", answer.Status, answer.Header, answer.Err, answer.Body)
		}
	}
	rep.Script(gatewaytest.ChatStream("a")...)
	streams[0].Close()
	eventually(t, "one that has left makes room for another", func() bool { return r.post(plainStream).Status == 200 })
	if n := sum(r.metrics(), "sluice_accept_errors_total"); n < 5 {
		t.Errorf("%v were counted as not accepted, want at least 5", n)
	}
	streams[1].Close()
	streams[2].Close()
	r.quiet()
}

// A client that dawdles is told, whether with its headers or with its body.
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	r := start(t, onePool(2, gatewaytest.NewReplica(t))+"timeouts: {read_headers: 1s, read_body: 1s}\n")
	half := fmt.Sprintf("Content-Length: %d\r\n", 20<<10)
	var all sync.WaitGroup
	for name, raw := range map[string]string{
		"one byte":                 "P",
		"half a head":              "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway.test\r\n",
		"bare line feeds":          "POST /v1/chat/completions HTTP/1.1\nHost: gateway.test\nContent-Length: 0\n\n", // never ends, by CRLF
		"half a body":              chat(half, "{"),
		"half a body, 9 KiB":       chat(half, "{"+strings.Repeat(" ", 9<<10)),
		"nothing of a body, asked": chat("Expect: 100-continue\r\n"+half, ""),
	} {
		c := gatewaytest.Connect(t, r.data)
		if err := c.Send(raw); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			answer, err := c.ReadAnswer()
			if err != nil || answer.Status != 408 || answer.Ending != gatewaytest.Whole || !strings.HasPrefix(string(answer.Body), openAIError) {
				t.Errorf("%s: %v, %v", name, answer, err)
			}
			if err := c.WaitClosed(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
	r.quiet()
}

// A drip of bytes isn't progress: the limits are on the whole head and body.
func TestDrippingHead(t *testing.T) {
	t.Parallel()
	r := start(t, onePool(2, gatewaytest.NewReplica(t))+"timeouts: {read_headers: 400ms}\n")
	c := gatewaytest.Connect(t, r.data)
	drip := time.NewTicker(50 * time.Millisecond)
	defer drip.Stop()
	answered := make(chan *gatewaytest.Response)
	go func() {
		answer, err := c.ReadAnswer()
		if err != nil {
			t.Error(err)
		}
		answered <- answer
	}()
	raw := chat("X-Long: "+strings.Repeat("x", 1000)+"\r\n", "")
	for i := 0; ; i++ {
		select {
		case <-drip.C:
			_, _ = io.WriteString(c.Conn, raw[i:i+1]) // fails once the gateway has had enough
		case answer := <-answered:
			if answer == nil || answer.Status != 408 || i < 4 {
				t.Errorf("after %d bytes: %v", i, answer)
			}
			return
		}
	}
}

// Keys don't get into the log with what could not be read, whatever the level.
func TestLogsHoldNothingOfMalformedRequests(t *testing.T) {
	t.Parallel()
	const canary = "sk-canary-0123456789"
	r := start(t, onePool(2, gatewaytest.NewReplica(t)))
	key := "Authorization: Bearer " + canary + "\r\n"
	for i, raw := range []string{
		"POST /v1/chat/completions?key=" + canary + "\r\nHost: x\r\n" + key + "\r\n",
		"GET\r\n" + key + "\r\n",
		"POST /v1/chat completions HTTP/1.1\r\n" + key + "\r\n",
		"POST /a\x01" + canary + " HTTP/1.1\r\nHost: x\r\n" + key + "\r\n",
		"POST " + canary + " HTTP/1.1\r\nHost: x\r\n" + key + "\r\n",
		"POST / HTTP/9" + canary + "\r\nHost: x\r\n" + key + "\r\n",
		"POST / HTTP/1.1\r\n" + key + "\r\n", // no host
		chat("Authorization: Bearer "+canary+"\x01\r\n", ""),
		chat("Authorization "+canary+"\r\n", ""),
		chat("Authorization\x00: "+canary+"\r\n", ""),
		chat(key+"Content-Length: "+canary+"\r\n", ""),
		chat(key+"Transfer-Encoding: "+canary+"\r\n", ""),
		chat(key+coded, canary+"\r\n"),
		chat(key+coded, "1;"+canary+"\nx\r\n"),
		chat(key+coded+"Trailer: "+canary+"\r\n", "0\r\nAuthorization: "+canary+"\r\n\r\n"),
		chat(key+"X-Folded: a\r\n "+canary+"\r\n", ""),
		chat(key+plainLength, canary+plainBody[len(canary):]),
		chat(key+"x-request-id: "+canary+" with spaces\r\n"+plainLength, strings.Repeat("{", len(plainBody))),
		chat(key+"X-Large: "+strings.Repeat("x", 40<<10)+"\r\n", ""),
		"\x16\x03\x01" + canary + "\r\n\r\n",
	} {
		c := gatewaytest.Connect(t, r.data)
		if err := c.Send(raw); err != nil {
			t.Fatal(err)
		}
		answer, err := c.ReadAnswer()
		if err != nil || answer.Status < 400 {
			t.Errorf("%d: answer %v, %v to %q", i, answer, err, raw)
			continue
		}
		if strings.Contains(string(answer.Body), canary) {
			t.Logf("%d: the answer repeats it, to the one who sent it: %s", i, answer.Body)
		}
		c.Close()
	}
	r.quiet()
	for name, log := range map[string]string{"log": r.log.String(), "access log": r.access.String()} {
		if strings.Contains(log, canary) {
			t.Errorf("the %s holds the key:\n%s", name, log)
		}
	}
	if !strings.Contains(r.log.String(), "could not be read") {
		t.Errorf("the debug log says nothing of them:\n%s", r.log)
	}
}
