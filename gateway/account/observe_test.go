package account

import (
	"testing"
	"time"

	"sluice/router"
)

// TestWhatALatencyMeans says, for each histogram, which records it takes.
func TestWhatALatencyMeans(t *testing.T) {
	type want struct{ duration, ttft, tpot, queue, estimate float64 }
	f := func(name string, w want, change func(r *Record)) {
		t.Helper()
		r := Record{
			Route: "gemma-3", Pool: "large", Class: router.Decode, Outcome: router.Completed, Attempts: 1, Stream: true,
			FirstToken: at(1), LastToken: at(2), UsageKnown: true, TokensIn: 1000, TokensInEstimate: 1100, TokensOut: 11,
		}
		change(&r)
		a := newTestAccount(Options{})
		a.Begin("chat_completions", at(0)).Finish(at(3), r)
		scrape := gather(t, a)
		got := want{
			sum(scrape["sluice_request_duration_seconds"]), sum(scrape["sluice_time_to_first_token_seconds"]),
			sum(scrape["sluice_time_per_output_token_seconds"]), sum(scrape["sluice_queue_wait_seconds"]),
			sum(scrape["sluice_token_estimate_error_ratio"]),
		}
		if got != w {
			t.Errorf("%s: got samples %v, want %v", name, got, w)
		}
	}
	f("a whole stream", want{1, 1, 1, 1, 1}, func(*Record) {})
	f("not streamed", want{1, 0, 0, 1, 1}, func(r *Record) { r.Stream = false })
	f("a stream without a token", want{1, 0, 0, 1, 1}, func(r *Record) { r.FirstToken = time.Time{} })
	f("one token", want{1, 1, 0, 1, 1}, func(r *Record) { r.TokensOut = 1 })
	f("four sequences of one token", want{1, 1, 0, 1, 1}, func(r *Record) { r.TokensOut, r.Sequences = 4, 4 })
	f("usage unknown", want{1, 1, 0, 1, 0}, func(r *Record) { r.UsageKnown = false })
	f("an exact count", want{1, 1, 1, 1, 0}, func(r *Record) { r.TokensInExact = true })
	f("cut in the middle", want{0, 1, 0, 1, 0}, func(r *Record) { r.Outcome, r.UsageKnown = router.Truncated, false })
	f("failed at once", want{0, 0, 0, 1, 0}, func(r *Record) {
		*r = Record{Route: r.Route, Pool: r.Pool, Class: r.Class, Attempts: 1, Outcome: router.ConnectFailed}
	})
	f("refused at once", want{0, 0, 0, 0, 0}, func(r *Record) {
		*r = Record{Route: r.Route, Class: r.Class, Outcome: router.QueueFull}
	})
	f("waited in vain", want{0, 0, 0, 1, 0}, func(r *Record) {
		*r = Record{Route: r.Route, Class: r.Class, Outcome: router.WaitExpired, Queue: time.Second}
	})
	f("generates nothing", want{1, 0, 0, 0, 0}, func(r *Record) {
		*r = Record{Route: r.Route, Pool: r.Pool, Class: router.Other, Attempts: 1, Outcome: router.Completed}
	})
}

// TestSizes: a prompt counts once, an answer as long as one of its sequences.
func TestSizes(t *testing.T) {
	a := newTestAccount(Options{})
	a.Begin("chat_completions", at(0)).Finish(at(3), Record{
		Route: "gemma-3", Pool: "large", Class: router.Decode, Outcome: router.Completed, Attempts: 1,
		UsageKnown: true, TokensIn: 1000, TokensOut: 400, Sequences: 4,
	})
	for name, want := range map[string]float64{"sluice_prompt_tokens": 1000, "sluice_output_tokens": 100} {
		h := gather(t, a)[name].GetMetric()[0].GetHistogram()
		if h.GetSampleCount() != 1 || h.GetSampleSum() != want {
			t.Errorf("%s: %d samples of %v together, want 1 of %v", name, h.GetSampleCount(), h.GetSampleSum(), want)
		}
	}
}

