package field

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// openAIError is how an error's body begins.
const openAIError = `{"error":{"message":`

// three are the opening of a stream and three tokens.
var three = []string{gt.Role, gt.Content("a"), gt.Content("b"), gt.Content("c")}

// TestHalfAnAnswerIsNoSuccess: what breaks off, or stops without saying that it is
// whole, is told from a whole answer by the client, the log and the metrics, and
// the replica is blamed. (TestFaults of package gateway has it for every endpoint.)
func TestHalfAnAnswerIsNoSuccess(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	answer := gt.ChatAnswer(strings.Repeat("x", 5000), "stop", 1, 5000)
	for _, c := range []struct {
		name   string
		script gt.Script
		body   string
	}{
		{"a reset", gt.Script{gt.Send(gt.SSEHead), gt.Chunks(three...), gt.Wait(goOn), gt.Reset()}, streamed},
		{"an end without the last chunk", gt.Script{gt.Send(gt.SSEHead), gt.Chunks(three...), gt.Close()}, streamed},
		{"an end inside an event", gt.Script{gt.Send(gt.SSEHead), gt.Chunks(append(three, gt.Content("d")[:50])...), gt.Close()}, streamed},
		{"a good end of the framing alone", gt.Script{gt.Send(gt.SSEHead), gt.Chunks(three...), gt.Send(gt.FinalChunk)}, streamed},
		{"[DONE] without a finish reason", gt.Script{gt.Send(gt.SSEHead), gt.Chunks(append(three, gt.Done)...), gt.Send(gt.FinalChunk)}, streamed},
		{"an answer short of its length", gt.Script{gt.Send(answer[:900]), gt.Close()}, whole},
		{"a reset within its length", gt.Script{gt.Send(answer[:900]), gt.Pause(50 * time.Millisecond), gt.Reset()}, whole},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.script...)
			b.health["failures_open"] = "1"
			r := b.start(t)
			client := r.send(c.body)
			if c.body == streamed {
				isCut(t, client, goOn, c.name == "a reset")
			} else if got, err := client.ReadAnswer(); err != nil || got.Status != 502 || got.Ending != gt.Whole || !strings.HasPrefix(string(got.Body), openAIError) {
				t.Errorf("answer %+v, %v, want an error in OpenAI's shape", got, err)
			}
			client.Close()
			r.quiet()
			r.ended(map[router.Outcome]int{router.Truncated: 1})
			if l := r.lines()[0]; l.Outcome != "truncated" || l.Attempts != 1 || r.hidden("truncated") != 1 {
				t.Errorf("%d silent failures; access log: %s", r.hidden("truncated"), r.access.String())
			}
			i := slices.IndexFunc(b.all(), func(rep *gt.Replica) bool { return len(rep.Calls()) > 0 })
			if state := r.breakerOf(b.all()[i]); state == "closed" {
				t.Error("the replica isn't blamed")
			}
			b.script(gt.Send(gt.ChatAnswer("a", "stop", 1, 1)))
			eventually(t, "the replica is tried and taken back", func() bool { return r.post(whole).Status == 200 && r.ready() == 4 })
			r.zero(b.all()...)
		})
	}
}

// isCut reads a stream of three tokens that breaks off: the client gets them, an
// error event, no [DONE], and no last chunk. What resets does so when they are read.
func isCut(t *testing.T, c *gt.Client, goOn chan struct{}, resets bool) {
	t.Helper()
	if head, err := c.ReadHead(); err != nil || head.Status != 200 {
		t.Fatalf("answer %v, %v", head, err)
	}
	for range three {
		if _, err := c.ReadEvent(); err != nil {
			t.Fatal(err)
		}
	}
	if resets {
		close(goOn)
	}
	rest, ending := c.Timeline()
	if ending != gt.Cut || len(rest) == 0 || !strings.HasPrefix(rest[len(rest)-1].Data(), openAIError) {
		t.Errorf("then %q, ending %v; want an error event and a cut", rest, ending)
	}
	for _, event := range rest {
		if event.Data() == "[DONE]" {
			t.Error("a cut stream says [DONE]")
		}
	}
}

