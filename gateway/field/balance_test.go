package field

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
)

// yes is a short good answer.
var yes = gt.Script{gt.Send(gt.ChatAnswer("yes", "stop", 5, 1))}

// shares counts calls by replica.
func shares(replicas ...*gt.Replica) []int {
	n := make([]int, len(replicas))
	for i, rep := range replicas {
		n[i] = len(rep.Calls())
	}
	return n
}

// served sends n calls one after the other, all of which have to be answered.
func (r *rig) served(n int, body string) {
	r.t.Helper()
	for range n {
		if answer := r.post(body); answer.Status != 200 {
			r.t.Fatalf("status %d: %s", answer.Status, answer.Body)
		}
	}
}

// TestRoundRobinIsNotRound: calls one after the other are spread evenly over a
// pool, whatever is asked of other pools, and whatever health checks say.
func TestRoundRobinIsNotRound(t *testing.T) {
	t.Parallel()
	b := newBench(t, yes...)
	b.long = b.long[:1]
	b.health["interval"] = "50ms"
	r := b.start(t)
	const short, long = `{"model":"served-short","prompt":"hi","messages":[]}`, `{"model":"served-long","prompt":"hi","messages":[]}`
	for range 200 {
		r.served(1, short)
		r.served(1, long)
	}
	if got := shares(b.all()...); got[2] != 200 || got[0] < 95 || got[0] > 105 || got[0]+got[1] != 200 {
		t.Errorf("shares %v, want 100, 100, 200 within 5%%", got)
	}
	before := shares(b.short...)
	for i := range 37 {
		for _, rep := range b.short {
			rep.On("/health", gt.Send(gt.JSON(200, fmt.Sprintf(`{"beat":%d}`, i))))
		}
		probed := b.short[0].Probes("/health")
		if i%6 == 0 {
			eventually(t, "the new status is seen", func() bool { return b.short[0].Probes("/health") > probed })
		}
		r.served(1, short)
	}
	after := shares(b.short...)
	got := []int{after[0] - before[0], after[1] - before[1]}
	slices.Sort(got)
	if !slices.Equal(got, []int{18, 19}) {
		t.Errorf("37 calls were split %v, want 18 and 19", got)
	}
	r.zero(b.all()...)
}

// TestReturningReplicaIsFlooded: a replica that comes back makes up for nothing
// that it has missed.
func TestReturningReplicaIsFlooded(t *testing.T) {
	t.Parallel()
	b := newBench(t, yes...)
	b.short, b.long = append(b.short, b.long[0]), nil
	r := b.start(t)
	r.served(30, whole)
	all := b.policy()
	b.short = b.short[:2]
	r.reload(b.policy())
	r.served(60, whole)
	b.short = b.short[:3]
	r.reload(all)
	eventually(t, "all are ready", func() bool { return r.ready() == 3 })
	before := shares(b.short...)
	r.served(90, whole)
	for i, n := range shares(b.short...) {
		if n -= before[i]; n > 36 || n < 24 {
			t.Errorf("replica %d got %d of 90 calls, its share is 30", i, n)
		}
	}
	r.zero(b.short...)
}

// swarm sends n requests, some at once, and gives the answers by status.
func (r *rig) swarm(n, atOnce int, body string) map[int]int {
	var all sync.WaitGroup
	work := make(chan int)
	statuses := make(chan int, n)
	for range atOnce {
		all.Go(func() {
			for range work {
				statuses <- r.post(body).Status
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	all.Wait()
	close(statuses)
	count := make(map[int]int)
	for status := range statuses {
		count[status]++
	}
	return count
}

// TestFastestFailureWinsTheTraffic: a replica that fails at once looks idle; its
// breaker keeps the traffic from it. Where a failure can be tried elsewhere no
// client notices; a failure of what may have run ends when the breaker opens.
func TestFastestFailureWinsTheTraffic(t *testing.T) {
	t.Parallel()
	const requests, atOnce = 200, 8
	for name, c := range map[string]struct {
		script gt.Script // of the bad one; nil: it refuses connections
		passes bool      // failures are tried elsewhere
	}{
		"500":              {gt.Script{gt.Send(gt.Error(500, "EngineDeadError", "dead"))}, false},
		"503":              {gt.Script{gt.Send(gt.Error(503, "Busy", "full"))}, true},
		"closes at once":   {gt.Script{gt.Close()}, false},
		"refuses to begin": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			good, bad := b.short[0], b.short[1]
			b.long = nil
			b.caps, b.queue = 8, "{max_waiting: 100, max_wait: 10s}"
			b.more = "retry: {budget_min: 100}\n"
			good.Script(gt.Pause(30*time.Millisecond), yes[0])
			bad.Script(c.script...)
			r := b.start(t)
			if c.script == nil {
				bad.Refuse()
			}
			began := time.Now()
			got := r.swarm(requests, atOnce, whole)
			took := time.Since(began)
			r.quiet()
			calls := len(bad.Calls())
			most := 3 + atOnce + int(took/time.Second) + 1 // failures_open, those on the way then, a trial each open_for
			if strings.HasPrefix(name, "503") {
				most = atOnce * (int(took/time.Second) + 1) // it is given a pause each time
			}
			failed := requests - got[200]
			if calls > most || failed > calls || c.passes && failed > requests*3/100 {
				t.Errorf("the bad replica got %d calls, at most %d are due; answers: %v", calls, most, got)
			}
			if good := len(good.Calls()); good < requests-most {
				t.Errorf("the good one got %d of %d", good, requests)
			}
			good.Script(yes...)
			bad.Script(yes...)
			if c.script == nil {
				bad.Accept()
			}
			eventually(t, "the cured replica is tried and taken back", func() bool { return r.post(whole).Status == 200 && r.ready() == 2 })
			r.zero(good, bad)
		})
	}
}
