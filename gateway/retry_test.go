package gateway

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// pair is a gateway before two replicas, of which the next request is known to
// go to one, over a new connection.
type pair struct {
	*rig
	next, other *gatewaytest.Replica
}

// newPair starts them. more is further configuration.
func newPair(t *testing.T, more string) pair {
	t.Helper()
	if !strings.Contains(more, "timeouts:") {
		more += "timeouts: {release_after_cancel: 20ms}\n"
	}
	good := gatewaytest.JSON(200, wholeBody("good"), "connection: close")
	a, b := gatewaytest.NewReplica(t, gatewaytest.Send(good), gatewaytest.Close()), gatewaytest.NewReplica(t, gatewaytest.Send(good), gatewaytest.Close())
	policy := strings.Replace(onePool(4, a, b), "health: {interval: 20ms", "health: {interval: 1h", 1)
	p := pair{rig: start(t, policy+more), next: a, other: b}
	if p.post(gatewaytest.ChatBody("m", "hi", false)).Header.Get("x-sluice-replica") == a.URL() {
		p.next, p.other = b, a // ties go to the least recently used
	}
	return p
}

// wholeBody is an answer's body that isn't streamed.
func wholeBody(text string) string {
	_, body, _ := strings.Cut(gatewaytest.ChatAnswer(text, "stop", 1, 1), "\r\n\r\n")
	return body
}

// calls is how many requests the replicas got since newPair.
func (p pair) calls() int { return len(p.next.Calls()) + len(p.other.Calls()) - 1 }

// What goes wrong at one replica is tried at another, once, where the table of
// outcomes allows it; else the client hears of it as the table says.
func TestElsewhereOnce(t *testing.T) {
	const mayHaveRun, asked = "retry: {after_dispatch: true}\n", true
	const impatient = "timeouts: {release_after_cancel: 20ms, first_event: 100ms, per_token_unstreamed: 1ns}\n"
	abort := func(reason string) gatewaytest.Step {
		return gatewaytest.Send(gatewaytest.ChatAnswer("", reason, 1, 0))
	}
	send := func(s ...string) gatewaytest.Script {
		return gatewaytest.Script{gatewaytest.Send(strings.Join(s, "")), gatewaytest.Close()}
	}
	head := gatewaytest.SSEHead + gatewaytest.Chunk(gatewaytest.Role)
	for _, tc := range []struct {
		name      string
		script    gatewaytest.Script // of the first replica; nil: it refuses connections
		more      string
		outcome   router.Outcome // of the first attempt
		elsewhere bool
	}{
		{"refused", nil, "", router.ConnectFailed, asked},
		{"busy, 429", send(gatewaytest.Error(429, "RateLimitError", "full")), "", router.Busy, asked},
		{"busy, 503", send(gatewaytest.Error(503, "ServiceUnavailable", "full")), "", router.Busy, asked},
		{"aborted", gatewaytest.Script{abort("abort")}, "", router.Aborted, asked},
		{"aborted stream", send(head, gatewaytest.Chunk(gatewaytest.Finish("", "abort"))), "", router.Aborted, asked},
		{"lost", gatewaytest.Script{gatewaytest.Reset()}, "", router.Lost, false},
		{"lost, may run again", gatewaytest.Script{gatewaytest.Reset()}, mayHaveRun, router.Lost, asked},
		{"closed", gatewaytest.Script{gatewaytest.Close()}, "", router.Lost, false},
		{"lost after the head", send(gatewaytest.SSEHead), "", router.Lost, false},
		{"lost after the role", send(head), mayHaveRun, router.Lost, asked},
		{"500", send(gatewaytest.Error(500, "InternalServerError", "boom")), "", router.ReplicaError, false},
		{"500, may run again", send(gatewaytest.Error(500, "InternalServerError", "boom")), mayHaveRun, router.ReplicaError, asked},
		{"silent", gatewaytest.Script{gatewaytest.Stall()}, impatient, router.Silent, false},
		{"silent, may run again", gatewaytest.Script{gatewaytest.Stall()}, impatient + mayHaveRun, router.Silent, asked},
		{"error before a token", send(head, gatewaytest.Chunk(gatewaytest.ErrorEvent(500, "InternalServerError", "boom"))), mayHaveRun, router.ErrorEvent, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPair(t, tc.more)
			if tc.script == nil {
				p.next.Crash()
			} else {
				p.next.Next(tc.script...)
			}
			stream := strings.HasPrefix(tc.name, "lost after") || strings.Contains(tc.name, "stream") || strings.Contains(tc.name, "token")
			answer := p.post(gatewaytest.ChatBody("m", "hi", stream))
			p.quiet()
			if n := p.attempts(tc.outcome); n != 1 {
				t.Errorf("%d attempts ended %s, want 1", n, tc.outcome)
			}
			if tc.elsewhere {
				checkServedBy(t, p, answer)
				return
			}
			checkFailed(t, p, answer, tc.outcome)
		})
	}
}

