package account

import (
	"time"

	"sluice/router"
)

// observe measures a finished request. The histograms are nil when its route or
// pool has been removed since it began; then only the ledger remembers it.
func (a *Account) observe(to *latencies, arrival, end time.Time, r *Record) {
	a.observeUsage(to, r)
	if f, silent := faultOf[r.Outcome]; silent {
		a.Fault(f)
	}
	if to == nil {
		return
	}
	if r.Outcome == router.Completed {
		to.duration.Observe(since(arrival, end))
	}
	if hasQueued(r) {
		to.queue.Observe(r.Queue.Seconds())
	}
	if !r.Stream || r.FirstToken.IsZero() {
		return
	}
	to.ttft.Observe(since(arrival, r.FirstToken))
	if perToken, known := timePerToken(r); known {
		to.tpot.Observe(perToken)
	}
}

// hasQueued tells whether the request's wait says something about the queue. A
// refusal at once says nothing: counted as 0 it would make an overloaded queue
// look short.
func hasQueued(r *Record) bool {
	takesSlots := r.Class == router.Prefill || r.Class == router.Decode
	return takesSlots && (r.Attempts > 0 || r.Queue > 0)
}

// timePerToken is the TPOT in seconds of one of the record's sequences, which
// run side by side.
func timePerToken(r *Record) (seconds float64, known bool) {
	steps := float64(r.TokensOut)/float64(max(1, r.Sequences)) - 1
	if !r.UsageKnown || r.TokensOut < 2 || steps <= 0 {
		return 0, false
	}
	return since(r.FirstToken, r.LastToken) / steps, true
}

func (a *Account) observeUsage(to *latencies, r *Record) {
	t := &a.metrics.tokens
	if !r.UsageKnown {
		if r.Outcome == router.Completed && r.Class != router.Other {
			t.unknown.Inc()
		}
		return
	}
	t.input.Add(float64(r.TokensIn))
	t.cached.Add(float64(r.TokensCached))
	t.output.Add(float64(r.TokensOut))
	if to == nil {
		return
	}
	to.prompt.Observe(float64(r.TokensIn))
	to.output.Observe(float64(r.TokensOut) / float64(max(1, r.Sequences)))
	if !r.TokensInExact && r.TokensIn > 0 && r.TokensInEstimate > 0 {
		to.estimateError.Observe(float64(r.TokensInEstimate-r.TokensIn) / float64(r.TokensIn))
	}
}
