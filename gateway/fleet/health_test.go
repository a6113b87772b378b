package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	"sluice/router"
)

// TestWarmingUntilTheFirstGoodCheck: one replica is up, one refuses, one answers
// 503; the cured ones get work within two rounds.
func TestWarmingUntilTheFirstGoodCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, "http://a", "http://b", "http://c", "http://d")
		b.is("a", "nothing published")
		b.becomes("a", up)
		b.becomes("c", leaving)
		b.becomes("d", hung)
		b.after(10 * time.Second)
		b.is("a", "ready")
		b.is("b", "warming")
		b.is("c", "warming")
		b.is("d", "warming")
		for _, host := range []string{"b", "c", "d"} {
			b.becomes(host, up)
		}
		b.after(3 * time.Second)
		for _, host := range []string{"b", "c", "d"} {
			b.is(host, "ready")
		}
	})
}

func TestFirstCheckComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { ready(t) }) // no time passes
}

// TestLeavingOn503: nothing new goes to a replica that drains.
func TestLeavingOn503(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		b.becomes("a", leaving)
		b.after(1200 * time.Millisecond)
		b.is("a", "draining")
		b.becomes("a", hung)
		b.after(20 * time.Second)
		b.is("a", "draining")
		b.becomes("a", closed)
		b.after(3 * time.Second)
		b.is("a", "warming")
		b.becomes("a", up)
		b.after(1200 * time.Millisecond)
		b.is("a", "ready")
	})
}

func TestSlowChecksDoNotOutweighAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		b.becomes("a", hung)
		for range 60 {
			b.fleet.Member("http://a").Alive(time.Now())
			b.after(time.Second)
			b.is("a", "ready")
		}
		b.after(proofOfLife + 3*time.Second)
		b.is("a", "unhealthy")
		b.fleet.Member("http://a").Alive(time.Now())
		b.after(3 * time.Second)
		b.is("a", "ready")
	})
}

func TestThreeFailedChecksWithoutTraffic(t *testing.T) {
	for _, m := range []mood{hung, broken} {
		synctest.Test(t, func(t *testing.T) {
			b := ready(t)
			b.becomes("a", m)
			b.after(1200 * time.Millisecond)
			b.is("a", "ready") // one failure proves nothing
			b.after(10 * time.Second)
			b.is("a", "unhealthy")
			b.becomes("a", up)
			b.after(3 * time.Second)
			b.is("a", "ready")
		})
	}
}

func TestRefusedTrafficIsBelievedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		b.becomes("a", closed)
		b.fails("a", 1, router.ConnectFailed)
		b.after(0)
		b.is("a", "warming")
		b.becomes("a", up)
		b.after(100 * time.Millisecond) // a tenth of the interval
		b.is("a", "ready")
	})
}

// TestRestartedReplicaGetsANewBreaker: what refused a check was down; the
// failures of the old process must not keep the new one out.
func TestRestartedReplicaGetsANewBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		b.becomes("a", closed)
		b.fails("a", 3, router.ConnectFailed)
		b.after(time.Second)
		b.is("a", "warming")
		b.becomes("a", up)
		b.after(1200 * time.Millisecond)
		b.is("a", "ready")
	})
}

// TestReplicaThatPassesChecksButTakesNoConnections opens its breaker, however
// often it looks healthy in between.
func TestReplicaThatPassesChecksButTakesNoConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		for range 3 {
			b.is("a", "ready")
			b.fails("a", 1, router.ConnectFailed)
			b.after(200 * time.Millisecond)
		}
		b.is("a", "open")
	})
}