// attempts is how many attempts at replicas ended so.
func (r *rig) attempts(o router.Outcome) int {
	return int(sum(r.metrics(), "sluice_attempts_total", `outcome="`+o.String()+`"`))
}

// checkServedBy checks that the other replica's answer came, untouched.
func checkServedBy(t *testing.T, p pair, answer *gatewaytest.Response) {
	t.Helper()
	if answer.Status != 200 || string(answer.Body) != wholeBody("good") || answer.Header.Get("x-sluice-replica") != p.other.URL() {
		t.Errorf("status %d from %s: %s", answer.Status, answer.Header.Get("x-sluice-replica"), answer.Body)
	}
	if n := len(p.other.Calls()); n != 2 {
		t.Errorf("the other replica has had %d calls, want 2", n)
	}
	if n := p.outcomes(router.Completed); n != 2 {
		t.Errorf("completed %d, want 2", n)
	}
}

// checkFailed checks that the failure reached the client, which is told not to
// send again by itself what may have run.
func checkFailed(t *testing.T, p pair, answer *gatewaytest.Response, o router.Outcome) {
	t.Helper()
	if n := len(p.other.Calls()); n != 1 {
		t.Errorf("the other replica was tried: %d calls", n)
	}
	if n := p.outcomes(o); n != 1 {
		t.Errorf("%s %d, want 1", o, n)
	}
	if o == router.ErrorEvent {
		return // the stream has begun
	}
	if answer.Status != o.Status() || answer.Header.Get("x-should-retry") != "false" {
		t.Errorf("status %d, x-should-retry %q; want %d, false", answer.Status, answer.Header.Get("x-should-retry"), o.Status())
	}
}

// After the first token, or a comment, nothing is tried again, whatever is allowed.
func TestFirstTokenCommits(t *testing.T) {
	for name, first := range map[string]string{"token": gatewaytest.Content("a"), "comment": ": ping\n\n"} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, "retry: {after_dispatch: true}\n")
			p.next.Next(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Role, first), gatewaytest.Reset())
			answer := p.post(gatewaytest.ChatBody("m", "hi", true))
			events := answer.Events()
			if answer.Status != 200 || answer.Ending != gatewaytest.Cut || len(events) != 3 || !strings.HasPrefix(events[2].Data(), `{"error":`) {
				t.Errorf("status %d, %v, %q", answer.Status, answer.Ending, answer.Body)
			}
			p.quiet()
			if n := p.calls(); n != 1 {
				t.Errorf("%d calls, want 1", n)
			}
		})
	}
}

