package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	"sluice/router"
)

func TestOutcomesAndTheBreaker(t *testing.T) {
	f := func(o router.Outcome, want string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			b := ready(t)
			b.fails("a", 3, o)
			b.after(0)
			b.is("a", want)
		})
	}
	for _, o := range router.Outcomes() {
		switch {
		case o == router.ConnectFailed: // also takes it out of service; has its own test
		case o.Blames():
			f(o, "open")
		default: // clients' mistakes and departures are nobody's fault
			f(o, "ready")
		}
	}
	f(router.Undecided, "ready")
}

func TestTwoFailuresAndASuccessKeepItClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		for range 5 {
			b.fails("a", 2, router.Lost)
			b.fails("a", 1, router.Completed)
		}
		b.after(0)
		b.is("a", "ready")
	})
}

// opened is a replica whose breaker is half open.
func opened(t *testing.T) *bench {
	t.Helper()
	b := ready(t)
	b.fails("a", 3, router.Silent)
	b.after(0)
	b.is("a", "open")
	if _, ok := b.fleet.Member("http://a").Begin(); ok {
		t.Error("an open breaker lets a request through")
	}
	b.after(5*time.Second + 2*breakerTick)
	b.is("a", "trial")
	return b
}

// TestOneTrial: when the cool-down ends, one request finds out.
func TestOneTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t)
		trial := b.begin("a")
		if _, ok := b.fleet.Member("http://a").Begin(); ok {
			t.Error("a second request gets through beside the trial")
		}
		trial.Report(router.Completed) // its first event; it may stream for minutes
		b.after(0)
		b.is("a", "ready")
		b.fails("a", 1, router.Completed)
		trial.Ended(router.Completed)
	})
}

func TestFailedTrialOpensAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t)
		b.fails("a", 1, router.ReplicaError)
		b.after(0)
		b.is("a", "open")
		b.after(5*time.Second + 2*breakerTick)
		b.is("a", "trial")
	})
}

func TestNeutralTrialMakesRoomForTheNext(t *testing.T) {
	for _, o := range []router.Outcome{router.Undecided, router.ClientGoneWaiting, router.ClientError, router.Busy} {
		synctest.Test(t, func(t *testing.T) {
			b := opened(t)
			b.fails("a", 5, o) // each is the only trial of its time
			b.after(0)
			b.is("a", "trial")
			b.fails("a", 1, router.Completed)
			b.after(0)
			b.is("a", "ready")
		})
	}
}

// TestStreamsThatBreakOpenTheBreaker: each had a first event, which is a
// success, so gobreaker alone would never see two failures in a row.
func TestStreamsThatBreakOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		stream := func(o router.Outcome) {
			v := b.begin("a")
			v.Report(router.Completed)
			v.Ended(o)
			b.after(0)
		}
		stream(router.Truncated)
		stream(router.Stalled)
		stream(router.Completed) // a whole one ends the row
		stream(router.Truncated)
		stream(router.ClientGoneStreaming) // neutral
		stream(router.ErrorEvent)
		b.is("a", "ready")
		stream(router.Stalled)
		b.is("a", "open")
	})
}

func TestStreamsThatHangTogetherOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		var streams []*Verdict
		for range 3 {
			v := b.begin("a")
			v.Report(router.Completed)
			streams = append(streams, v)
		}
		for _, v := range streams {
			v.Ended(router.Stalled)
		}
		b.after(0)
		b.is("a", "open")
	})
}

// TestOldStreamsDoNotJudgeTheTrial: a stream from before the breaker opened
// breaks while it is half open.
func TestOldStreamsDoNotJudgeTheTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		old := b.begin("a")
		old.Report(router.Completed)
		b.fails("a", 3, router.Lost)
		b.after(5*time.Second + 2*breakerTick)
		old.Ended(router.Stalled)
		b.after(0)
		b.is("a", "trial")
		b.fails("a", 1, router.Completed)
		b.after(0)
		b.is("a", "ready")
	})
}

func TestAVerdictCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		v := b.begin("a")
		for range 3 {
			v.Report(router.Lost)
		}
		for range 3 {
			v.Ended(router.Lost)
		}
		b.after(0)
		b.is("a", "ready")
	})
}

func TestReloadOfBreakerSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		b.fails("a", 3, router.Lost)
		cfg := configOf("http://a")
		cfg.Health.FailuresOpen = 1
		if err := b.fleet.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		b.after(0)
		b.is("a", "ready") // a new breaker
		b.fails("a", 1, router.Lost)
		b.after(0)
		b.is("a", "open")
	})
}

func BenchmarkVerdict(b *testing.B) {
	m := newMember("http://a", configOf().Health, func() {})
	b.ReportAllocs()
	for b.Loop() {
		v, _ := m.Begin()
		v.Report(router.Completed)
		v.Ended(router.Completed)
	}
}
