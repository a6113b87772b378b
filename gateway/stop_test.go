package gateway

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// stopsIn waits until the gateway has stopped and says how long that took.
func (r *rig) stopsIn(most time.Duration) {
	r.t.Helper()
	since := time.Now()
	select {
	case err := <-r.done:
		r.done <- nil // for end
		if err != nil {
			r.t.Errorf("stopped with %v", err)
		}
		if took := time.Since(since); took > most {
			r.t.Errorf("stopped after %v, want at most %v", took, most)
		}
	case <-time.After(gatewaytest.Patience):
		r.t.Fatal("the gateway doesn't stop")
	}
}

// readiness is the answer of /readyz.
func (r *rig) readiness() (status int, why string) {
	answer := gatewaytest.Get(r.t, r.ops, "/readyz")
	return answer.Status, string(answer.Body)
}

// logged is how many lines of the access log have an outcome.
func (r *rig) logged(o router.Outcome) int {
	return strings.Count(r.access.String(), `"outcome":"`+o.String()+`"`)
}

// drainPolicy is onePool with these times.
func drainPolicy(total int, delay, drain string, rep *gatewaytest.Replica) string {
	return onePool(total, rep) + "timeouts: {drain_delay: " + delay + ", drain: " + drain + "}\n"
}

// TestDuringTheDrainDelay work is still taken, but each answer is the last of
// its connection.
func TestDuringTheDrainDelay(t *testing.T) {
	rep := gatewaytest.NewReplica(t, shortAnswer...)
	r := start(t, drainPolicy(4, "1h", "1h", rep))
	kept := gatewaytest.Connect(t, r.data)
	ask := func(c *gatewaytest.Client, stream bool) *gatewaytest.Response {
		t.Helper()
		if err := c.Send(gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", stream))); err != nil {
			t.Fatal(err)
		}
		answer, err := c.ReadAnswer()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if answer := ask(kept, false); answer.Header.Get("Connection") != "" {
		t.Errorf("before the stop: Connection: %s", answer.Header.Get("Connection"))
	}
	if status, _ := r.readiness(); status != 200 {
		t.Fatalf("before the stop /readyz is %d", status)
	}
	r.stop()
	eventually(t, "/readyz says no", func() bool {
		status, why := r.readiness()
		return status == http.StatusServiceUnavailable && strings.HasPrefix(why, "draining")
	})
	rep.Next(gatewaytest.ChatStream("a", "b")...)
	for what, answer := range map[string]*gatewaytest.Response{
		"a stream on a connection that was open": ask(kept, true),
		"a new connection":                       r.post(gatewaytest.ChatBody("m", "hi", false)),
		"the list of models":                     gatewaytest.Get(t, r.data, "/v1/models"),
		"an unknown path":                        gatewaytest.Get(t, r.data, "/nothing"),
	} {
		if got := answer.Header.Get("Connection"); answer.Status == 503 || got != "close" || answer.Ending != gatewaytest.Whole {
			t.Errorf("%s: status %d, ending %v, Connection: %s; want close", what, answer.Status, answer.Ending, got)
		}
	}
	if err := kept.WaitClosed(); err != nil {
		t.Errorf("the connection is not closed after its last answer: %v", err)
	}
	if n := r.outcomes(router.Completed); n != 3 {
		t.Errorf("%d completed, want 3", n)
	}
	close(r.hurry)
	r.stopsIn(2 * time.Second)
}

// TestDrainingLetsWorkFinish: 30 streams and 10 queued requests end well, newcomers
// are refused, idle connections don't matter, and the end can still be scraped.
func TestDrainingLetsWorkFinish(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := start(t, drainPolicy(30, "0s", "1h", rep))
	for range 20 {
		idle := gatewaytest.Connect(t, r.data)
		if err := idle.Send(gatewaytest.Request("GET", "/v1/models", "")); err != nil {
			t.Fatal(err)
		}
		if answer, err := idle.ReadAnswer(); err != nil || answer.Status != 200 {
			t.Fatal(answer, err)
		}
	}
	s := holdStreams(t, r, 30, rep)
	for range 10 {
		s.ask(r, gatewaytest.ChatBody("m", "queued", false))
	}
	eventually(t, "10 requests wait", func() bool { return r.waiting() == 10 })
	r.stop()
	eventually(t, "the door is shut", r.g.door.closed)
	for _, stream := range []bool{true, false} {
		answer := r.post(gatewaytest.ChatBody("m", "late", stream))
		if answer.Status != 503 || answer.Header.Get("Retry-After") != "1" || !strings.Contains(string(answer.Body), `"code":"draining"`) {
			t.Errorf("a newcomer got %d, Retry-After %q, %s", answer.Status, answer.Header.Get("Retry-After"), answer.Body)
		}
	}
	r.balanced()
	if n := r.outcomes(router.Draining); n != 2 {
		t.Errorf("%d requests refused as draining, want 2", n)
	}
	s.end()
	r.stopsIn(2 * time.Second)
	if n := r.logged(router.Completed); n != 40 {
		t.Errorf("%d requests completed, want 40", n)
	}
}

// TestAtTheDeadline is run 2: what is left ends with an error, told apart from a
// whole answer, and its replica hears of it.
func TestAtTheDeadline(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := start(t, drainPolicy(2, "0s", "50ms", rep))
	rep.Next(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("a")), gatewaytest.Stall())
	streaming := make(chan *gatewaytest.Response, 1)
	go func() { streaming <- r.post(gatewaytest.ChatBody("m", "hi", true)) }()
	eventually(t, "a stream runs", func() bool { return sum(r.metrics(), "sluice_requests_in_flight", `state="streaming"`) == 1 })
	rep.Script(gatewaytest.Stall())
	others := make(chan *gatewaytest.Response, 2)
	for range 2 { // one waits for its first event, one in the queue
		go func() { others <- r.post(gatewaytest.ChatBody("m", "hi", false)) }()
	}
	eventually(t, "one request waits", func() bool { return r.waiting() == 1 && rep.Running() == 2 })
	r.stop()

	answer := <-streaming
	events := answer.Events()
	if answer.Ending != gatewaytest.Cut || len(events) != 3 || !strings.Contains(events[2].Raw, "timeouts.drain") || !strings.Contains(events[2].Raw, `"draining"`) {
		t.Errorf("the stream: ending %v, %d events, the last %q; want an error event, and a cut", answer.Ending, len(events), answer.Body)
	}
	for range 2 {
		if a := <-others; a.Status != 503 || a.Header.Get("Retry-After") == "" || a.Ending != gatewaytest.Whole {
			t.Errorf("a request without an answer yet: status %d, ending %v, %s", a.Status, a.Ending, a.Body)
		}
	}
	r.stopsIn(lastWords)
	rep.Call(0).WaitGone(t)
	rep.Call(1).WaitGone(t)
	if n := r.logged(router.Draining); n != 3 {
		t.Errorf("%d outcomes draining, want 3:\n%s", n, r.access)
	}
	if !strings.Contains(r.log.String(), "requests are cut off") {
		t.Errorf("the log doesn't say so:\n%s", r.log)
	}
}

