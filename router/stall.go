package router

import "time"

// A replica stalls when prompts lie there and nothing comes, or its own metrics show
// its engine stand (finding.go): a program is being compiled, or the chip has hung. Nothing is cut for that and no breaker opens: what
// runs may well come to its end, and the gateway's own limits on silence judge it
// if not. But new work goes elsewhere until the replica shows life again.

const (
	stallLeast  = 2 * time.Second // a silence that is never called a stall
	stallFactor = 5               // how many times the expected one a silence may be
)

// stalled tells whether prompts have waited on the replica far longer than
// foreseen, with no sign of life since.
func (p *pace) stalled(now time.Time) bool {
	if p.pending <= 0 {
		return false
	}
	expected := time.Duration(stallFactor * p.first.of(causes{1, p.pending}) * float64(time.Second))
	return now.Sub(p.alive) > max(stallLeast, expected)
}