// TestStreamGoesSilentAndNeverEnds: silence has a limit, before the first event
// and between any two; the slot is given back, and the replica's connection closed.
// Nothing is sent to the client before the first event, so one who gets none
// hears 504, not a stream that breaks; and an answer whose finish reason has come
// is whole, though nothing ends it.
func TestStreamGoesSilentAndNeverEnds(t *testing.T) {
	t.Parallel()
	const between, first = 2 * time.Second, 4 * time.Second
	head, more := gt.Send(gt.SSEHead), slices.Repeat([]string{": bye\n\n", gt.Content("more")}, 100)
	for _, c := range []struct {
		name    string
		script  gt.Script
		body    string
		limit   time.Duration
		outcome router.Outcome
		status  int
		ending  gt.Ending
		hidden  string
	}{
		{"after two tokens", gt.Script{head, gt.Chunks(three[:3]...), gt.Stall()}, streamed, between, router.Stalled, 200, gt.Cut, "stalled"},
		{"in the middle of an event", gt.Script{head, gt.Chunks(append(three[:3:3], "data: {")...), gt.Stall()}, streamed, between, router.Stalled, 200, gt.Cut, "stalled"},
		{"after the finish reason", gt.Script{head, gt.Chunks(append(three[:3:3], gt.Finish("", "stop"))...), gt.Stall()}, streamed, 0, router.Completed, 200, gt.Whole, "no_done"},
		{"after [DONE]", gt.Script{head, gt.Chunks(append(three[:3:3], gt.Finish("", "stop"), gt.Done)...), gt.Stall()}, streamed, 0, router.Completed, 200, gt.Whole, ""},
		{"talks on after [DONE]", gt.Script{head, gt.Chunks(three[:3]...), gt.Chunks(gt.Finish("", "stop"), gt.Done), gt.Chunks(more...), gt.Stall()}, streamed, 0, router.Completed, 200, gt.Whole, ""},
		{"after the head", gt.Script{head, gt.Stall()}, streamed, first, router.Silent, 504, gt.Whole, "silent"},
		{"at once", gt.Script{gt.Stall()}, streamed, first, router.Silent, 504, gt.Whole, "silent"},
		{"at once, not streamed", gt.Script{gt.Stall()}, whole, first, router.Silent, 504, gt.Whole, "silent"},
		{"within an answer that isn't streamed", gt.Script{gt.Send(gt.ChatAnswer("a", "stop", 1, 1)[:150]), gt.Stall()}, whole, between, router.Stalled, 504, gt.Whole, "stalled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.script...)
			b.timeouts["between_events"], b.timeouts["first_event"] = between.String(), first.String()
			r := b.start(t)
			began := time.Now()
			answer := r.post(c.body)
			// Generous above: not our speed is tested, but that there is an end.
			if took := time.Since(began); answer.Status != c.status || answer.Ending != c.ending || took < c.limit || took > c.limit+between+2*time.Second {
				t.Errorf("status %d, ending %v after %v: %s", answer.Status, answer.Ending, took, answer.Body)
			}
			if said := string(answer.Body); c.outcome == router.Completed && c.hidden == "" && !strings.HasSuffix(said, gt.Finish("", "stop")+gt.Done) {
				t.Errorf("the client got\n%s", said)
			}
			for _, rep := range b.all() {
				rep.WaitRunning(0) // its peer has closed
			}
			r.quiet()
			r.ended(map[router.Outcome]int{c.outcome: 1})
			if c.hidden != "" && r.hidden(c.hidden) != 1 || r.metrics().sum("sluice_silent_failures_total") > 1 {
				t.Errorf("silent failures: %v of kind %q, %v in all", r.hidden(c.hidden), c.hidden, r.metrics().sum("sluice_silent_failures_total"))
			}
			r.zero(b.all()...)
		})
	}
}

// TestLongAnswersOutliveEveryTimer: nothing limits an answer as a whole, neither
// its length in time, nor a client that takes it slowly; limits on silence are
// none on patience.
func TestLongAnswersOutliveEveryTimer(t *testing.T) {
	t.Parallel()
	const size, n = 32 << 10, 200 // 6.4 MB: more than the sockets hold
	big := gt.Content(strings.Repeat("x", size))
	stream := func(gap time.Duration, events ...string) gt.Script {
		return gt.Script{gt.Send(gt.SSEHead), gt.ChunksEach(gap, events...), gt.Chunks(gt.ChatEvents("b")...), gt.Send(gt.FinalChunk)}
	}
	for _, c := range []struct {
		name   string
		script gt.Script
		first  string // timeouts.first_event; all others are 2 s, and the answers take three times that
		ask    func(*testing.T, *rig)
	}{
		{"a stream", stream(200*time.Millisecond, slices.Repeat([]string{gt.Content("a")}, 30)...), "2s", func(t *testing.T, r *rig) {
			if answer := r.post(streamed); len(answer.Events()) != 33 || answer.Ending != gt.Whole {
				t.Errorf("%d events, ending %v, want 33", len(answer.Events()), answer.Ending)
			}
		}},
		{"an answer that begins late", gt.Script{gt.Pause(6 * time.Second), gt.Send(gt.ChatAnswer("a", "stop", 1, 1))}, "12s", func(t *testing.T, r *rig) {
			if answer := r.post(whole); answer.Status != 200 || answer.Ending != gt.Whole {
				t.Errorf("status %d, ending %v: %s", answer.Status, answer.Ending, answer.Body)
			}
		}},
		{"a client that reads slowly", stream(0, slices.Repeat([]string{big}, n)...), "2s", func(t *testing.T, r *rig) { readSlowly(t, r, big, n) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.script...)
			for _, name := range []string{"read_headers", "read_body", "connect", "between_events", "write_stall", "idle_client", "idle_replica", "drain"} {
				b.timeouts[name] = "2s"
			}
			b.timeouts["first_event"] = c.first
			r := b.start(t)
			c.ask(t, r)
			r.zero(b.all()...)
		})
	}
}

// readSlowly reads n events, one every few milliseconds, and then the rest.
func readSlowly(t *testing.T, r *rig, want string, n int) {
	t.Helper()
	c := r.send(streamed)
	defer c.Close()
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadHead(); err != nil {
		t.Fatal(err)
	}
	pace := time.NewTicker(30 * time.Millisecond)
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
