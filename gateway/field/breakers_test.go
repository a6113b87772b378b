package field

import (
	"fmt"
	"slices"
	"testing"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// TestBadRequestsOpenTheBreaker: answers about the request say nothing of the
// replica and pass as they are; nor do clients that leave. A 401 is about the
// pool's key, not the client's: that is 502, and it isn't the replica's fault either.
func TestBadRequestsOpenTheBreaker(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rep := b.short[0]
	b.short, b.long = b.short[:1], nil
	b.health["failures_open"] = "1"
	r := b.start(t)
	for i := range 10 {
		status := []int{400, 404, 413, 422, 401}[i%5]
		body := fmt.Sprintf(`{"error":{"message":"no %d","type":"BadRequestError","param":"x","code":%d}}`, i, status)
		rep.Script(gt.Send(gt.JSON(status, body, "X-Detail: a", "x-detail: b", "Retry-After: 9", "server: uvicorn")))
		answer := r.post(gt.ChatBody("m", "hi", i%2 == 0))
		if status == 401 {
			if answer.Status != 502 || answer.Ending != gt.Whole {
				t.Errorf("401: answer %d: %s", answer.Status, answer.Body)
			}
			continue
		}
		if answer.Status != status || string(answer.Body) != body || answer.Ending != gt.Whole {
			t.Errorf("%d: answer %d, ending %v: %s", status, answer.Status, answer.Ending, answer.Body)
		}
		for name, want := range map[string][]string{"X-Detail": {"a", "b"}, "Retry-After": {"9"}, "Server": {"uvicorn"}, "Content-Type": {"application/json"}, "x-should-retry": nil} {
			if got := answer.Header.Values(name); !slices.Equal(got, want) {
				t.Errorf("%d: header %s: %q, want %q", status, name, got, want)
			}
		}
	}
	rep.Script(gt.Send(gt.SSEHead), gt.Chunks(gt.Role, gt.Content("a")), gt.Stall())
	for range 5 {
		c := r.send(streamed)
		if _, err := c.ReadHead(); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	eventually(t, "five clients are seen to have left", func() bool { return r.outcomes(router.ClientGoneStreaming) == 5 })
	if state := r.breakerOf(rep); state != "closed" {
		t.Errorf("the breaker is %s", state)
	}
	rep.Script(gt.ChatStream("a")...)
	if answer := r.post(streamed); answer.Status != 200 || answer.Ending != gt.Whole {
		t.Errorf("the good request: %d, %s", answer.Status, answer.Body)
	}
	r.quiet()
	r.ended(map[router.Outcome]int{router.ClientError: 8, router.Misconfigured: 2, router.ClientGoneStreaming: 5, router.Completed: 1})
	r.zero(rep)
}

// TestRecoveryStampede: when an open breaker is tried, one request is, until one
// succeeds; then the others come, within the cap. A trial whose client leaves says
// nothing, so another is tried; one that streams has its verdict at the first event.
func TestRecoveryStampede(t *testing.T) {
	t.Parallel()
	for name, cure := range map[string]func(b *cured){
		"an answer":            (*cured).byAnswer,
		"a client that leaves": (*cured).byNobody,
		"a long stream":        (*cured).byStream,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, gt.Send(gt.Error(500, "EngineDeadError", "dead")))
			b.short, b.long = b.short[:1], nil
			b.queue = "{max_waiting: 200, max_wait: 30s}"
			b.timeouts["release_after_cancel"] = "1s" // a busy machine sees late that a client has left
			c := &cured{t: t, rep: b.short[0], rig: b.start(t)}
			for range 3 {
				c.post(whole)
			}
			eventually(t, "the breaker is open", func() bool { return c.held() == 0 && c.ready() == 0 })
			c.failed = calls(c.rep)
			cure(c)
			c.zero(c.rep)
		})
	}
}

// cured is a replica that has failed often enough and now is well, unless more
// than 2 are sent to it at once.
type cured struct {
	*rig
	t      *testing.T
	rep    *gt.Replica
	failed int // calls so far
}

// trial is a request that waits until the replica may be tried, and is held there.
func (b *cured) trial(script ...gt.Step) *gt.Client {
	b.rep.Next(script...)
	b.rep.Script(gt.Choose(func(*gt.Call) gt.Script {
		if b.rep.Running() > 2 {
			return gt.Script{gt.Send(gt.Error(500, "EngineDeadError", "too many"))}
		}
		return yes
	}))
	for {
		refused := b.outcomes(router.NoReplica)
		c := b.send(streamed)
		eventually(b.t, "it is tried or refused", func() bool {
			return calls(b.rep) > b.failed || b.outcomes(router.NoReplica) > refused
		})
		if calls(b.rep) > b.failed {
			return c
		}
		c.Close()
	}
}

// waits sends requests that have to wait while the trial runs, and checks that
// they do.
func (b *cured) waits(n int) (answered <-chan map[int]int) {
	done := make(chan map[int]int, 1)
	go func() { done <- b.swarm(n, n, whole) }()
	eventually(b.t, "the others wait", func() bool { return b.waiting() == n })
	if n := calls(b.rep) - b.failed; n != 1 {
		b.t.Errorf("%d calls while the trial ran, want 1", n)
	}
	return done
}

func (b *cured) allServed(answers map[int]int, n int) {
	b.t.Helper()
	if answers[200] != n {
		b.t.Errorf("answers: %v, want %d times 200", answers, n)
	}
	if peak := b.rep.Peak(); peak > 2 {
		b.t.Errorf("%d at once, cap 2", peak)
	}
	if state := b.breakerOf(b.rep); state != "closed" {
		b.t.Errorf("the breaker is %s", state)
	}
}

func (b *cured) byAnswer() {
	goOn := make(chan struct{})
	c := b.trial(gt.Wait(goOn), gt.Send(gt.SSEHead), gt.Chunks(gt.ChatEvents("a")...), gt.Send(gt.FinalChunk))
	answers := b.waits(100)
	close(goOn)
	b.allServed(<-answers, 100)
	c.Close()
}

func (b *cured) byNobody() {
	c := b.trial(gt.Stall())
	answers := b.waits(50)
	c.Close()
	b.allServed(<-answers, 50)
}

func (b *cured) byStream() {
	tell, goOn := make(chan struct{}), make(chan struct{})
	c := b.trial(gt.Wait(tell), gt.Send(gt.SSEHead), gt.Chunks(gt.Role, gt.Content("a")),
		gt.Wait(goOn), gt.Chunks(gt.Finish("", "stop"), gt.Done), gt.Send(gt.FinalChunk))
	answers := b.waits(50)
	close(tell)
	b.allServed(<-answers, 50) // while the stream goes on
	close(goOn)
	if answer, err := c.ReadAnswer(); err != nil || answer.Ending != gt.Whole {
		b.t.Errorf("the trial's stream: %v, %v", answer, err)
	}
	c.Close()
}
