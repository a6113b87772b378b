package gateway

import (
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// seam is a gateway before two scripted replicas, of which the first gets every
// request and the second what is left of it.
type seam struct {
	*rig
	first, second *gatewaytest.Replica
}

// ofSecond makes an event the second replica's.
func ofSecond(event string) string { return strings.Replace(event, "chatcmpl-1", "chatcmpl-2", 1) }

// newSeam starts one. edit changes the policy.
func newSeam(t *testing.T, edit ...string) seam {
	t.Helper()
	s := seam{first: gatewaytest.NewReplica(t), second: gatewaytest.NewReplica(t)}
	s.second.Script(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(ofSecond(gatewaytest.Role), ofSecond(gatewaytest.Content(" b")),
		ofSecond(gatewaytest.Finish(" c", "stop")), ofSecond(gatewaytest.Usage(12, 2)), gatewaytest.Done), gatewaytest.Send(gatewaytest.FinalChunk))
	policy := strings.NewReplacer(edit...).Replace(twinPools("continue", s.first.URL(), s.second.URL()))
	s.rig = start(t, policy)
	return s
}

// breaks scripts the first replica: it says these events, and then fails so.
func (s seam) breaks(end gatewaytest.Step, events ...string) {
	s.first.Script(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(append([]string{gatewaytest.Role}, events...)...), end)
}

// results is how many broken answers came to this.
func (s seam) results(result string) int {
	return int(sum(s.metrics(), "sluice_broken_answers_total", `result="`+result+`"`))
}

const askedChat = `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":9,"stream":true}`

// TestTheSeam: what the second replica is asked for, what the client hears, and what
// the log says, event by event.
func TestTheSeam(t *testing.T) {
	s := newSeam(t)
	s.breaks(gatewaytest.Reset(), gatewaytest.Content("a"), ": ping\n\n", gatewaytest.Content(" é\""))
	got := s.post(askedChat, "X-Request-Id: r1", "X-Mine: 7")
	want := gatewaytest.Role + gatewaytest.Content("a") + ": ping\n\n" + gatewaytest.Content(" é\"") +
		": sluice: the replica failed here (truncated); another one goes on\n\n" +
		gatewaytest.Content(" b") + gatewaytest.Finish(" c", "stop") + gatewaytest.Done
	if string(got.Body) != want || got.Ending != gatewaytest.Whole {
		t.Errorf("%v\n got %s\nwant %s", got.Ending, got.Body, want)
	}
	call := s.second.Call(0)
	const asked = `{"continue_final_message":true,"add_generation_prompt":false,"model":"served","messages":[{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":"a é\""}],"max_tokens":7,"stream":true,"stream_options":{"include_usage":true}}`
	if string(call.Body) != asked || call.Header.Get("x-mine") != "7" || call.Header.Get("x-request-id") != "r1-2" {
		t.Errorf("the second replica got %v\n %s\nwant %s", call.Header, call.Body, asked)
	}
	s.quiet()
	log := s.access.String()
	for _, part := range []string{`"outcome":"completed"`, `"attempts":2`, `"tokens_in":10,`, `"tokens_out":4,`, `"replica":"` + s.second.URL(), `"broken_at":"` + s.first.URL()} {
		if !strings.Contains(log, part) {
			t.Errorf("the log doesn't say %s: %s", part, log)
		}
	}
	if s.results("continued") != 1 || s.outcomes(router.Completed) != 1 || s.attempts(router.Truncated) != 1 || s.attempts(router.Completed) != 1 {
		t.Errorf("the books say %d continued, %d completed", s.results("continued"), s.outcomes(router.Completed))
	}
	if held := s.g.handler.bodies.held.Load(); held != 0 {
		t.Errorf("%d bytes of bodies are still held", held)
	}
}

// TestWhatIsNotMended: where there is a doubt the answer ends in a typed error, and
// no other replica hears of it.
func TestWhatIsNotMended(t *testing.T) {
	content, reset := gatewaytest.Content, gatewaytest.Reset()
	reasoning := strings.Replace(content("hm"), `"content"`, `"reasoning_content"`, 1)
	calls := strings.Replace(content("x"), `"content":"x"`, `"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]`, 1)
	for name, c := range map[string]struct {
		edit, body string
		end        gatewaytest.Step
		events     []string
		result     string // counted as; empty: not at all
	}{
		"switched off":       {edit: "on_break: continue", end: reset, events: []string{content("a")}},
		"pinned to a pool":   {edit: "implicit_route: false", body: strings.Replace(askedChat, `"m"`, `"served"`, 1), end: reset, events: []string{content("a")}},
		"tools":              {body: strings.Replace(askedChat, `"stream"`, `"tools":[{"type":"function","function":{"name":"f"}}],"stream"`, 1), end: reset, events: []string{content("a")}},
		"two choices":        {body: strings.Replace(askedChat, `"stream"`, `"n":2,"stream"`, 1), end: reset, events: []string{content("a")}},
		"a form":             {body: strings.Replace(askedChat, `"stream"`, `"structured_outputs":{"regex":"a+"},"stream"`, 1), end: reset, events: []string{content("a")}},
		"it has reasoned":    {end: reset, events: []string{reasoning, content("a")}, result: "not_plain"},
		"it calls a tool":    {end: reset, events: []string{content("a"), calls}, result: "not_plain"},
		"ends in a space":    {end: reset, events: []string{content("a"), content(" ")}, result: "not_plain"},
		"half a character":   {end: reset, events: []string{content("a\ufffd")}, result: "not_plain"},
		"nothing but a ping": {end: reset, events: []string{": ping\n\n"}, result: "not_plain"},
		"it has finished":    {end: reset, events: []string{content("a"), gatewaytest.Finish("b", "stop")}, result: "not_plain"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeam(t, c.edit, map[string]string{"on_break: continue": "on_break: end", "implicit_route: false": "implicit_route: true"}[c.edit],
				"q: {model: served", "q: {model: "+map[bool]string{true: "other", false: "served"}[name == "pinned to a pool"])
			s.breaks(c.end, c.events...)
			body := c.body
			if body == "" {
				body = askedChat
			}
			checkBroken(t, s, s.post(body), router.Truncated)
			if n := len(s.second.Calls()); n != 0 {
				t.Errorf("the second replica got %d calls", n)
			}
			if all := int(sum(s.metrics(), "sluice_broken_answers_total")); c.result == "" && all != 0 || c.result != "" && (all != 1 || s.results(c.result) != 1) {
				t.Errorf("%d broken answers are counted, want 1 as %q", all, c.result)
			}
		})
	}
}

