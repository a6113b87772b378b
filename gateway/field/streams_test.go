package field

import (
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

// asksUsage is a streamed request that asks for usage, so that nothing of the
// answer is for the gateway alone.
const asksUsage = `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`

// TestFramesCutByTheNetwork: a read is not an event. However the network, or the
// replica's framing, cuts events and glues them, the client gets the same bytes.
func TestFramesCutByTheNetwork(t *testing.T) {
	t.Parallel()
	long := gt.Content("a \"quoted\" word, é and 漢 " + strings.Repeat("x", 200))
	events := append([]string{gt.Role, long}, gt.ChatEvents("b", "c", "d", "e")[1:]...)
	events = slices.Insert(events, len(events)-1, gt.Usage(7, 5))
	all := strings.Join(events, "")
	inString := len(gt.Role) + strings.Index(long, `\"`) + 1
	inBlank := len(gt.Role) + len(long) - 1 // between the two line breaks
	framed := gt.SSEHead + gt.Chunk(all) + gt.FinalChunk
	const gap = 20 * time.Millisecond
	parts := func(wrap func(string) string) []string {
		return []string{wrap(all[:inString]), wrap(all[inString:inBlank]), wrap(all[inBlank : inBlank+1]), wrap(all[inBlank+1:])}
	}
	plain := func(s string) string { return s }
	crlf := strings.ReplaceAll(all, "\n", "\r\n")
	for _, c := range []struct {
		name, want string
		script     gt.Script
	}{
		{"chunks cut in a string and in a blank line", all, gt.Script{gt.Send(gt.SSEHead), gt.SendEach(gap, parts(gt.Chunk)...), gt.Send(gt.FinalChunk)}},
		{"sends cut there, of one chunk", all, gt.Script{gt.Send(gt.SSEHead), gt.Send(gt.Chunk(all)[:5]), gt.SendEach(gap, parts(plain)...), gt.Send("\r\n" + gt.FinalChunk)}},
		{"a chunk a byte", all, gt.Script{gt.Send(gt.SSEHead), gt.Chunks(strings.Split(all, "")...), gt.Send(gt.FinalChunk)}},
		{"a send a byte, framing too", all, gt.Script{gt.SendBytewise(0, framed)}},
		{"all in one send", all, gt.Script{gt.Send(framed)}},
		{"line ends of two bytes, a byte a send", crlf, gt.Script{gt.Send(gt.SSEHead), gt.SendBytewise(0, gt.Chunk(crlf)), gt.Send(gt.FinalChunk)}},
		{"until the connection ends, a byte a send", all, gt.Script{gt.Send(gt.SSEHeadUnframed), gt.SendBytewise(0, all), gt.Close()}},
		{"with a length, in parts", all, gt.Script{gt.Send(gt.SSEHeadLength(len(all))), gt.SendEach(gap, parts(plain)...)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.script...)
			r := b.start(t)
			answer := r.post(asksUsage)
			if sha256.Sum256(answer.Body) != sha256.Sum256([]byte(c.want)) || answer.Ending != gt.Whole || answer.Header.Get("Content-Length") != "" {
				t.Errorf("ending %v, got\n%q\nwant\n%q", answer.Ending, answer.Body, c.want)
			}
			r.quiet()
			if l := r.lines()[0]; l.Outcome != "completed" || l.TTFT == nil || l.TokensOut == nil || *l.TokensOut != 5 {
				t.Errorf("access log: %s", r.access.String())
			}
			m := r.metrics()
			if first, out := m.sum("sluice_time_to_first_token_seconds_count"), m.sum("sluice_tokens_total", `type="output"`); first != 1 || out != 5 {
				t.Errorf("%v first tokens and %v tokens are counted, want 1 and 5", first, out)
			}
			if log := r.log.String(); strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
				t.Errorf("the log warns:\n%s", log)
			}
			r.zero(b.all()...)
		})
	}
}

