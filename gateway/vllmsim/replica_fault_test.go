package vllmsim

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/gatewaytest"
)

// The faults of a whole replica, as its clients and a scrape see them.
func TestHungReplicaLooksWell(t *testing.T) {
	s, address := start(t, Options{})
	c := gatewaytest.Connect(t, address)
	c.Send(gatewaytest.Request("POST", chatPath, streamed, faultingLine+"hang:after=3"))
	if _, err := c.ReadHead(); err != nil {
		t.Fatal(err)
	}
	readTokens(t, c, 3)
	before := scrape(t, address)
	silent(t, c)
	if after := scrape(t, address); string(after) != string(before) {
		t.Error("metrics move while the engine hangs")
	}
	if got := gatewaytest.Get(t, address, "/health"); got.Status != 200 {
		t.Errorf("/health is %d", got.Status)
	}
	inject(t, address, "DELETE", "")
	readTokens(t, c, 17)
	waitHeld(t, s, 0)
}

func TestSlowReplica(t *testing.T) {
	s, address := start(t, Options{Speed: 100})
	f := func() time.Duration {
		began := time.Now()
		post(t, address, chatPath, notStreamed)
		return time.Since(began)
	}
	fast := f()
	inject(t, address, "POST", "slow:factor=50")
	if slow := f(); slow < 5*fast {
		t.Errorf("took %v, 50 times as slow %v", fast, slow)
	}
	if err := s.Heal(); err != nil {
		t.Fatal(err)
	}
	if again := s.faults.String(); again != "" {
		t.Errorf("healed of all but %s", again)
	}
}

func TestRefusedConnections(t *testing.T) {
	_, address := start(t, Options{})
	open := gatewaytest.Connect(t, address)
	inject(t, address, "POST", "refuse")
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("a connection is taken")
	}
	open.Send(gatewaytest.Request("DELETE", faultsPath, ""))
	if head, err := open.ReadHead(); err != nil || head.Status != 200 {
		t.Fatalf("an open connection gets %+v, %v", head, err)
	}
	if got := post(t, address, chatPath, notStreamed); got.Status != 200 {
		t.Errorf("healed, it answers %d (%v)", got.Status, got.Err)
	}
}

// A poisonous request kills the engine: what runs fails, health says so, and at
// the end the process is gone.
func TestEngineDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Model: "m"})
		f := func(path, body, fault string) (int, string) {
			r := httptest.NewRequest("POST", path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			if fault != "" {
				r.Header.Set(faultHeader, fault)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		victim := make(chan string)
		go func() {
			_, body := f(chatPath, streamed, "")
			victim <- body
		}()
		if status, body := f(chatPath, notStreamed, "engine-dead:after=3"); status != 500 || !strings.Contains(body, "EngineCore") {
			t.Errorf("got %d %s", status, body)
		}
		if body := <-victim; !strings.HasSuffix(body, "data: [DONE]\n\n") || !strings.Contains(body, "EngineCore") {
			t.Errorf("another stream ends with %s", body)
		}
		if status, body := f(chatPath, notStreamed, ""); status != 500 {
			t.Errorf("a later request gets %d %s", status, body)
		}
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, httptest.NewRequest("GET", "/health", nil)); w.Code != 503 {
			t.Errorf("/health is %d", w.Code)
		}
		time.Sleep(watchdog + time.Second)
		if !s.life.hasCrashed() {
			t.Error("the process goes on")
		}
	})
}

func TestCrash(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Model: "m"})
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	got := gatewaytest.Post(t, ln.Addr().String(), chatPath, streamed, faultingLine+"crash:after=3")
	if got.Status != 200 || got.Ending != gatewaytest.Cut {
		t.Errorf("got %s", seen(got))
	}
	if err := <-served; !errors.Is(err, ErrCrashed) {
		t.Errorf("Serve returned %v", err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestQueueIsBounded(t *testing.T) {
	s, address := start(t, Options{MaxNumQueuedReqs: 3})
	c := gatewaytest.Connect(t, address)
	c.Send(gatewaytest.Request("POST", chatPath, strings.Replace(streamed, "{", `{"n":3,`, 1)))
	if _, err := c.ReadHead(); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{streamed, notStreamed} {
		if got := post(t, address, chatPath, body); got.Status != 503 || !strings.Contains(string(got.Body), "currently busy") {
			t.Errorf("got %d %s", got.Status, got.Body)
		}
	}
	c.Close()
	waitHeld(t, s, 0)
	if got := post(t, address, chatPath, notStreamed); got.Status != 200 {
		t.Errorf("got %d", got.Status)
	}
}

// readTokens reads events until n tokens have come.
func readTokens(t *testing.T, c *gatewaytest.Client, n int) {
	t.Helper()
	for n > 0 {
		e, err := c.ReadEvent()
		if err != nil {
			t.Fatal(err)
		}
		n -= brought(e)
	}
}

// silent fails when bytes come, or the end.
func silent(t *testing.T, c *gatewaytest.Client) {
	t.Helper()
	c.Conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	var one [1]byte
	var timeout net.Error
	if n, err := c.Conn.Read(one[:]); n != 0 || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("got %d bytes, %v, want silence", n, err)
	}
}

// inject sends a line to the control endpoint.
func inject(t *testing.T, address, method, line string) {
	t.Helper()
	c := gatewaytest.Connect(t, address)
	defer c.Close()
	c.Send(gatewaytest.Request(method, faultsPath, line))
	head, err := c.ReadHead()
	if err != nil || head.Status != http.StatusOK {
		t.Fatalf("%s %s: got %+v, %v", method, line, head, err)
	}
}

// A deaf replica goes on for a client that has left.
func TestDeafReplicaGoesOn(t *testing.T) {
	s, address := start(t, Options{})
	c := gatewaytest.Connect(t, address)
	c.Send(gatewaytest.Request("POST", chatPath, streamed, faultingLine+"deaf"))
	if _, err := c.ReadHead(); err != nil {
		t.Fatal(err)
	}
	c.Close()
	waitHeld(t, s, 0)
	if s.Cancelled() != 0 {
		t.Errorf("%d sequences were dropped", s.Cancelled())
	}
	if got := string(scrape(t, address)); !strings.Contains(got, `vllm:generation_tokens_total{engine="0",model_name="m"} 20`) {
		t.Errorf("not all tokens were made:\n%s", got)
	}
}

func scrape(t *testing.T, address string) []byte {
	t.Helper()
	return gatewaytest.Get(t, address, "/metrics").Body
}
