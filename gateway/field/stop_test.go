package field

import (
	"strings"
	"syscall"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
)

// drained stops a gateway that has streams, waiting requests and idle connections,
// with a delay and a grace period.
type drained struct {
	*rig
	b       *bench
	goOn    chan struct{} // the streams' end
	answers chan *gt.Response
	idle    []*gt.Client
}

const (
	drainStreams = 8
	drainQueued  = 4
)

// fullHouse runs a gateway with all its places and its queue full, and 20 idle
// connections.
func fullHouse(t *testing.T, delay, grace string) *drained {
	t.Helper()
	d := &drained{b: newBench(t), goOn: make(chan struct{}), answers: make(chan *gt.Response, drainStreams+drainQueued)}
	d.b.queue = "{max_waiting: 4, max_wait: 1m}"
	d.b.timeouts["between_events"], d.b.timeouts["drain_delay"], d.b.timeouts["drain"] = "1m", delay, grace
	d.b.script(gt.Send(gt.SSEHead), gt.Chunks(gt.Role, gt.Content("a")), gt.Wait(d.goOn), gt.Chunks(gt.ChatEvents("b")[1:]...), gt.Send(gt.FinalChunk))
	d.rig = d.b.start(t)
	for range 20 {
		c := gt.Connect(t, d.data)
		if err := c.Send(gt.Request("GET", "/v1/models", "")); err != nil {
			t.Fatal(err)
		}
		if answer, err := c.ReadAnswer(); err != nil || answer.Status != 200 {
			t.Fatal(answer, err)
		}
		d.idle = append(d.idle, c)
	}
	for range drainStreams + drainQueued {
		go func() { d.answers <- d.post(streamed) }()
	}
	eventually(t, "all places are taken and the queue is full", func() bool {
		return d.metrics().sum("sluice_requests_in_flight", `state="streaming"`) == drainStreams && d.waiting() == drainQueued
	})
	return d
}

// over waits for the process to end, and says how long that took.
func (d *drained) over() time.Duration {
	d.t.Helper()
	since := time.Now()
	d.ends()
	return time.Since(since)
}

// TestShutdownCutsNoAnswer: readiness says no at once, new work is taken during
// the delay that is announced, and whatever was inside then ends as if nothing had
// happened; the last scrape tells of it; the exit code is 0.
func TestShutdownCutsNoAnswer(t *testing.T) {
	t.Parallel()
	d := fullHouse(t, "1s", "1m")
	d.signal(syscall.SIGTERM)
	eventually(t, "/readyz says no", func() bool { return gt.Get(t, d.ops, "/readyz").Status == 503 })
	answer := gt.Get(t, d.data, "/v1/models")
	if answer.Status != 200 || answer.Header.Get("Connection") != "close" {
		t.Errorf("during the delay: status %d, %q", answer.Status, answer.Header)
	}
	eventually(t, "the door is shut", func() bool {
		answer := d.post(whole)
		return answer.Status == 503 && strings.Contains(string(answer.Body), `"code":"draining"`) && answer.Header.Get("Retry-After") == "1"
	})
	if status := gt.Get(t, d.ops, "/healthz").Status; status != 200 {
		t.Errorf("/healthz says %d while it drains", status)
	}
	m := d.metrics()
	if n := m.sum("sluice_requests_received_total") - m.sum("sluice_requests_finished_total"); n != drainStreams+drainQueued {
		t.Errorf("by a scrape %v are inside, want %d", n, drainStreams+drainQueued)
	}
	close(d.goOn)
	for range drainStreams + drainQueued {
		if answer := <-d.answers; answer.Status != 200 || answer.Ending != gt.Whole || !strings.HasSuffix(string(answer.Body), gt.Done) {
			t.Errorf("one that was inside: status %d, %v, %v", answer.Status, answer.Ending, answer.Err)
		}
	}
	if took := d.over(); took > 3*time.Second {
		t.Errorf("then it took %v to end, though only idle connections were left", took)
	}
}

// TestShutdownDeadline: when the grace period is over, or a second signal comes,
// what is left hears why, its replica hears of it too, and the process ends well.
func TestShutdownDeadline(t *testing.T) {
	t.Parallel()
	for name, grace := range map[string]string{"the grace period is over": "500ms", "a second signal": "1h"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fullHouse(t, "0s", grace)
			d.signal(syscall.SIGTERM)
			if grace == "1h" {
				eventually(t, "it drains", func() bool { return gt.Get(t, d.ops, "/readyz").Status == 503 })
				d.signal(syscall.SIGTERM)
			}
			cut, refused := 0, 0
			for range drainStreams + drainQueued {
				switch answer := <-d.answers; {
				case answer.Status == 503 && answer.Ending == gt.Whole && answer.Header.Get("Retry-After") != "":
					refused++
				case answer.Ending == gt.Cut && strings.Contains(string(answer.Body), `"draining"`) && !strings.Contains(string(answer.Body), "[DONE]"):
					cut++
				default:
					t.Errorf("status %d, %v: %s", answer.Status, answer.Ending, answer.Body)
				}
			}
			if cut != drainStreams || refused != drainQueued {
				t.Errorf("%d streams were cut and %d requests refused, want %d and %d", cut, refused, drainStreams, drainQueued)
			}
			for _, rep := range d.b.all() {
				for _, call := range rep.Calls() {
					call.WaitGone(t)
				}
			}
			if took := d.over(); took > 5*time.Second {
				t.Errorf("it took %v to end", took)
			}
			if n := strings.Count(d.access.String(), `"outcome":"draining"`); n != drainStreams+drainQueued {
				t.Errorf("%d lines of the access log say draining, want %d", n, drainStreams+drainQueued)
			}
		})
	}
}

// TestShutdownWithNothingToDo ends at once, whoever holds connections open.
func TestShutdownWithNothingToDo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.start(t)
	for range 20 {
		gt.Connect(t, r.data)
	}
	r.signal(syscall.SIGTERM)
	since := time.Now()
	if r.ends(); time.Since(since) > 3*time.Second {
		t.Errorf("it took %v", time.Since(since))
	}
}
