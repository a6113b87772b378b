package vllmsim

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

func TestDisconnectFreesTheSequences(t *testing.T) {
	f := func(name string, stream bool, leave func(*gatewaytest.Client)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			s, address := start(t, Options{Speed: 10})
			check := gatewaytest.ZeroCheck(t, gatewaytest.Gauge{Name: "held sequences", Read: s.Held})
			c := gatewaytest.Connect(t, address)
			c.Send(gatewaytest.Request("POST", "/v1/completions", fmt.Sprintf(`{"prompt":"hi","n":3,"stream":%v,"max_tokens":100000,"ignore_eos":true}`, stream)))
			if stream {
				c.ReadHead()
				c.ReadEvent()
			} else {
				waitHeld(t, s, 3)
			}
			leave(c)
			check()
			if s.Cancelled() != 3 || s.Peak() != 3 || s.Served() != 0 {
				t.Errorf("got %d cancelled, peak %d, %d served; want 3, 3, 0", s.Cancelled(), s.Peak(), s.Served())
			}
		})
	}
	f("stream closed", true, func(c *gatewaytest.Client) { c.Close() })
	f("stream reset", true, func(c *gatewaytest.Client) { c.Reset() })
	f("not streamed", false, func(c *gatewaytest.Client) { c.Close() })
}

// waitHeld waits until the replica holds n sequences.
func waitHeld(t *testing.T, s *Server, n int) {
	t.Helper()
	limit, tick := time.NewTimer(gatewaytest.Patience), time.NewTicker(time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for s.Held() != n {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("held %d, want %d", s.Held(), n)
		}
	}
}

// Many streams at once: all complete with the tokens that they ask for.
func TestHundredsOfStreams(t *testing.T) {
	s, address := start(t, Options{Size: "gemma-3-12b", MaxNumSeqs: 128, Speed: 20})
	const streams, tokens = 300, 50
	var clients sync.WaitGroup
	for i := range streams {
		clients.Go(func() {
			got := gatewaytest.Post(t, address, "/v1/chat/completions", fmt.Sprintf(
				`{"messages":[{"role":"user","content":"story %d"}],"stream":true,"max_tokens":%d,"ignore_eos":true,"stream_options":{"include_usage":true}}`, i, tokens))
			if got.Ending != gatewaytest.Whole || !strings.Contains(string(got.Body), `"completion_tokens":50}`) {
				t.Errorf("stream %d: status %d, ending %v (%v)", i, got.Status, got.Ending, got.Err)
			}
		})
	}
	clients.Wait()
	if s.Served() != streams || s.Held() != 0 || s.Peak() > streams || s.Cancelled() != 0 {
		t.Errorf("got %d served, %d held, peak %d, %d cancelled", s.Served(), s.Held(), s.Peak(), s.Cancelled())
	}
}

// Prompts that begin alike share whole pages of 512 tokens, 2 kB of text here.
func TestPrefixCache(t *testing.T) {
	f := func(path, first, second string, hits int) {
		t.Helper()
		_, address := start(t, Options{Speed: 100})
		post(t, address, path, first)
		post(t, address, path, second)
		want := fmt.Sprintf(`vllm:prefix_cache_hits_total{engine="0",model_name="m"} %d.0`, hits)
		if text := string(gatewaytest.Get(t, address, "/metrics").Body); !strings.Contains(text, want+"\n") {
			t.Errorf("%s: no %s in\n%s", path, want, text)
		}
	}
	chat := func(system, user string) string {
		return fmt.Sprintf(`{"messages":[{"role":"system","content":%q},{"role":"user","content":%q}],"max_tokens":1}`, system, user)
	}
	messages := func(system, user string) string {
		return fmt.Sprintf(`{"system":%q,"messages":[{"role":"user","content":%q}],"max_tokens":1}`, system, user)
	}
	image := func(url string) string {
		part := fmt.Sprintf(`{"type":"image_url","image_url":{"url":%q}}`, url)
		return fmt.Sprintf(`{"messages":[{"role":"user","content":[%[1]s,%[1]s,%[1]s,%[1]s]}],"max_tokens":1}`, part)
	}
	long := strings.Repeat("rule ", 1000) // 1,250 tokens
	f("/v1/chat/completions", chat(long, "a"), chat(long, "b"), 1024)
	f("/v1/chat/completions", chat(long[:2000], "a"), chat(long[:2000], "b"), 0)
	f("/v1/chat/completions", image("x"), image("x"), 1024)
	f("/v1/chat/completions", image("x"), image("y"), 0)
	f("/v1/messages", messages(long, "a"), messages(long, "b"), 1024)
	f("/v1/completions", `{"prompt":"`+long+`"}`, `{"prompt":"`+long+`more"}`, 1024)
}

func TestGaugesShowRunningAndWaiting(t *testing.T) {
	_, address := start(t, Options{MaxNumSeqs: 2})
	c := gatewaytest.Connect(t, address)
	c.Send(gatewaytest.Request("POST", "/v1/completions", `{"prompt":"hi","n":5,"stream":true,"max_tokens":1000,"ignore_eos":true}`))
	c.ReadHead()
	c.ReadEvent()
	text := string(gatewaytest.Get(t, address, "/metrics").Body)
	for _, want := range []string{`running{engine="0",model_name="m"} 2.0`, `waiting{engine="0",model_name="m"} 3.0`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestModelsShowTheContextLimit(t *testing.T) {
	_, address := start(t, Options{Model: "google/gemma-3-27b-it", MaxModelLen: 8192})
	type list struct {
		Data []struct {
			ID  string `json:"id"`
			Max int    `json:"max_model_len"`
		} `json:"data"`
	}
	got := decoded[list](t, gatewaytest.Get(t, address, "/v1/models")).Data
	if len(got) != 1 || got[0].ID != "google/gemma-3-27b-it" || got[0].Max != 8192 {
		t.Errorf("got %+v", got)
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	_, address := start(t, Options{KeepAlive: 50 * time.Millisecond})
	c := gatewaytest.Connect(t, address)
	c.Send(gatewaytest.Request("GET", "/health", ""))
	c.ReadAnswer()
	if err := c.WaitClosed(); err != nil {
		t.Error(err)
	}
}

func TestShutdownWithoutPatienceAborts(t *testing.T) {
	s, address := start(t, Options{})
	c := gatewaytest.Connect(t, address)
	c.Send(gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true)))
	c.ReadHead()
	c.ReadEvent()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(over); err == nil {
		t.Error("got no error though a request was aborted")
	}
	body, err := c.ReadBody()
	if err != nil || !strings.Contains(string(body), `"finish_reason":"abort"`) || !strings.HasSuffix(string(body), "data: [DONE]\n\n") {
		t.Errorf("got %v, %s", err, body)
	}
}

func TestShutdownLetsWorkFinish(t *testing.T) {
	s, address := start(t, Options{Speed: 10})
	c := gatewaytest.Connect(t, address)
	c.Send(gatewaytest.Request("POST", "/v1/completions", `{"prompt":"hi","max_tokens":20,"ignore_eos":true}`))
	waitHeld(t, s, 1)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if answer, err := c.ReadAnswer(); err != nil || answer.Ending != gatewaytest.Whole {
		t.Errorf("got %+v, %v", answer, err)
	}
}
