package vllmsim

import (
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

// startPublished serves a replica all of whose cells are as r.
func startPublished(t *testing.T, r row) (*Server, string) {
	t.Helper()
	s, address := start(t, Options{Published: true, Speed: maxSpeed})
	p := s.engine.(*published)
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.rows {
		p.rows[w] = r
	}
	return s, address
}

// What fails early fails as with a vLLM whose engine gave up on the request.
func TestPublishedEarlyFailures(t *testing.T) {
	s, address := startPublished(t, failing)
	chat := gatewaytest.ChatBody
	if got := post(t, address, chatPath, chat("m", "hi", false)); got.Status != 500 || !strings.Contains(string(got.Body), `"type":"InternalServerError"`) {
		t.Errorf("not streamed: status %d, %s", got.Status, got.Body)
	}
	got := post(t, address, chatPath, chat("m", "hi", true))
	if body := string(got.Body); got.Status != 200 || !strings.HasPrefix(body, `data: {"error":`) || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("streamed: status %d, %s", got.Status, body)
	}
	if s.Held() != 0 || s.Served() != 0 {
		t.Errorf("%d held, %d served", s.Held(), s.Served())
	}
	if !strings.Contains(string(scrape(t, address)), `finished_reason="error",model_name="m"} 2.0`) {
		t.Error("early failures aren't counted as errors")
	}
}

// What is lost takes a place until its client leaves, or is taken to have left.
func TestPublishedLostRequests(t *testing.T) {
	s, address := startPublished(t, losing)
	f := func(stream bool) {
		t.Helper()
		c := gatewaytest.Connect(t, address)
		c.Send(gatewaytest.Request("POST", chatPath, gatewaytest.ChatBody("m", "hi", stream)))
		head, err := c.ReadHead()
		if stream != (err == nil && head.Status == 200) {
			t.Errorf("stream %v: the head is %+v, %v", stream, head, err)
		}
		if stream {
			if body, err := c.ReadBody(); err == nil || len(body) > 0 {
				t.Errorf("the stream has %q and ends properly", body)
			}
		}
		waitHeld(t, s, 0)
	}
	f(true)
	f(false)
	if s.Cancelled() != 2 || s.Served() != 0 {
		t.Errorf("%d cancelled, %d served; want 2 and 0", s.Cancelled(), s.Served())
	}
}

// A client that leaves a lost request first gives its place back at once.
func TestPublishedLostRequestIsLeft(t *testing.T) {
	s, address := startPublished(t, losing)
	s.engine.slow(1e6) // so that it isn't patience that ends
	c := gatewaytest.Connect(t, address)
	c.Send(gatewaytest.Request("POST", chatPath, gatewaytest.ChatBody("m", "hi", true)))
	if _, err := c.ReadHead(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(scrape(t, address)), `num_requests_running{engine="0",model_name="m"} 1.0`) {
		t.Error("the gauge doesn't show it")
	}
	c.Close()
	waitHeld(t, s, 0)
}
