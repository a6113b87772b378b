package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
)

var (
	good      = gatewaytest.Send(gatewaytest.ChatAnswer("yes", "stop", 5, 1))
	askModels = "GET /v1/models HTTP/1.1\r\nHost: gateway.test\r\n\r\n"
)

// hears reads one answer that must have the status.
func hears(status int) func(*gatewaytest.Client) error {
	return func(c *gatewaytest.Client) error {
		answer, err := c.ReadAnswer()
		if err == nil && answer.Status != status {
			err = fmt.Errorf("answer %d, want %d: %s", answer.Status, status, answer.Body)
		}
		return err
	}
}

// TestTenThousandIdleConnections: half have had an answer, half never say a word.
func TestTenThousandIdleConnections(t *testing.T) {
	s := besiege(t, "timeouts: {read_headers: 60s, idle_client: 60s}\n", 0, good)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	each := min(5000, int(min(files.Cur, 1<<20)-600)/2) // ours and the process's own: a machine may allow fewer
	s.connect(each, askModels, hears(200))
	s.connect(each, "", nil)
	s.until("the process has them all", func() bool { return s.metric("process_open_fds") >= float64(2*each) })
	for range 20 {
		s.serves()
	}
	t.Logf("%d connections", 2*each)
	s.held(2*each*idleConnection + garbage)
}

// TestSlowSenders: bytes that drip aren't progress. Heads have timeouts.read_headers,
// bodies timeouts.read_body, as a whole.
func TestSlowSenders(t *testing.T) {
	s := besiege(t, "timeouts: {read_headers: 2s, read_body: 2s}\n", 0, good)
	const each = 500
	heads := s.connect(each, "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway.test\r\nX-Slow: ", nil)
	bodies := s.connect(each, gatewaytest.Request("POST", "/v1/chat/completions", "", "Content-Length: 1000")+"{", nil)
	slow := append(heads, bodies...)
	dripped := make(chan struct{})
	go func() {
		defer close(dripped)
		drip := time.NewTicker(200 * time.Millisecond)
		defer drip.Stop()
		for range 15 {
			<-drip.C
			for _, c := range slow {
				_, _ = io.WriteString(c.Conn, "x") // fails when the gateway has had enough
			}
		}
	}()
	s.until("the bodies are being read", func() bool { return s.metric(`sluice_requests_in_flight{state="reading"}`) == each })
	s.serves()
	var all sync.WaitGroup
	for _, c := range slow {
		all.Go(func() {
			if err := hears(408)(c); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	<-dripped
	s.serves()
	if n := s.metric(`sluice_rejected_requests_total{code="request_timeout"}`); n != each {
		t.Errorf("%v heads are counted as late, want %d", n, each)
	}
	if n := s.metric(`sluice_requests_finished_total{class="none",outcome="invalid",route="none"}`); n != each {
		t.Errorf("%v bodies are counted as invalid, want %d", n, each)
	}
	s.held(2*each*openRequest + garbage)
}

// TestClaimsOfSixteenMegabytes: who claims much and sends a byte costs a byte's worth.
func TestClaimsOfSixteenMegabytes(t *testing.T) {
	s := besiege(t, "timeouts: {read_body: 1s}\n", 0, good)
	const clients = 200
	claims := s.connect(clients, gatewaytest.Request("POST", "/v1/chat/completions", "", "Content-Length: 16777216")+"{", nil)
	s.until("they are being read", func() bool { return s.metric(`sluice_requests_in_flight{state="reading"}`) == clients })
	s.serves()
	for _, c := range claims {
		c.Close()
	}
	s.until("they are forgotten", func() bool { return s.metric(`sluice_requests_in_flight{state="reading"}`) == 0 })
	s.held(clients*openRequest + garbage)
}

// megabytes are a stream of n MB of events that nobody reads, or an answer in one
// piece.
func megabytes(n int, head string) []gatewaytest.Step {
	event := gatewaytest.Content(strings.Repeat("x", 4<<10))
	pieces := make([]string, n*1_000_000/len(event))
	for i := range pieces {
		pieces[i] = event
	}
	if head == gatewaytest.SSEHead {
		return []gatewaytest.Step{gatewaytest.Send(head), gatewaytest.Chunks(pieces...), gatewaytest.Send(gatewaytest.FinalChunk)}
	}
	return []gatewaytest.Step{gatewaytest.Send(head), gatewaytest.SendEach(0, pieces...), gatewaytest.Close()}
}

// TestClientsThatNeverReadTheirAnswer hold up their replica, not the memory, until
// timeouts.write_stall.
func TestClientsThatNeverReadTheirAnswer(t *testing.T) {
	s := besiege(t, "timeouts: {write_stall: 2s}\n", 0, good)
	s.rep.Script(megabytes(200, gatewaytest.SSEHead)...)
	const clients = 20
	s.connect(clients, gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true)), func(c *gatewaytest.Client) error {
		_, err := c.ReadHead()
		return err
	})
	s.until("they are cut off", func() bool {
		return s.metric(`sluice_requests_finished_total{class="decode",outcome="client_gone_streaming",route="m"}`) == clients
	})
	s.until("the replica is rid of them", func() bool { return s.rep.Running() == 0 })
	s.rep.Script(good)
	s.serves()
	s.held(clients*openRequest + garbage)
}

// TestAnswersBeyondTheLimit: an answer that isn't streamed is held whole, up to
// limits.answer and no further.
func TestAnswersBeyondTheLimit(t *testing.T) {
	s := besiege(t, "", 0, good)
	s.rep.Script(megabytes(200, gatewaytest.Head(200, "content-type: application/json", "connection: close"))...)
	answer := gatewaytest.Post(t, s.data, "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", false))
	if answer.Status != 502 || !strings.Contains(string(answer.Body), "limits.answer") {
		t.Errorf("answer %d: %.300s", answer.Status, answer.Body)
	}
	if n := s.metric(`sluice_requests_finished_total{class="decode",outcome="replica_error",route="m"}`); n != 1 {
		t.Errorf("%v ended as replica_error, want 1", n)
	}
	s.rep.Script(good)
	s.serves()
	s.held(oneAnswer + garbage)
}