// A connection that the replica has given up is no failure: the request is sent
// again to the same replica, on a new one.
func TestStaleConnectionIsNoFailure(t *testing.T) {
	for name, farewell := range map[string]gatewaytest.Step{"reset": gatewaytest.Reset(), "FIN": gatewaytest.Close()} {
		t.Run(name, func(t *testing.T) {
			rep := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.ChatAnswer("good", "stop", 1, 1)))
			r := start(t, strings.Replace(onePool(4, rep), "health: {interval: 20ms", "health: {interval: 1h", 1))
			r.post(gatewaytest.ChatBody("m", "hi", false))
			rep.Next(farewell) // of the second request on the connection
			answer := r.post(gatewaytest.ChatBody("m", "hi", false))
			if answer.Status != 200 || string(answer.Body) != wholeBody("good") {
				t.Errorf("status %d: %s", answer.Status, answer.Body)
			}
			r.quiet()
			if n := len(rep.Calls()); n != 3 {
				t.Fatalf("%d calls, want 3", n)
			}
			if calls := rep.Calls(); calls[0].Conn != calls[1].Conn || calls[2].Conn == calls[1].Conn {
				t.Errorf("the calls came on connections %d, %d, %d", calls[0].Conn, calls[1].Conn, calls[2].Conn)
			}
			if n := r.outcomes(router.Completed); n != 2 {
				t.Errorf("completed %d, want 2", n)
			}
		})
	}
}

// Where the retry budget is used up, the first failure is the answer.
func TestRetryBudget(t *testing.T) {
	for _, tc := range []struct{ budget, retries int }{{0, 0}, {2, 2}} {
		t.Run(fmt.Sprint("budget_min ", tc.budget), func(t *testing.T) {
			p := newPair(t, fmt.Sprintf("retry: {budget: 0, budget_min: %d}\n", tc.budget))
			abort := gatewaytest.Script{gatewaytest.Send(gatewaytest.JSON(200, strings.Replace(wholeBody(""), `"stop"`, `"abort"`, 1), "connection: close")), gatewaytest.Close()}
			p.next.Script(abort...)
			served := 0
			for range 6 {
				if p.post(gatewaytest.ChatBody("m", "hi", false)).Status == 200 {
					served++
				}
			}
			p.quiet()
			if aborted, retried := p.attempts(router.Aborted), p.attempts(router.Aborted)-p.outcomes(router.Aborted); retried != tc.retries || aborted < 2 {
				t.Errorf("%d attempts aborted, %d of them tried elsewhere, want %d; %d served", aborted, retried, tc.retries, served)
			}
		})
	}
}

// Who waits twice has waited the sum, not more.
func TestQueueTimeOfARetryIsCountedOnce(t *testing.T) {
	good := gatewaytest.Send(gatewaytest.ChatAnswer("good", "stop", 1, 1))
	release := make(chan struct{})
	a, b := gatewaytest.NewReplica(t, gatewaytest.Wait(release), good), gatewaytest.NewReplica(t, gatewaytest.Wait(release), good)
	r := start(t, onePool(1, a, b))
	answers := make(chan *gatewaytest.Response, 3)
	ask := func() { answers <- r.post(gatewaytest.ChatBody("m", "hi", false)) }
	a.Next(gatewaytest.Pause(200*time.Millisecond), good) // then it is free
	a.Next(gatewaytest.Send(gatewaytest.Error(429, "RateLimitError", "full")))
	go ask()
	go ask()
	eventually(t, "both replicas are at work", func() bool { return r.held() == 2 })
	began := time.Now()
	var third *gatewaytest.Response
	var asking sync.WaitGroup
	asking.Go(func() { third = r.post(gatewaytest.ChatBody("m", "hi", false)) })
	eventually(t, "the third was sent away busy", func() bool { return r.attempts(router.Busy) == 1 })
	close(release)
	asking.Wait()
	elapsed := time.Since(began)
	waited, err := strconv.Atoi(third.Header.Get("x-sluice-queue-ms"))
	if err != nil || third.Header.Get("x-sluice-replica") != b.URL() || time.Duration(waited)*time.Millisecond > elapsed {
		t.Errorf("x-sluice-queue-ms is %q after %v: %+v", third.Header.Get("x-sluice-queue-ms"), elapsed, third)
	}
	<-answers
	<-answers
	r.quiet()
}
