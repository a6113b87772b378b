package gateway

import (
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// loaded is a replica's metrics that report running sequences.
func loaded(n string) gatewaytest.Script {
	return gatewaytest.Script{gatewaytest.Send(gatewaytest.Head(200, "content-type: text/plain; version=0.0.4")),
		gatewaytest.Send("vllm:num_requests_running{engine=\"0\"} " + n + "\nvllm:num_requests_waiting{engine=\"0\"} 0\n"), gatewaytest.Close()}
}

// The slots of a departed client's request can be used again when the replica's
// metrics show it gone, or release_after_cancel has passed; not before.
func TestSlotsOfTheDepartedAreUsedAgain(t *testing.T) {
	for _, tc := range []struct {
		name     string
		metrics  gatewaytest.Script
		patience string // release_after_cancel
		least    time.Duration
	}{
		{"time has passed, by default a second", loaded("1"), "1s", time.Second},
		{"time has passed, there are no metrics", gatewaytest.Script{gatewaytest.Send(gatewaytest.Error(404, "NotFoundError", "no"))}, "100ms", 100 * time.Millisecond},
		{"the metrics show it gone", loaded("0"), "1m", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("next", "stop", 1, 1)))
			rep.On("/metrics", tc.metrics...)
			rep.Next(gatewaytest.Stall())
			r := start(t, onePool(1, rep)+"timeouts: {release_after_cancel: "+tc.patience+"}\n")
			first := gatewaytest.Connect(t, r.data)
			sendChat(t, first, true)
			call := rep.Call(0)
			second := gatewaytest.Connect(t, r.data)
			sendChat(t, second, false)
			eventually(t, "the second waits", func() bool { return r.waiting() == 1 })
			left := time.Now()
			first.Close()
			call.WaitGone(t)
			took := rep.Call(1).Arrived.Sub(left)
			if took < tc.least {
				t.Errorf("the slot was given away %v after the departure, before %v: the replica may still have been at work", took, tc.least)
			}
			if answer, err := second.ReadAnswer(); err != nil || answer.Status != 200 {
				t.Errorf("the second got %+v, %v", answer, err)
			}
			r.quiet()
			t.Log("from the departure to the next request at the replica:", took)
		})
	}
}

// Bytes of the next request are no departure: a client may send ahead.
func TestPipelinedRequestIsNoDeparture(t *testing.T) {
	for _, together := range []bool{true, false} {
		atEachEntrance(t, 2, "", func(t *testing.T, e entrance, rep *gatewaytest.Replica) {
			release := make(chan struct{})
			rep.Next(gatewaytest.Wait(release), gatewaytest.Send(gatewaytest.ChatAnswer("first", "stop", 1, 1)))
			rep.Next(gatewaytest.ChatStream("second")...)
			c := e.connect(t)
			if together {
				sendChat(t, c, false, true)
				rep.Call(0)
			} else {
				sendChat(t, c, false)
				rep.Call(0)
				sendChat(t, c, true)
			}
			close(release)
			for i, want := range []string{gatewaytest.ChatAnswer("first", "stop", 1, 1), ""} {
				answer, err := c.ReadAnswer()
				if err != nil || answer.Status != 200 || answer.Ending != gatewaytest.Whole {
					t.Fatalf("answer %d is %+v, %v", i, answer, err)
				}
				if n := len(answer.Body); want != "" && string(answer.Body) != want[len(want)-n:] {
					t.Errorf("answer %d is %q", i, answer.Body)
				}
			}
			e.quiet()
			if n := e.outcomes(router.Completed); n != 2 {
				t.Errorf("completed %d, want 2", n)
			}
		})
	}
}

