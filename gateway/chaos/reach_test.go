package chaos

import (
	"sync"
	"testing"

	"sluice/router"
)

// enough seeds reach every way in which a request may end, and every way of
// behaving that is drawn.
const enough = 300

// ground lists what must happen in that many seeds besides the ways to end.
var ground = []string{
	"an answer that another replica went on with", "an answer that broke again there", "an answer that nobody went on with although it may be",
	"a client that left at the seam", "a request larger than every cap", "a request in pieces", "a request that was too slow",
	"a reader that stopped for a while", "a reader that was cut", "a whole stream for HTTP/1.0", "a cut stream for HTTP/1.0",
	"a pipelined request that was answered", "a pipelined request behind an answer that was cut", "a departure from pipelined requests",
	"a request that came while another waited, and waited behind it", "a batch request that waited",
}

// reach notes that something has happened.
func (w *world) reach(what string) { w.reached[what] = true }

// missing tells what no seed has come to: what is never tried isn't tested. Ways to
// end that a request can't choose here, or that are none's fault to draw, have tests
// of their own.
func missing(t *testing.T, seen *sync.Map) {
	for _, o := range router.Outcomes() {
		switch o {
		case router.Unauthorized, router.RateLimited, router.TooLarge, router.TooLong, router.Misconfigured, router.Internal:
			continue
		}
		if _, found := seen.Load(o.String()); !found {
			t.Errorf("no request of %d seeds was %s", *seedsFlag, o)
		}
	}
	for _, what := range ground {
		if _, found := seen.Load(what); !found {
			t.Errorf("in %d seeds there was never %s", *seedsFlag, what)
		}
	}
}

// noteGround takes note of what a request's life shows. Its line is nil if it has
// none.
func (w *world) noteGround(v *visit, line *entry) {
	o, j := v.o, v.last()
	gone, cut := !v.gone.IsZero(), v.status == 200 && v.err != nil
	if v.unread && !gone && cutBefore(v) {
		w.reach("a pipelined request behind an answer that was cut")
	}
	if gone && v.behind {
		w.reach("a departure from pipelined requests")
	}
	if line == nil {
		if v.status == 408 {
			w.reach("a request that was too slow")
		}
		return
	}
	whole := v.status == 200 && line.Outcome == router.Completed.String()
	for what, happened := range map[string]bool{
		"an answer that another replica went on with":           whole && j != nil && j.from > 0,
		"an answer that broke again there":                      !gone && j != nil && j.from > 0 && line.BrokenAt != "" && !whole,
		"an answer that nobody went on with although it may be": !gone && o.plain && cut && len(v.jobs) == 1 && w.policy.goesOn,
		"a client that left at the seam":                        gone && j != nil && j.from > 0 && j.visible == 0,
		"a request in pieces":                                   whole && o.pieces > 1,
		"a request that was too slow":                           v.status == 408,
		"a reader that stopped for a while":                     whole && o.holds > 0 && o.holds < forGood,
		"a reader that was cut":                                 o.holds == forGood && line.Outcome == router.ClientGoneStreaming.String() && !gone,
		"a whole stream for HTTP/1.0":                           o.old && o.stream && whole,
		"a cut stream for HTTP/1.0":                             o.old && o.stream && v.status == 200 && !gone && !whole,
		"a pipelined request that was answered":                 v.behind && whole,
		"a batch request that waited":                           o.batch && whole && j != nil && v.jobs[0].came.After(v.sent),
	} {
		if happened {
			w.reach(what)
		}
	}
}

// cutBefore tells whether a stream was cut that stood before a request.
func cutBefore(v *visit) bool {
	for _, mate := range v.mates {
		if mate.status == 200 && mate.err != nil && !mate.unread {
			return true
		}
	}
	return false
}