func TestTimePerToken(t *testing.T) {
	f := func(tokens, sequences int, want float64) {
		t.Helper()
		r := Record{UsageKnown: true, TokensOut: tokens, Sequences: sequences, FirstToken: at(1), LastToken: at(3)}
		if got, _ := timePerToken(&r); got != want {
			t.Errorf("%d tokens of %d sequences in 2 s: got %v, want %v", tokens, sequences, got, want)
		}
	}
	f(0, 1, 0)
	f(1, 1, 0)
	f(2, 1, 2)
	f(21, 1, .1)
	f(84, 4, .1) // side by side: 21 each
	f(21, 0, .1)
}

// TestSlowRequestsStayApart: a histogram that ends at 60 s shows a flat line
// where it matters.
func TestSlowRequestsStayApart(t *testing.T) {
	f := func(name string, buckets []float64, reach float64) {
		t.Helper()
		if last := buckets[len(buckets)-1]; last < reach {
			t.Errorf("%s ends at %v s, want %v", name, last, reach)
		}
		if buckets[0] >= .1 {
			t.Errorf("%s begins at %v s, want below 0.1", name, buckets[0])
		}
		if bucketOf(buckets, 90.5) == bucketOf(buckets, 400) || bucketOf(buckets, 400) == len(buckets) {
			t.Errorf("%s: 90 s and 400 s are not in different finite buckets", name)
		}
	}
	f("duration", durationBuckets, 600)
	f("ttft", ttftBuckets, 160)
	f("queue", queueBuckets, 60)
}

func bucketOf(bounds []float64, v float64) int {
	for i, b := range bounds {
		if v <= b {
			return i
		}
	}
	return len(bounds)
}

func TestLatenciesAreNativeHistogramsToo(t *testing.T) {
	a := newTestAccount(Options{})
	a.Begin("chat_completions", at(0)).Finish(at(90), Record{Route: "gemma-3", Class: router.Decode, Pool: "large", Outcome: router.Completed})
	h := gather(t, a)["sluice_request_duration_seconds"].GetMetric()[0].GetHistogram()
	if len(h.GetBucket()) == 0 || len(h.GetPositiveSpan()) == 0 {
		t.Errorf("%d classic buckets, %d native spans, want both", len(h.GetBucket()), len(h.GetPositiveSpan()))
	}
}

func TestHiddenFailuresAreCounted(t *testing.T) {
	a := newTestAccount(Options{})
	for _, o := range router.Outcomes() {
		a.Begin("chat_completions", at(0)).Finish(at(1), Record{Route: "gemma-3", Outcome: o})
	}
	a.Fault(NoDone)
	silent := gather(t, a)["sluice_silent_failures_total"]
	for kind, want := range map[string]float64{
		"truncated": 1, "aborted": 1, "error_event": 1, "silent": 1, "stalled": 1,
		"no_done": 1, "empty_answer": 0,
	} {
		if got := sum(silent, kind); got != want {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
	}
	if got := sum(silent); got != 6 {
		t.Errorf("%v hidden failures in all, want 6", got)
	}
}

func TestUsage(t *testing.T) {
	a := newTestAccount(Options{})
	finish := func(r Record) {
		r.Route, r.Outcome = "gemma-3", router.Completed
		a.Begin("chat_completions", at(0)).Finish(at(1), r)
	}
	finish(Record{Class: router.Decode, UsageKnown: true, TokensIn: 100, TokensCached: 30, TokensOut: 7})
	finish(Record{Class: router.Decode})
	finish(Record{Class: router.Other}) // has none by nature
	scrape := gather(t, a)
	for kind, want := range map[string]float64{"input": 100, "cached_input": 30, "output": 7} {
		if got := sum(scrape["sluice_tokens_total"], kind); got != want {
			t.Errorf("%s: got %v tokens, want %v", kind, got, want)
		}
	}
	if got := sum(scrape["sluice_usage_missing_total"]); got != 1 {
		t.Errorf("%v requests without usage, want 1: unknown is not 0", got)
	}
}