// TestAtTheDeadlineAClientThatTakesNothing has an outcome all the same.
func TestAtTheDeadlineAClientThatTakesNothing(t *testing.T) {
	large := gatewaytest.Content(strings.Repeat("x", 1<<20))
	rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.SSEHead),
		gatewaytest.Chunks(append([]string{gatewaytest.Role}, slices.Repeat([]string{large}, 40)...)...), gatewaytest.Stall())
	r := start(t, drainPolicy(2, "0s", "50ms", rep))
	c := gatewaytest.Connect(t, r.data)
	if err := c.Send(gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stream runs", func() bool { return sum(r.metrics(), "sluice_requests_in_flight", `state="streaming"`) == 1 })
	r.stop()
	r.stopsIn(lastWords + time.Second)
	if n := r.logged(router.Draining); n != 1 {
		t.Errorf("%d outcomes draining, want 1:\n%s", n, r.access)
	}
	rep.Call(0).WaitGone(t)
}

// TestTheSecondSignal is run 3: it cuts the grace period short, the delay too.
func TestTheSecondSignal(t *testing.T) {
	for name, delay := range map[string]string{"in the delay": "1h", "in the grace period": "0s"} {
		t.Run(name, func(t *testing.T) {
			rep := gatewaytest.NewReplica(t)
			r := start(t, drainPolicy(2, delay, "1h", rep))
			rep.Script(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("a")), gatewaytest.Stall())
			streaming := make(chan *gatewaytest.Response, 1)
			go func() { streaming <- r.post(gatewaytest.ChatBody("m", "hi", true)) }()
			rep.WaitRunning(1)
			r.stop()
			eventually(t, "the gateway drains", r.g.door.leaving.Load)
			close(r.hurry)
			r.stopsIn(2 * time.Second)
			if a := <-streaming; a.Ending != gatewaytest.Cut && a.Status != 503 {
				t.Errorf("the stream: status %d, ending %v", a.Status, a.Ending)
			}
			rep.Call(0).WaitGone(t)
		})
	}
}

// TestIdleConnectionsDontHoldUp is run 4: neither those that were used nor those
// on which nothing was ever sent, on any listener.
func TestIdleConnectionsDontHoldUp(t *testing.T) {
	rep := gatewaytest.NewReplica(t, shortAnswer...)
	r := start(t, drainPolicy(2, "0s", "1h", rep))
	for _, address := range []string{r.data, r.ops, r.control} {
		gatewaytest.Connect(t, address)
		used := gatewaytest.Connect(t, address)
		if err := used.Send(gatewaytest.Request("GET", "/v1/models", "")); err != nil {
			t.Fatal(err)
		}
		if _, err := used.ReadAnswer(); err != nil {
			t.Fatal(err)
		}
	}
	r.stop()
	r.stopsIn(2 * time.Second)
}
