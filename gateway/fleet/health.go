package fleet

import (
	"time"

	"sluice/router"
)

// When failing health checks are believed.
const (
	failuresUnwell = 3                // in a row
	proofOfLife    = 10 * time.Second // how long an event of real traffic outweighs them
)

// result is what one health check found.
type result uint8

const (
	ok          result = iota
	refused            // nothing listens
	unavailable        // 503
	failed             // no answer in time, or another than 200 and 503
	unasked            // the gateway had no descriptor or port for it: says nothing

	results // how many there are
)

var resultNames = [results]string{ok: "ok", refused: "refused", unavailable: "unavailable", failed: "failed", unasked: "unasked"}

// String is the result's metric label.
func (r result) String() string { return resultNames[r] }

// health is what checks and failed connections say of a replica: Warming, Ready,
// Leaving or Unwell. The zero value is a replica that nobody has seen yet.
type health struct {
	state    router.ReplicaState
	failures int  // health checks in a row
	down     bool // a health check was refused since the last good one
}

// note takes a check's result. alive is when real traffic last showed life. It
// reports whether the replica is a new process, back from the dead.
func (h *health) note(now, alive time.Time, r result) (reborn bool) {
	switch r {
	case ok:
		reborn = h.down
		*h = health{state: router.Ready}
	case refused:
		*h = health{state: router.Warming, down: true}
	case unavailable:
		h.failures = 0
		if h.state != router.Warming {
			h.state = router.Leaving
		}
	case failed:
		h.failures++
		h.doubt(now.Sub(alive) < proofOfLife)
	}
	return reborn
}

// doubt judges a replica whose checks fail. One that was never ready, or is
// leaving, stays what it is.
func (h *health) doubt(lively bool) {
	switch {
	case h.state != router.Ready && h.state != router.Unwell:
	case lively:
		h.state = router.Ready
	case h.failures >= failuresUnwell:
		h.state = router.Unwell
	}
}

// disconnect says that real traffic got no connection. What a check finds next
// counts again; until then the replica gets nothing.
func (h *health) disconnect() { h.state, h.failures = router.Warming, 0 }