// checkBroken checks that an answer ended in a typed error, and is in the books once.
func checkBroken(t *testing.T, s seam, got *gatewaytest.Response, o router.Outcome) {
	t.Helper()
	events := got.Events()
	if got.Status != 200 || got.Ending != gatewaytest.Cut || len(events) == 0 || !strings.HasPrefix(events[len(events)-1].Data(), `{"error":`) {
		t.Errorf("status %d, %v: %s", got.Status, got.Ending, got.Body)
	}
	s.quiet()
	if n := s.outcomes(o); n != 1 || strings.Count(s.access.String(), "\n") != 1 {
		t.Errorf("%d requests ended as %s, want 1: %s", n, o, s.access.String())
	}
	if strings.Contains(s.log.String(), "bug") {
		t.Error(s.log.String())
	}
	if held := s.g.handler.bodies.held.Load(); held != 0 {
		t.Errorf("%d bytes of bodies are still held", held)
	}
}

// TestNobodyGoesOn: the other replica is down, or full, or fails too: the answer ends
// as it broke.
func TestNobodyGoesOn(t *testing.T) {
	head := gatewaytest.Send(gatewaytest.SSEHead)
	for name, c := range map[string]struct {
		edit   string
		with   string
		second gatewaytest.Script
		result string
	}{
		"another model":           {"q: {model: served", "q: {model: other", nil, "refused"},
		"no budget":               {"budget: 1, budget_min: 1000", "budget: 0, budget_min: 0", nil, "refused"},
		"it answers 400":          {"", "", gatewaytest.Script{gatewaytest.Send(gatewaytest.Error(400, "BadRequestError", "no"))}, "failed"},
		"it answers 500":          {"", "", gatewaytest.Script{gatewaytest.Send(gatewaytest.Error(500, "InternalServerError", "no"))}, "failed"},
		"it is busy":              {"", "", gatewaytest.Script{gatewaytest.Send(gatewaytest.Error(503, "Busy", "full"))}, "failed"},
		"it hangs up":             {"", "", gatewaytest.Script{gatewaytest.Close()}, "failed"},
		"it answers in one piece": {"", "", gatewaytest.Script{gatewaytest.Send(gatewaytest.ChatAnswer("b", "stop", 1, 1))}, "failed"},
		"it says an error":        {"", "", gatewaytest.Script{head, gatewaytest.Chunks(gatewaytest.Role, gatewaytest.ErrorEvent(400, "BadRequestError", "no")), gatewaytest.Close()}, "failed"},
		"it aborts":               {"", "", gatewaytest.Script{head, gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Finish("", "abort"), gatewaytest.Done), gatewaytest.Send(gatewaytest.FinalChunk)}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeam(t, c.edit, c.with)
			s.breaks(gatewaytest.Close(), gatewaytest.Content("a"))
			if c.second != nil {
				s.second.Script(c.second...)
			}
			checkBroken(t, s, s.post(askedChat), router.Truncated)
			if s.results(c.result) != 1 {
				t.Errorf("it isn't counted as %s", c.result)
			}
		})
	}
}