// TestOutOfDescriptors: more clients come than the process may open files. Those who
// are in are served, those who aren't hear why, and probes have theirs.
func TestOutOfDescriptors(t *testing.T) {
	goOn := make(chan struct{})
	s := besiege(t, "", 512, good)
	if !strings.Contains(s.log(), "may open 512 files") {
		t.Errorf("no warning:\n%s", s.log())
	}
	s.rep.Script(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Content("a")), gatewaytest.Wait(goOn),
		gatewaytest.Chunks(gatewaytest.Finish("b", "stop"), gatewaytest.Done), gatewaytest.Send(gatewaytest.FinalChunk))
	stream := s.connect(1, gatewaytest.Request("POST", "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", true)), func(c *gatewaytest.Client) error {
		_, err := c.ReadHead()
		return err
	})[0]
	crowd := s.connect(1500, "", nil)
	s.until("clients are turned away", func() bool { return s.metric("sluice_accept_errors_total") > 1000 })
	s.until("one of them hears why", func() bool {
		answer := gatewaytest.Post(t, s.data, "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", false))
		return answer.Status == 503 && strings.Contains(string(answer.Body), "the limit on open files leaves")
	})
	close(goOn)
	if _, ending := stream.Timeline(); ending != gatewaytest.Whole {
		t.Errorf("the stream of one who was in: ending %v", ending)
	}
	s.rep.Script(good)
	for _, c := range crowd {
		c.Close()
	}
	s.until("there is room again", func() bool {
		return gatewaytest.Post(t, s.data, "/v1/chat/completions", gatewaytest.ChatBody("m", "hi", false)).Status == 200
	})
	if n := s.metric("process_open_fds"); n >= 512 {
		t.Errorf("%v files were open", n)
	}
	s.held(512*openRequest + garbage)
}

// TestFullLogDisk: what the log can't take is lost and counted, and no request waits.
func TestFullLogDisk(t *testing.T) {
	rep := gatewaytest.NewReplica(t, good)
	file, write := policyFile(t)
	write(4, rep)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	s := &siege{running: &running{T: t, exited: make(chan error, 1)}, rep: rep, done: make(chan struct{})}
	s.launch(file, full)
	s.clean = s.memory()
	s.ended.Go(func() { s.every(probeEvery, s.probe) })
	for range 200 {
		s.serves()
	}
	s.until("the lost lines are counted", func() bool { return s.metric("sluice_access_log_lines_lost_total") == 200 })
	s.grew(s.memory())
	s.held(garbage)
}
