package gateway

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// ask sends a streamed request and leaves the answer to be read.
func (r *rig) ask(t *testing.T, lines ...string) *gt.Client {
	t.Helper()
	c := gt.Connect(t, r.data)
	if err := c.Send(gt.Request("POST", "/v1/chat/completions", plainStream, lines...)); err != nil {
		t.Fatal(err)
	}
	return c
}

// However the network cuts or glues events, the client gets the same bytes.
func TestEventsCutAndGlued(t *testing.T) {
	t.Parallel()
	long := gt.Content("a \"quoted\" word, é and 漢 " + strings.Repeat("x", 200))
	events := append([]string{gt.Role, long}, gt.ChatEvents("b", "c", "d", "e")[1:]...)
	all := strings.Join(events, "")
	inside := len(gt.Role) + strings.Index(long, `\"`) + 1
	between := len(gt.Role) + len(long) - 1 // between the two line breaks
	scripts := map[string]gt.Script{
		"cut inside a string and inside a blank line": {
			gt.Send(gt.SSEHead),
			gt.SendEach(5*time.Millisecond, gt.Chunk(all[:inside]), gt.Chunk(all[inside:between]), gt.Chunk(all[between:])),
		},
		"one byte a chunk":        {gt.Send(gt.SSEHead), gt.Chunks(strings.Split(all, "")...)},
		"one byte a write":        {gt.SendBytewise(0, gt.SSEHead+gt.Chunk(all)), gt.Send(gt.FinalChunk)},
		"all in one write":        {gt.Send(gt.SSEHead + gt.Chunk(all) + gt.FinalChunk)},
		"CRLF for line ends":      {gt.Send(gt.SSEHead + gt.Chunk(strings.ReplaceAll(all, "\n", "\r\n")))},
		"unframed, byte by byte":  {gt.Send(gt.SSEHeadUnframed), gt.SendBytewise(0, all), gt.Close()},
		"with a length, in parts": {gt.Send(gt.SSEHeadLength(len(all))), gt.SendEach(time.Millisecond, all[:100], all[100:])},
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := all
			if strings.HasPrefix(name, "CRLF") {
				want = strings.ReplaceAll(all, "\n", "\r\n")
				script = append(script, gt.Send(gt.FinalChunk))
			}
			if strings.HasPrefix(name, "cut") || strings.HasPrefix(name, "one byte a chunk") {
				script = append(script, gt.Send(gt.FinalChunk))
			}
			r := start(t, onePool(2, gt.NewReplica(t, script...)))
			answer := r.post(plainStream)
			if string(answer.Body) != want || answer.Ending != gt.Whole || answer.Header.Get("Content-Length") != "" {
				t.Errorf("ending %v, got\n%q\nwant\n%q", answer.Ending, answer.Body, want)
			}
			r.quiet()
			if line := r.lastLine(t); line.TTFT == nil || line.Outcome != "completed" {
				t.Errorf("access log: %+v", line)
			}
			if n := sum(r.metrics(), "sluice_time_to_first_token_seconds_count"); n != 1 {
				t.Errorf("the first token was timed %v times", n)
			}
			if log := r.log.String(); strings.Contains(log, "WARN") {
				t.Errorf("warnings:\n%s", log)
			}
		})
	}
}

