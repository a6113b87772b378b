package gateway

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// breaker is the state of a replica's breaker, as metrics tell it.
func (r *rig) breaker(rep *gatewaytest.Replica) string {
	for series, n := range r.metrics() {
		if n == 1 && strings.HasPrefix(series, "sluice_breaker_state{") && strings.Contains(series, rep.Address()) {
			_, state, _ := strings.Cut(series, `state="`)
			return strings.TrimSuffix(state, `"}`)
		}
	}
	return ""
}

// swarm sends n requests, some at once, and gives the answers by status.
func (r *rig) swarm(n, atOnce int, body string) map[int]int {
	var all sync.WaitGroup
	work := make(chan int)
	statuses := make(chan int, n)
	for range atOnce {
		all.Go(func() {
			for range work {
				statuses <- gatewaytest.Post(r.t, r.data, "/v1/chat/completions", body).Status
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	all.Wait()
	close(statuses)
	count := make(map[int]int)
	for status := range statuses {
		count[status]++
	}
	return count
}

// Answers about the request say nothing of the replica, nor do clients that leave.
func TestClientErrorsPassAndAreNeutral(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t)
	r := start(t, strings.Replace(onePool(4, rep), "failures_open: 3", "failures_open: 1", 1))
	for i := range 10 {
		status := []int{400, 404, 413, 422, 401}[i%5]
		body := fmt.Sprintf(`{"error":{"message":"no %d","type":"BadRequestError","param":"x","code":%d}}`, i, status)
		rep.Script(gatewaytest.Send(gatewaytest.JSON(status, body, "X-Detail: a", "x-detail: b", "Retry-After: 9", "server: uvicorn")))
		answer := r.post(gatewaytest.ChatBody("m", "hi", i%2 == 0))
		if status == 401 { // the pool's key is wrong: not the client's doing
			if answer.Status != 502 || !strings.Contains(string(answer.Body), "401") {
				t.Errorf("401: answer %d: %s", answer.Status, answer.Body)
			}
			continue
		}
		if answer.Status != status || string(answer.Body) != body || answer.Ending != gatewaytest.Whole {
			t.Errorf("%d: answer %d, ending %v: %s", status, answer.Status, answer.Ending, answer.Body)
		}
		for name, want := range map[string][]string{"X-Detail": {"a", "b"}, "Retry-After": {"9"}, "Server": {"uvicorn"}, "Content-Type": {"application/json"}, "x-should-retry": nil} {
			if got := answer.Header.Values(name); !slices.Equal(got, want) {
				t.Errorf("%d: header %s: %q, want %q", status, name, got, want)
			}
		}
	}
	rep.Script(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("a")), gatewaytest.Stall())
	for range 5 {
		c := gatewaytest.Connect(t, r.data)
		if err := c.Send(gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true))); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadHead(); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	eventually(t, "five clients are seen to have left", func() bool { return r.outcomes(router.ClientGoneStreaming) == 5 })
	rep.Script(gatewaytest.Send(gatewaytest.Error(503, "ServiceUnavailable", "full")))
	if answer := r.post(plainBody); answer.Status != 503 || answer.Header.Get("Retry-After") == "" {
		t.Errorf("busy: answer %d, Retry-After %q", answer.Status, answer.Header.Get("Retry-After"))
	}
	if state := r.breaker(rep); state != "closed" {
		t.Errorf("the breaker is %s", state)
	}
	rep.Script(gatewaytest.ChatStream("a")...)
	if answer := r.post(gatewaytest.ChatBody("m", "hi", true)); answer.Status != 200 || answer.Ending != gatewaytest.Whole {
		t.Errorf("the good request: %d, %s", answer.Status, answer.Body)
	}
	r.quiet()
	if c, m := r.outcomes(router.ClientError), r.outcomes(router.Misconfigured); c != 8 || m != 2 {
		t.Errorf("%d client errors, %d misconfigured, want 8 and 2", c, m)
	}
}

// A replica that fails fast looks idle; it must not draw the traffic.
func TestFastFailureDoesNotWin(t *testing.T) {
	t.Parallel()
	const requests, atOnce = 200, 8
	for name, test := range map[string]struct {
		script gatewaytest.Script
		passes bool // failures are tried elsewhere
	}{
		"500":            {gatewaytest.Script{gatewaytest.Send(gatewaytest.Error(500, "EngineDeadError", "dead"))}, false},
		"503":            {gatewaytest.Script{gatewaytest.Send(gatewaytest.Error(503, "Busy", "full"))}, true},
		"closes at once": {gatewaytest.Script{gatewaytest.Close()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := gatewaytest.NewReplica(t, gatewaytest.Pause(20*time.Millisecond), gatewaytest.Send(gatewaytest.ChatAnswer("a", "stop", 1, 1)))
			bad := gatewaytest.NewReplica(t, test.script...)
			r := start(t, onePool(64, good, bad))
			began := time.Now()
			got := r.swarm(requests, atOnce, plainBody)
			took := time.Since(began)
			r.quiet()
			calls := len(bad.Calls())
			most := 3 + atOnce + int(took/(200*time.Millisecond)) + 1 // failures_open, those on the way then, a trial each open_for
			if test.passes {
				most = atOnce * (int(took/time.Second) + 1) // it pauses for a second each time
			}
			failed := requests - got[200]
			if calls > most || failed > calls || test.passes && failed > requests*3/100 {
				t.Errorf("the bad replica got %d calls, at most %d are due; answers: %v", calls, most, got)
			}
		})
	}
}

// When an open breaker is tried, one request is: until it succeeds.
func TestRecoveryIsTriedByOne(t *testing.T) {
	t.Parallel()
	for name, cure := range map[string]func(b *cured){
		"an answer":            (*cured).byAnswer,
		"a client that leaves": (*cured).byNobody,
		"a long stream":        (*cured).byStream,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &cured{t: t, rep: gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.Error(500, "EngineDeadError", "dead")))}
			b.rig = start(t, onePool(8, b.rep))
			for range 3 {
				b.post(plainBody)
			}
			eventually(t, "the breaker is open", func() bool { return b.held() == 0 && b.ready() == 0 })
			b.failed = len(b.rep.Calls())
			cure(b)
			b.quiet()
		})
	}
}

