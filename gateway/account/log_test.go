package account

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sluice/router"
)

// logged is the access log of one request.
func logged(t *testing.T, r Record) (line string, fields map[string]any) {
	t.Helper()
	var out bytes.Buffer
	a := newTestAccount(Options{AccessLog: &out})
	a.Begin("chat_completions", at(0)).Finish(at(3), r)
	a.FlushLog()
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Fatalf("%d lines for a request, want 1", n)
	}
	if err := json.Unmarshal(out.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	return out.String(), fields
}

func TestAccessLogLine(t *testing.T) {
	_, got := logged(t, Record{
		Route: "gemma-3", Class: router.Decode, ClassReason: router.ByRatio, Outcome: router.Completed, Tenant: "search",
		Pool: "large", Replica: "http://a", RequestID: "r1", Stream: true, Status: 200, TokensInEstimate: 90, TokensIn: 100,
		TokensOut: 7, UsageKnown: true, Sequences: 1, BodyBytes: 2000, Queue: 1500 * time.Millisecond, FirstToken: at(2), Attempts: 2,
	})
	for field, want := range map[string]any{
		"msg": "request", "id": "r1", "endpoint": "chat_completions", "tenant": "search", "route": "gemma-3",
		"class": "decode", "class_reason": router.ByRatio.String(), "pool": "large", "replica": "http://a",
		"outcome": "completed", "status": 200., "attempts": 2., "stream": true, "sequences": 1., "body_bytes": 2000.,
		"tokens_in_estimate": 90., "tokens_in": 100., "tokens_out": 7., "queue_ms": 1500., "ttft_ms": 2000., "e2e_ms": 3000.,
	} {
		if got[field] != want {
			t.Errorf("%s: got %v, want %v", field, got[field], want)
		}
	}
}

func TestUnknownIsNullInTheLog(t *testing.T) {
	_, got := logged(t, Record{Outcome: router.Truncated})
	for _, field := range []string{"tokens_in", "tokens_cached", "tokens_out", "ttft_ms"} {
		if v, there := got[field]; !there || v != nil {
			t.Errorf("%s: got %v, want null: unknown is not 0", field, v)
		}
	}
}

func TestClientsCannotForgeLogLines(t *testing.T) {
	line, got := logged(t, Record{
		Outcome: router.Invalid, Route: "no such route",
		RequestID: "x\n{\"msg\":\"request\"}\x1b[31m\xff" + strings.Repeat("y", 10_000),
		Detail:    strings.Repeat("ü", 10_000),
	})
	if len(line) > 2000 {
		t.Errorf("a line of %d bytes, want at most 2000", len(line))
	}
	for _, c := range line[:len(line)-1] {
		if c < ' ' {
			t.Errorf("the line holds the control character %q", c)
		}
	}
	if got["route"] != none {
		t.Errorf("route: got %v, want %q", got["route"], none)
	}
}

func TestLevels(t *testing.T) {
	for _, o := range router.Outcomes() {
		want := "INFO"
		switch o {
		case router.Internal:
			want = "ERROR"
		case router.Misconfigured:
			want = "WARN"
		}
		if _, got := logged(t, Record{Outcome: o}); got["level"] != want {
			t.Errorf("%s is logged as %v, want %s", o, got["level"], want)
		}
	}
}

// TestLogHoldsNoMoreThanItSays keeps a new field of Record from reaching the log
// unseen: whoever adds one decides here that it may.
func TestLogHoldsNoMoreThanItSays(t *testing.T) {
	_, got := logged(t, Record{Outcome: router.Completed, Detail: "d"})
	known := strings.Fields(`time level msg id endpoint tenant route class class_reason pool replica outcome status
		attempts stream sequences body_bytes tokens_in_estimate tokens_in tokens_cached tokens_out queue_ms ttft_ms e2e_ms detail`)
	for field := range got {
		if !slices.Contains(known, field) {
			t.Errorf("the line has the unexpected field %q", field)
		}
	}
}

func TestClip(t *testing.T) {
	f := func(in string, n int, want string) {
		t.Helper()
		if got := clip(in, n); got != want {
			t.Errorf("clip(%q, %d): got %q, want %q", in, n, got, want)
		}
	}
	f("", 0, "")
	f("abc", 3, "abc")
	f("abcd", 3, "abc")
	f("aü", 2, "a")
	f("üü", 3, "ü")
	f("\x80\x80\x80", 2, "")
}

func FuzzClip(f *testing.F) {
	f.Add("aüb", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 || n > 1000 {
			return
		}
		got := clip(s, n)
		if len(got) > n || !strings.HasPrefix(s, got) || utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("clip(%q, %d) = %q", s, n, got)
		}
	})
}

func BenchmarkFinishLogged(b *testing.B) {
	a := newTestAccount(Options{AccessLog: io.Discard})
	r := Record{
		Route: "gemma-3", Pool: "large", Class: router.Decode, Outcome: router.Completed, Attempts: 1, Stream: true, RequestID: "0123456789abcdef",
		FirstToken: at(1), LastToken: at(2), UsageKnown: true, TokensIn: 1000, TokensInEstimate: 990, TokensOut: 100, Sequences: 1,
	}
	b.ReportAllocs()
	for b.Loop() {
		a.Begin("chat_completions", at(0)).Finish(at(2), r)
		a.FlushLog()
	}
}