// Comments keep a stream alive: they pass at once, as they are, and are no token.
func TestHeartbeats(t *testing.T) {
	pulse := make(chan struct{})
	beats := []string{": ping 1\n\n", ": ping 2\n\n", ":\n\n", "event: ping\ndata:\n\n", ": ping 3\n\n", ": ping 4\n\n"}
	script := gt.Script{gt.Send(gt.SSEHead)}
	for _, beat := range beats {
		script = append(script, gt.Wait(pulse), gt.Chunks(beat))
	}
	script = append(script, gt.Pause(100*time.Millisecond), gt.Chunks(gt.Content("a"), gt.Finish("b", "stop"), gt.Done), gt.Send(gt.FinalChunk))
	r := start(t, onePool(2, gt.NewReplica(t, script...))+"timeouts: {between_events: 1s, first_event: 1s, first_event_per_4k: 0s}\n")
	c := r.ask(t)
	pace := time.NewTicker(300 * time.Millisecond) // all of them take longer than the limits
	defer pace.Stop()
	var silent time.Duration
	began := time.Now()
	for i, beat := range beats {
		pulse <- struct{}{}
		if i == 0 {
			if head, err := c.ReadHead(); err != nil || head.Status != 200 {
				t.Fatalf("answer %v, %v", head, err)
			}
		}
		if event, err := c.ReadEvent(); err != nil || event.Raw != beat { // before the next is sent
			t.Fatalf("got %q, %v, want %q", event.Raw, err, beat)
		}
		silent = time.Since(began)
		<-pace.C
	}
	if rest, ending := c.Timeline(); len(rest) != 3 || ending != gt.Whole {
		t.Errorf("then %d events, ending %v", len(rest), ending)
	}
	r.quiet()
	if line := r.lastLine(t); line.Outcome != "completed" || line.TTFT == nil || *line.TTFT < float64(silent.Milliseconds()) {
		t.Errorf("access log: %+v; there was no token for %v", line, silent)
	}
}

// Each event goes on when it has come, and outer proxies are told not to hold it.
func TestEventsAreNotHeld(t *testing.T) {
	t.Parallel()
	pulse := make(chan struct{})
	head := gt.Head(200, "content-type: text/event-stream; charset=utf-8", "transfer-encoding: chunked", "X-Accel-Buffering: yes", "cache-control: max-age=5", "cache-control: public")
	for name, script := range map[string]gt.Script{"usual head": {gt.Send(gt.SSEHead)}, "a head that lets proxies hold it": {gt.Send(head)}} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				script = append(script, gt.Wait(pulse), gt.Chunks(gt.Content("a")))
			}
			script = append(script, gt.Chunks(gt.Finish("", "stop"), gt.Done), gt.Send(gt.FinalChunk))
			r := start(t, onePool(2, gt.NewReplica(t, script...)))
			c := r.ask(t)
			for i := range 20 {
				pulse <- struct{}{}
				if i == 0 {
					head, err := c.ReadHead()
					if err != nil {
						t.Fatal(err)
					}
					for name, want := range map[string][]string{"X-Accel-Buffering": {"no"}, "Cache-Control": {"no-cache"}, "Content-Length": nil, "Transfer-Encoding": {"chunked"}, "Content-Type": {"text/event-stream; charset=utf-8"}} {
						if got := head.Header.Values(name); !slices.Equal(got, want) {
							t.Errorf("%s: %q, want %q", name, got, want)
						}
					}
				}
				if _, err := c.ReadEvent(); err != nil {
					t.Fatal(err)
				}
			}
			if rest, ending := c.Timeline(); len(rest) != 2 || ending != gt.Whole {
				t.Errorf("then %d events, ending %v", len(rest), ending)
			}
			r.quiet()
		})
	}
}

