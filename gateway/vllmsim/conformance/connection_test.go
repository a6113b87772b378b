package conformance

import (
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

// askLong would go on for a long time.
const (
	askLong       = `{"model":MODEL,"messages":[{"role":"user","content":"hello"}],"max_tokens":1500,"min_tokens":1500,"ignore_eos":true`
	askLongText   = `{"model":MODEL,"prompt":"hello","max_tokens":1500,"min_tokens":1500,"ignore_eos":true`
	askLongAnswer = `{"model":MODEL,"input":"hello","max_output_tokens":1500,"ignore_eos":true`
)

// atOnce is how soon after its client has left a sequence must be gone, by the
// metrics. The real vLLM takes 20 to 110 ms.
const atOnce = time.Second

var connectionChecks = []check{
	{"a client that leaves stops the work", "a closed connection aborts within a step, streamed or not; half a close is a close; it isn't counted as a success", func(t *testing.T, s *server) {
		leave := map[string]func(*gatewaytest.Client){
			"close":      func(c *gatewaytest.Client) { c.Close() },
			"reset":      func(c *gatewaytest.Client) { c.Reset() },
			"half close": func(c *gatewaytest.Client) { c.CloseWrite() },
		}
		requests := map[string]string{
			askLong + `,"stream":true}`: "/v1/chat/completions", askLong + `}`: "/v1/chat/completions",
			askLongText + `,"stream":true}`: "/v1/completions", askLongText + `}`: "/v1/completions",
			askLongAnswer + `,"stream":true}`: "/v1/responses", askLongAnswer + `}`: "/v1/responses",
			askLong + `,"stream":true }`: "/v1/messages", askLong + ` }`: "/v1/messages",
		}
		before := s.scrape(t)
		for how, depart := range leave {
			for body, path := range requests {
				if path == "/v1/messages" && s.before(messagesSince) {
					continue
				}
				c := s.open(t, path, body)
				s.load(t, 1, 0)
				depart(c)
				if took := s.load(t, 0, 0); took > atOnce {
					t.Errorf("%s, %s %s: the work went on for %v", how, path, body, took)
				}
			}
		}
		after := s.scrape(t)
		for _, reason := range []string{"stop", "length", "abort"} {
			label := `finished_reason="` + reason + `"`
			if got := after.value(t, "vllm:request_success_total", label) - before.value(t, "vllm:request_success_total", label); got != 0 {
				t.Errorf("%v requests counted as %s", got, reason)
			}
		}
	}},
	{"idle connections close after 5 s", "a connection is kept for 5 seconds, and nothing tells the client so", func(t *testing.T, s *server) {
		c := gatewaytest.Connect(t, s.address)
		c.Send(gatewaytest.Request("GET", "/version", ""))
		head, err := c.ReadHead()
		if err != nil || head.Header.Get("Keep-Alive") != "" || head.Header.Get("Connection") != "" {
			t.Fatalf("got %+v, %v", head, err)
		}
		c.ReadBody()
		began := time.Now()
		if err := c.WaitClosed(); err != nil {
			t.Fatal(err)
		}
		if idle := time.Since(began); idle < 4500*time.Millisecond || idle > 6500*time.Millisecond {
			t.Errorf("it was closed after %v", idle)
		}
	}},
	{"a stream's end keeps the connection", "the final chunk follows [DONE] at once, and the connection serves the next request", func(t *testing.T, s *server) {
		c := s.open(t, "/v1/chat/completions", askChat+`}`)
		for range 2 {
			c.ReadHead()
			events, ending := c.Timeline()
			if ending != gatewaytest.Whole || len(events) < 2 || events[len(events)-1].Raw != done {
				t.Fatalf("got %d events, ending %v", len(events), ending)
			}
			c.Send(gatewaytest.Request("POST", "/v1/chat/completions", s.body(askChat+`}`)))
		}
	}},
	{"Connection: close", "HTTP: it is honoured, by a stream as well", func(t *testing.T, s *server) {
		c := gatewaytest.Connect(t, s.address)
		c.Send(gatewaytest.Request("POST", "/v1/chat/completions", s.body(askChat+`}`), "Connection: close"))
		head, err := c.ReadHead()
		if err != nil || head.Header.Get("Connection") != "close" {
			t.Fatalf("got %+v, %v", head, err)
		}
		c.ReadBody()
		if err := c.WaitClosed(); err != nil {
			t.Error(err)
		}
	}},
}
