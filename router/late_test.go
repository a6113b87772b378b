package router

import (
	"testing"
	"time"

	"sluice/config"
)

// lateRouter promises first tokens after a second, and has a slot on each of these
// replicas, all taken.
func lateRouter(t *testing.T, replicas ...string) *Router {
	t.Helper()
	cfg := promisedConfig(total(1), total(1))
	rt := cfg.Routes["gemma"]
	rt.Decode.SLO = config.SLO{TTFT: time.Second, TPOT: 50 * time.Millisecond}
	rt.Decode.Pools = []config.Preference{{Pool: "fast"}, {Pool: "big"}}
	cfg.Routes["gemma"] = rt
	r := New(at(0), cfg)
	r.SetFleet(at(0), ready(replicas...))
	for range replicas {
		r.First(at(0), granted(t, r.Offer(at(0), chat())).Lease)
	}
	return r
}

// becomesLate finds when a waiter becomes best effort, by the router's appointments.
func becomesLate(t *testing.T, r *Router, ticket Ticket) time.Time {
	t.Helper()
	for {
		w := r.waiters[ticket]
		if w == nil {
			t.Fatalf("ticket %d left before it was late", ticket)
		}
		if w.late {
			if !w.lane.need.late {
				t.Errorf("ticket %d stands among those in time", ticket)
			}
			return r.now
		}
		none(t, r.Tick(r.Next()))
	}
}

// soon tells whether two times are but a microsecond apart.
func soon(a, b time.Time) bool { return a.Sub(b).Abs() <= time.Microsecond }

// A waiter is best effort from when not even an idle replica could serve it in time.
func TestWhenAWaiterIsLate(t *testing.T) {
	r := lateRouter(t, "fast/f1")
	q := queued(t, r.Offer(at(0.1), chat()))
	want := at(0.1 + 1*firstMargin - (priorFirst + 500*priorPrompt))
	if got := becomesLate(t, r, q.Ticket); !soon(got, want) {
		t.Errorf("late at %s, want %s", got, want)
	}
}

// The quickest of its replicas counts, whether or not it has room.
func TestTheQuickestReplicaSaysWhoIsLate(t *testing.T) {
	r := lateRouter(t, "fast/f1", "big/b1")
	for range 200 {
		r.replicas["f1"].pace.first.learn(causes{1, 500}, 0.7)
	}
	q := queued(t, r.Offer(at(0.1), chat()))
	want := at(0.1 + 1*firstMargin - (priorFirst + 500*priorPrompt))
	if got := becomesLate(t, r, q.Ticket); !soon(got, want) {
		t.Errorf("late at %s, want %s", got, want)
	}
}

// Who could never be served in time is late at once, and behind all others.
func TestWhoIsLateFromTheStart(t *testing.T) {
	r := lateRouter(t, "fast/f1")
	long := chat()
	long.TokensIn, long.OutBound, long.Class = 60000, 10, Decode
	q := queued(t, r.Offer(at(0.1), long))
	if w := r.waiters[q.Ticket]; !w.late || w.lateness.place != 0 {
		t.Errorf("late %v, with a timer: %v", w.late, w.lateness.place != 0)
	}
	if h := r.waiters[q.Ticket].queue.head(); h != nil {
		t.Errorf("ticket %d is at the head of those in time", h.ticket)
	}
}

// Lateness counts from the arrival, also of who comes back from a replica.
func TestLatenessCountsFromTheArrival(t *testing.T) {
	r := lateRouter(t, "fast/f1", "big/b1")
	first := chat()
	first.Tenant = "other"
	q := queued(t, r.Offer(at(0.1), first))
	freed := r.Release(at(0.2), Lease{1}, Completed)
	g := granted(t, one(t, freed))
	again, _ := r.Elsewhere(at(0.5), g.Lease, ConnectFailed)
	queued(t, again)
	want := at(0.1 + 1*firstMargin - (priorFirst + 500*priorPrompt))
	if got := becomesLate(t, r, q.Ticket); !soon(got, want) {
		t.Errorf("late at %s, want %s", got, want)
	}
}

// Nobody is late who is promised nothing, nor any more who has left.
func TestLatenessEndsWithTheWait(t *testing.T) {
	r := lateRouter(t, "fast/f1")
	q := queued(t, r.Offer(at(0.1), chat()))
	r.Cancel(at(0.2), q.Ticket)
	if next := r.Next(); !next.IsZero() {
		t.Errorf("next tick at %s, though nobody waits", next)
	}
	r = testRouter(testConfig(total(1), total(1)))
	granted(t, r.Offer(at(0), chat()))
	q = queued(t, r.Offer(at(0), chat()))
	if w := r.waiters[q.Ticket]; w.late || w.lateness.place != 0 {
		t.Error("a waiter that is promised nothing can be late")
	}
}