// A replica that has said all but doesn't end its answer holds up nobody.
func TestAnswerIsThereButDoesNotEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		last    []string
		ending  gt.Ending
		outcome router.Outcome
		hidden  string
	}{
		"after [DONE]":             {[]string{gt.Finish("", "stop"), gt.Done}, gt.Whole, router.Completed, ""},
		"babbles after [DONE]":     {append([]string{gt.Finish("", "stop"), gt.Done}, slices.Repeat([]string{": bye\n\n", gt.Content("more")}, 100)...), gt.Whole, router.Completed, ""},
		"after the finish reason":  {[]string{gt.Finish("", "stop")}, gt.Whole, router.Completed, "no_done"},
		"after nothing of the two": {nil, gt.Cut, router.Stalled, "stalled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rep := gt.NewReplica(t, gt.Send(gt.SSEHead), gt.Chunks(gt.Role, gt.Content("a")), gt.Chunks(test.last...), gt.Stall())
			r := start(t, onePool(2, rep)+"timeouts: {between_events: 2s}\n")
			began := time.Now()
			answer := r.post(plainStream)
			if took := time.Since(began); answer.Ending != test.ending || took > 8*time.Second {
				t.Errorf("ending %v after %v, want %v", answer.Ending, took, test.ending)
			}
			if said := string(answer.Body); test.hidden == "" && !strings.HasSuffix(said, gt.Finish("", "stop")+gt.Done) {
				t.Errorf("the client got\n%s", said)
			}
			rep.Call(0).WaitGone(t)
			r.quiet()
			if n := r.outcomes(test.outcome); n != 1 {
				t.Errorf("it did not end as %v: %+v", test.outcome, r.lastLine(t))
			}
			for kind, n := range hiddenIn(r.metrics()) {
				if (n == 1) != (kind == test.hidden) {
					t.Errorf("silent_failures_total of kind %s: %v", kind, n)
				}
			}
		})
	}
}

// tightLimits are shorter than the answers below take. Tests with them aren't
// parallel: a crowd in the same process would make any second too short.
const tightLimits = "timeouts: {read_headers: 1s, read_body: 1s, connect: 1s, first_event: 1s, first_event_per_4k: 0s, per_token_unstreamed: 1ms, " +
	"between_events: 1s, write_stall: 1s, idle_client: 1s, idle_replica: 1s, release_after_cancel: 1s, drain: 1s}\n"

// Nothing limits an answer as a whole: neither its length in time, nor a client
// that takes it slowly.
func TestLongAnswersOutliveEveryTimeout(t *testing.T) {
	const size, n = 32 << 10, 200 // 6.4 MB: more than the sockets hold
	big := gt.Content(strings.Repeat("x", size))
	stream := func(gap time.Duration, events ...string) gt.Script {
		return gt.Script{gt.Send(gt.SSEHead), gt.ChunksEach(gap, events...), gt.Chunks(gt.ChatEvents("b")...), gt.Send(gt.FinalChunk)}
	}
	long := start(t, onePool(2, gt.NewReplica(t, stream(100*time.Millisecond, slices.Repeat([]string{gt.Content("a")}, 30)...)...))+tightLimits)
	late := start(t, onePool(2, gt.NewReplica(t, gt.Pause(2500*time.Millisecond), gt.Send(gt.ChatAnswer("a", "stop", 1, 1))))+tightLimits)
	slow := start(t, onePool(2, gt.NewReplica(t, stream(0, slices.Repeat([]string{big}, n)...)...))+tightLimits)
	var others sync.WaitGroup
	others.Go(func() {
		if answer := long.post(plainStream); len(answer.Events()) != 33 || answer.Ending != gt.Whole {
			t.Errorf("the long stream: %d events, ending %v, want 33", len(answer.Events()), answer.Ending)
		}
	})
	others.Go(func() {
		if answer := late.post(plainBody); answer.Status != 200 {
			t.Errorf("the late answer: %d: %s", answer.Status, answer.Body)
		}
	})
	readSlowly(t, slow, big, n)
	others.Wait()
	for _, r := range []*rig{long, late, slow} {
		r.quiet()
	}
}

// readSlowly reads n events, one every few milliseconds, and then the rest.
func readSlowly(t *testing.T, r *rig, want string, n int) {
	t.Helper()
	c := r.ask(t)
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadHead(); err != nil {
		t.Fatal(err)
	}
	pace := time.NewTicker(15 * time.Millisecond)
	defer pace.Stop()
	for i := range n {
		<-pace.C
		if event, err := c.ReadEvent(); err != nil || event.Raw != want {
			t.Fatalf("event %d: %d bytes, %v", i, len(event.Raw), err)
		}
	}
	if rest, ending := c.Timeline(); len(rest) != 3 || ending != gt.Whole {
		t.Errorf("then %d events, ending %v", len(rest), ending)
	}
}