// TestWordsOfABreak: what a replica itself says of a break reaches the client only
// if nobody goes on.
func TestWordsOfABreak(t *testing.T) {
	died := gatewaytest.ErrorEvent(500, "InternalServerError", "engine died")
	for name, c := range map[string]struct {
		last    string
		outcome router.Outcome
		text    string // all of it
	}{
		"an error event":      {died, router.ErrorEvent, "a b c"},
		"an abort":            {gatewaytest.Finish("", "abort"), router.Aborted, "a b c"},
		"an abort with words": {gatewaytest.Finish(" lost", "abort"), router.Aborted, "a b c"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSeam(t)
			s.breaks(gatewaytest.Send(gatewaytest.Chunk(gatewaytest.Done)+gatewaytest.FinalChunk), gatewaytest.Content("a"), c.last)
			got := s.post(askedChat)
			if text := readStream(t, got).text; text != c.text || got.Ending != gatewaytest.Whole || strings.Contains(string(got.Body), "died") || strings.Contains(string(got.Body), "abort\"") {
				t.Errorf("%v, %s", got.Ending, got.Body)
			}
			s.quiet()
			s.second.Crash()
			last := s.post(askedChat)
			if !strings.Contains(string(last.Body), c.last) || last.Ending != gatewaytest.Cut {
				t.Errorf("with nobody else: %v, %s", last.Ending, last.Body)
			}
			s.quiet()
			if s.outcomes(c.outcome) != 1 || s.attempts(c.outcome) != 2 {
				t.Errorf("%d ended as %s in %d attempts, want 1 in 2", s.outcomes(c.outcome), c.outcome, s.attempts(c.outcome))
			}
		})
	}
}

// TestMendedOnce: an answer that breaks again ends there.
func TestMendedOnce(t *testing.T) {
	s := newSeam(t)
	s.breaks(gatewaytest.Reset(), gatewaytest.Content("a"))
	s.second.Script(gatewaytest.Send(gatewaytest.SSEHead), gatewaytest.Chunks(gatewaytest.Role, gatewaytest.Content(" b")), gatewaytest.Reset())
	got := s.post(askedChat)
	checkBroken(t, s, got, router.Truncated)
	if read := readStream(t, got); read.text != "a b" || len(s.first.Calls()) != 1 || len(s.second.Calls()) != 1 || s.attempts(router.Truncated) != 2 {
		t.Errorf("%q after %d and %d calls", read.text, len(s.first.Calls()), len(s.second.Calls()))
	}
}

// TestClientLeavesAtTheSeam: while the other replica computes the prompt.
func TestClientLeavesAtTheSeam(t *testing.T) {
	s := newSeam(t)
	s.breaks(gatewaytest.Reset(), gatewaytest.Content("a"))
	s.second.Script(gatewaytest.Stall())
	c := gatewaytest.Connect(t, s.data)
	if err := c.Send(gatewaytest.Request("POST", "/v1/chat/completions", askedChat)); err != nil {
		t.Fatal(err)
	}
	s.second.WaitRunning(1)
	c.Close()
	s.second.WaitRunning(0)
	s.quiet()
	if n := s.outcomes(router.ClientGoneStreaming); n != 1 {
		t.Errorf("%d ended as client_gone_streaming, want 1: %s", n, s.access.String())
	}
}

// TestOldClientsAreNotMended: of HTTP/1.0.
func TestOldClientsAreNotMended(t *testing.T) {
	s := newSeam(t)
	s.breaks(gatewaytest.Reset(), gatewaytest.Content("a"))
	raw := strings.Replace(gatewaytest.Request("POST", "/v1/chat/completions", askedChat), "HTTP/1.1", "HTTP/1.0", 1)
	got := gatewaytest.Target{Address: s.data}.Fetch(t, raw)
	if s.quiet(); !readStream(t, got).failed || len(s.second.Calls()) != 0 {
		t.Errorf("%s", got.Body)
	}
}