// A departure is seen behind the bytes of a next request too.
func TestDepartureBehindPipelinedBytes(t *testing.T) {
	atEachEntrance(t, 2, "timeouts: {release_after_cancel: 20ms}\n", func(t *testing.T, e entrance, rep *gatewaytest.Replica) {
		rep.Script(gatewaytest.Stall())
		c := e.connect(t)
		sendChat(t, c, true)
		call := rep.Call(0)
		sendChat(t, c, false, false)
		left := time.Now()
		if err := tcpOf(c).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		t.Log("seen after", call.WaitGone(t).Sub(left))
		e.quiet()
		if n := len(rep.Calls()); n != 1 {
			t.Errorf("the replica got %d calls: requests of a client that had left were run", n)
		}
	})
}

// Over TLS a close_notify alone is no departure: some clients send it early.
func TestCloseNotifyIsNoDeparture(t *testing.T) {
	atEachEntrance(t, 2, "", func(t *testing.T, e entrance, rep *gatewaytest.Replica) {
		if e.tls == nil {
			return
		}
		release := make(chan struct{})
		rep.Script(gatewaytest.Wait(release), gatewaytest.Send(gatewaytest.ChatAnswer("a", "stop", 1, 1)))
		c := e.send(t, false)
		rep.Call(0)
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		close(release)
		if answer, err := c.ReadAnswer(); err != nil || answer.Status != 200 || answer.Ending != gatewaytest.Whole {
			t.Errorf("the answer is %+v, %v", answer, err)
		}
		e.quiet()
	})
}

// A client that leaves while it still sends is counted, and no replica hears of
// it, whether its body is small or large.
func TestDepartureInTheMiddleOfTheBody(t *testing.T) {
	t.Run("small", func(t *testing.T) { leavesInTheBody(t, "hi") })
	t.Run("large", func(t *testing.T) { leavesInTheBody(t, strings.Repeat("hi ", 10000)) })
}

func leavesInTheBody(t *testing.T, prompt string) {
	atEachEntrance(t, 2, "", func(t *testing.T, e entrance, rep *gatewaytest.Replica) {
		raw := gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", prompt, true))
		for i, way := range ways {
			c := e.connect(t)
			if err := c.Send(raw[:len(raw)-10]); err != nil {
				t.Fatal(err)
			}
			eventually(t, "its headers are there", func() bool { return sum(e.metrics(), "sluice_requests_in_flight") == 1 })
			if err := way.leave(c); err != nil {
				t.Fatal(err)
			}
			eventually(t, "it is counted", func() bool { return e.outcomes(router.ClientGoneQueued) == i+1 })
			if way.name == "half-close" {
				notAnswered(t, c, false)
			}
		}
		e.quiet()
		if n := len(rep.Calls()); n != 0 {
			t.Errorf("the replica got %d calls", n)
		}
	})
}

// Clients that leave in the very moment in which their turn comes leave no slot
// behind, however the race ends.
func TestDeparturesRaceWithGrants(t *testing.T) {
	const clients = 200
	atEachEntrance(t, 2, "timeouts: {release_after_cancel: 1ms}\n", func(t *testing.T, e entrance, rep *gatewaytest.Replica) {
		rep.Script(gatewaytest.ChatStream("a", "b")...)
		var all sync.WaitGroup
		for i := range clients {
			c := e.connect(t)
			all.Go(func() {
				_ = c.Send(gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true)))
				_ = ways[i%2].leave(c) // FIN or reset
			})
		}
		all.Wait()
		e.quiet()
		e.notBlamed(t)
		if answer := e.fetch(t); answer.Status != 200 || rep.Peak() > 2 {
			t.Errorf("afterwards status %d; the replica held %d at once, cap 2", answer.Status, rep.Peak())
		}
		t.Logf("left queued %d, waiting %d, streaming %d; completed %d", e.outcomes(router.ClientGoneQueued), e.outcomes(router.ClientGoneWaiting),
			e.outcomes(router.ClientGoneStreaming), e.outcomes(router.Completed))
	})
}

// fetch sends one request and reads its whole answer.
func (e entrance) fetch(t *testing.T) *gatewaytest.Response {
	t.Helper()
	answer, err := e.send(t, true).ReadAnswer()
	if err != nil {
		t.Fatal(err)
	}
	return answer
}