// cured is a replica that has failed often enough, and now is well again.
type cured struct {
	*rig
	t      *testing.T
	rep    *gatewaytest.Replica
	failed int // calls so far
}

// trial is a request that waits until the replica may be tried, and is held there.
func (b *cured) trial(script ...gatewaytest.Step) *gatewaytest.Client {
	b.rep.Next(script...)
	b.rep.Script(gatewaytest.Send(gatewaytest.ChatAnswer("a", "stop", 1, 1)))
	for {
		refused := b.outcomes(router.NoReplica)
		c := gatewaytest.Connect(b.t, b.data)
		if err := c.Send(gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true))); err != nil {
			b.t.Fatal(err)
		}
		eventually(b.t, "it is tried or refused", func() bool {
			return len(b.rep.Calls()) > b.failed || b.outcomes(router.NoReplica) > refused
		})
		if len(b.rep.Calls()) > b.failed {
			return c
		}
	}
}

// waits sends requests that have to wait while the trial runs, and checks that
// they do.
func (b *cured) waits(n int) (answered <-chan map[int]int) {
	done := make(chan map[int]int, 1)
	go func() { done <- b.swarm(n, n, plainBody) }()
	eventually(b.t, "the others wait", func() bool {
		return sum(b.metrics(), "sluice_requests_in_flight", `state="queued"`) == float64(n)
	})
	if calls := len(b.rep.Calls()); calls != b.failed+1 {
		b.t.Errorf("%d calls while the trial ran, want 1", calls-b.failed)
	}
	return done
}

func (b *cured) allServed(answers map[int]int, n int) {
	b.t.Helper()
	if answers[200] != n {
		b.t.Errorf("answers: %v, want %d times 200", answers, n)
	}
	if peak := b.rep.Peak(); peak > 8 {
		b.t.Errorf("%d at once, cap 8", peak)
	}
	if state := b.breaker(b.rep); state != "closed" {
		b.t.Errorf("the breaker is %s", state)
	}
}

func (b *cured) byAnswer() {
	goOn := make(chan struct{})
	b.trial(gatewaytest.Wait(goOn), gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.ChatEvents("a")...), gatewaytest.Send(gatewaytest.FinalChunk))
	answers := b.waits(50)
	close(goOn)
	b.allServed(<-answers, 50)
}

// byNobody: the trial's client leaves, which says nothing, so another is tried.
func (b *cured) byNobody() {
	c := b.trial(gatewaytest.Stall())
	answers := b.waits(20)
	c.Close()
	b.allServed(<-answers, 20)
}

// byStream: the first event is the verdict; the stream may go on for long.
func (b *cured) byStream() {
	tell, goOn := make(chan struct{}), make(chan struct{})
	c := b.trial(gatewaytest.Wait(tell), gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content("a")),
		gatewaytest.Wait(goOn), gatewaytest.Chunks(gatewaytest.Finish("", "stop"), gatewaytest.Done), gatewaytest.Send(gatewaytest.FinalChunk))
	answers := b.waits(20)
	close(tell)
	b.allServed(<-answers, 20) // while the stream goes on
	close(goOn)
	if answer, err := c.ReadAnswer(); err != nil || answer.Ending != gatewaytest.Whole {
		b.t.Errorf("the trial's stream: %v, %v", answer, err)
	}
}
