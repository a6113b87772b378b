package account

import (
	"context"
	"log/slog"
	"time"
	"unicode/utf8"

	"sluice/router"
)

// Limits on what a line may hold of others' words, in bytes.
const (
	maxRequestID = 128
	maxDetail    = 512
)

// log writes the request's line. Its fields are always the same, in the same
// order, so that lines can be compared; latencies that don't exist are null.
func (a *Account) log(e *Entry, end time.Time, r *Record) {
	level := levelOf(r.Outcome)
	if a.access == nil {
		return
	}
	attrs := make([]slog.Attr, 0, 26)
	attrs = append(attrs,
		slog.String("id", clip(r.RequestID, maxRequestID)),
		slog.String("endpoint", e.endpoint),
		slog.String("tenant", r.Tenant),
		slog.String("route", r.Route),
		slog.String("class", r.Class.String()),
		slog.String("class_reason", r.ClassReason.String()),
		slog.String("pool", r.Pool),
		slog.String("replica", r.Replica),
		slog.String("outcome", r.Outcome.String()),
		slog.Int("status", r.Status),
		slog.Int("attempts", r.Attempts),
		slog.Bool("stream", r.Stream),
		slog.Int("sequences", r.Sequences),
		slog.Int("body_bytes", r.BodyBytes),
		slog.Int("tokens_in_estimate", r.TokensInEstimate),
		ifKnown("tokens_in", r.UsageKnown, r.TokensIn),
		ifKnown("tokens_cached", r.UsageKnown, r.TokensCached),
		ifKnown("tokens_out", r.UsageKnown, r.TokensOut),
		slog.Int64("queue_ms", milliseconds(r.Queue)),
		ttft(e.arrival, r),
		slog.Int64("e2e_ms", milliseconds(end.Sub(e.arrival))),
	)
	if r.BrokenAt != "" {
		attrs = append(attrs, slog.String("broken_at", r.BrokenAt))
	}
	if r.Detail != "" {
		attrs = append(attrs, slog.String("detail", clip(r.Detail, maxDetail)))
	}
	line := slog.NewRecord(end, level, "request", 0) // 0: which line of code logs it helps nobody, and costs as much as the rest
	line.AddAttrs(attrs...)
	_ = a.access.Handle(context.Background(), line) // Lines never fails
}

// levelOf warns only of what an operator must act on.
func levelOf(o router.Outcome) slog.Level {
	switch o {
	case router.Internal:
		return slog.LevelError
	case router.Misconfigured:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

func ifKnown(key string, known bool, n int) slog.Attr {
	if !known {
		return slog.Any(key, nil)
	}
	return slog.Int(key, n)
}

func ttft(arrival time.Time, r *Record) slog.Attr {
	if !r.Stream || r.FirstToken.IsZero() {
		return slog.Any("ttft_ms", nil)
	}
	return slog.Int64("ttft_ms", milliseconds(r.FirstToken.Sub(arrival)))
}

// milliseconds are whole, rounded: a fraction costs as much to write as all the
// other fields, and histograms have it.
func milliseconds(d time.Duration) int64 { return max(0, d).Round(time.Millisecond).Milliseconds() }

// clip cuts s to at most n bytes, never inside a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