// TestHeartbeatComments: comments pass at once and as they are, whether tokens
// have come or not; they keep a stream alive and are no token.
func TestHeartbeatComments(t *testing.T) {
	t.Parallel()
	pulse := make(chan struct{})
	beats := []string{": ping 1\n\n", ": ping 2\n\n", ":\n\n", "event: ping\ndata:\n\n", ": ping 3\n\n", ": : data: {\n\n", ": ping 4\n\n"}
	script := gt.Script{gt.Send(gt.SSEHead)}
	for _, beat := range beats {
		script = append(script, gt.Wait(pulse), gt.Chunks(beat))
	}
	b := newBench(t, append(script, gt.Wait(pulse), gt.Chunks(gt.Content("a"), ": between\n\n", gt.Finish("b", "stop"), gt.Usage(3, 2), gt.Done), gt.Send(gt.FinalChunk))...)
	b.timeouts["first_event"], b.timeouts["between_events"] = "2s", "2s" // shorter than all of the beats take
	r := b.start(t)
	c := r.send(asksUsage)
	pace := time.NewTicker(600 * time.Millisecond)
	defer pace.Stop()
	var first time.Time // beat that came
	for i, beat := range beats {
		pulse <- struct{}{}
		if i == 0 {
			if head, err := c.ReadHead(); err != nil || head.Status != 200 {
				t.Fatalf("answer %v, %v", head, err)
			}
		}
		if event, err := c.ReadEvent(); err != nil || event.Raw != beat { // here before the next is sent
			t.Fatalf("got %q, %v, want %q", event.Raw, err, beat)
		}
		if i == 0 {
			first = time.Now()
		}
		<-pace.C
	}
	silent := time.Since(first)
	pulse <- struct{}{}
	if rest, ending := c.Timeline(); len(rest) != 5 || rest[1].Raw != ": between\n\n" || ending != gt.Whole {
		t.Errorf("then %q, ending %v", rest, ending)
	}
	c.Close()
	r.quiet()
	if l := r.lines()[0]; l.Outcome != "completed" || l.TTFT == nil || *l.TTFT < float64(silent.Milliseconds()-1) || l.TokensOut == nil || *l.TokensOut != 2 {
		t.Errorf("there was no token for %v; access log: %s", silent, r.access.String())
	}
	r.zero(b.all()...)
}

// TestTokensInOneLump: each event goes on when it has come, and proxies in front
// are told not to hold it, whatever the replica says of that.
func TestTokensInOneLump(t *testing.T) {
	t.Parallel()
	const kind = "content-type: text/event-stream; charset=utf-8"
	for name, head := range map[string]string{
		"usual head":                     gt.SSEHead,
		"a head that forbids to hold it": gt.Head(200, kind, "transfer-encoding: chunked", "X-Accel-Buffering: no"),
		"a head that lets proxies do so": gt.Head(200, kind, "transfer-encoding: chunked", "X-Accel-Buffering: yes", "cache-control: max-age=5", "cache-control: public"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pulse := make(chan struct{})
			script := gt.Script{gt.Send(head)}
			for range 20 {
				script = append(script, gt.Wait(pulse), gt.Chunks(gt.Data(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`)))
			}
			b := newBench(t, append(script, gt.Chunks(gt.Finish("", "stop"), gt.Done), gt.Send(gt.FinalChunk))...)
			r := b.start(t)
			c := r.send(streamed)
			for i := range 20 {
				pulse <- struct{}{}
				if i == 0 {
					notHeld(t, c)
				}
				if _, err := c.ReadEvent(); err != nil {
					t.Fatal(err)
				}
			}
			if rest, ending := c.Timeline(); len(rest) != 2 || ending != gt.Whole {
				t.Errorf("then %d events, ending %v", len(rest), ending)
			}
			c.Close()
			r.zero(b.all()...)
			r.ended(map[router.Outcome]int{router.Completed: 1 + 8})
		})
	}
}

// notHeld checks the head of a stream: what proxies are told, and its framing.
func notHeld(t *testing.T, c *gt.Client) {
	t.Helper()
	head, err := c.ReadHead()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"X-Accel-Buffering": {"no"}, "Cache-Control": {"no-cache"}, "Content-Length": nil,
		"Transfer-Encoding": {"chunked"}, "Content-Type": {"text/event-stream; charset=utf-8"},
	} {
		if got := head.Header.Values(name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
