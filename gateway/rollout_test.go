package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

var (
	healthy = gatewaytest.Send(gatewaytest.Head(200, "content-length: 0"))
	loading = gatewaytest.Send(gatewaytest.Head(503, "content-length: 0"))
)

// firstCall notes how often a replica had been probed when its first call came.
type firstCall struct {
	rep    *gatewaytest.Replica
	probes atomic.Int64 // 0: no call yet
}

func noteFirstCall(rep *gatewaytest.Replica) *firstCall {
	f := &firstCall{rep: rep}
	rep.Script(append(gatewaytest.Script{gatewaytest.Do(func(*gatewaytest.Call) {
		f.probes.CompareAndSwap(0, int64(rep.Probes("/health")))
	})}, shortAnswer...)...)
	return f
}

// TestColdReplicas: one replica is up, one refuses connections, one is loading.
func TestColdReplicas(t *testing.T) {
	up, refusing, cold := gatewaytest.NewReplica(t, shortAnswer...), gatewaytest.NewReplica(t), gatewaytest.NewReplica(t)
	refusing.Refuse()
	cold.On("/health", loading)
	notes := []*firstCall{noteFirstCall(refusing), noteFirstCall(cold)}
	policy := strings.Replace(onePool(4, up, refusing, cold), "interval: 20ms", "interval: 200ms", 1) // so that a busy machine counts right
	r := start(t, policy, 1)
	for i := range 20 {
		if answer := r.post(gatewaytest.ChatBody("m", "hi", false)); answer.Status != 200 || answer.Header.Get("x-sluice-replica") != up.URL() {
			t.Errorf("call %d: status %d from %s", i, answer.Status, answer.Header.Get("x-sluice-replica"))
		}
	}
	for range 5 {
		if answer := gatewaytest.Get(t, r.data, "/v1/models"); answer.Status != 200 || !strings.Contains(string(answer.Body), `"id":"m"`) {
			t.Errorf("models: status %d, %s", answer.Status, answer.Body)
		}
	}
	if refusing.Connections() > 0 || len(cold.Calls()) > 0 {
		t.Errorf("replicas that are not ready got %d connections and %d calls", refusing.Connections(), len(cold.Calls()))
	}
	before := []int{refusing.Probes("/health"), cold.Probes("/health")}
	refusing.Accept()
	cold.On("/health", healthy)
	eventually(t, "both get calls once they are cured", func() bool {
		r.post(gatewaytest.ChatBody("m", "hi", false))
		return notes[0].probes.Load() > 0 && notes[1].probes.Load() > 0
	})
	for i, note := range notes {
		if rounds := note.probes.Load() - int64(before[i]); rounds < 1 || rounds > 2 {
			t.Errorf("replica %d got its first call %d probes after its cure, want 1 or 2", i, rounds)
		}
	}
}

// TestNoReplicaIsReady: the gateway starts all the same, and says when to come back.
func TestNoReplicaIsReady(t *testing.T) {
	refusing, cold := gatewaytest.NewReplica(t), gatewaytest.NewReplica(t)
	refusing.Refuse()
	cold.On("/health", loading)
	r := start(t, onePool(4, refusing, cold), 0)
	answer := r.post(gatewaytest.ChatBody("m", "hi", true))
	if answer.Status != 503 || answer.Header.Get("Retry-After") == "" || !strings.Contains(string(answer.Body), "no_replica") {
		t.Errorf("status %d, Retry-After %q, %s", answer.Status, answer.Header.Get("Retry-After"), answer.Body)
	}
	if status, why := r.readiness(); status != http.StatusServiceUnavailable || !strings.HasPrefix(why, "no replica is ready") {
		t.Errorf("/readyz: %d %s", status, why)
	}
	if answer := gatewaytest.Get(t, r.data, "/v1/models"); answer.Status != 200 {
		t.Errorf("models: status %d", answer.Status)
	}
	if n := r.outcomes(router.NoReplica); n != 1 {
		t.Errorf("%d requests ended as no_replica, want 1", n)
	}
}

// slowStream is a stream that lasts a while without being held.
var slowStream = gatewaytest.Script{
	gatewaytest.Send(gatewaytest.SSEHead),
	gatewaytest.ChunksEach(4e6, gatewaytest.ChatEvents("a", "b", "c", "d", "e", "f", "g", "h")...), // 4 ms apart
	gatewaytest.Send(gatewaytest.FinalChunk),
}

// keepStreaming sends streams one after the other in n goroutines until stop,
// and checks that each is whole.
func keepStreaming(t *testing.T, r *rig, n int) (stop func()) {
	over := make(chan struct{})
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				a := r.post(gatewaytest.ChatBody("m", "hi", true))
				if a.Status != 200 || a.Ending != gatewaytest.Whole || !strings.HasSuffix(string(a.Body), gatewaytest.Done) {
					t.Errorf("a stream during the update: status %d, ending %v, %v, %s", a.Status, a.Ending, a.Err, a.Body)
					return
				}
			}
		})
	}
	return func() { close(over); all.Wait() }
}

// TestRollingUpdate: replica after replica says that it is going, refuses
// connections, ends, and comes back: on its port, or on another by a change of the
// configuration. Nobody notices.
func TestRollingUpdate(t *testing.T) {
	replicas := make([]*gatewaytest.Replica, 4)
	urls := make([]string, 4)
	for i := range replicas {
		replicas[i] = gatewaytest.NewReplica(t, slowStream...)
		urls[i] = replicas[i].URL()
	}
	r := startFile(t, poolPolicyYAML(8, urls...))
	stop := keepStreaming(t, r.rig, 6)
	for i, rep := range replicas {
		rep.On("/health", loading)
		eventually(t, "the gateway knows that it is going", func() bool { return r.replicaOf(rep).State == router.Leaving })
		for range 8 {
			if answer := r.post(gatewaytest.ChatBody("m", "hi", true)); answer.Header.Get("x-sluice-replica") == urls[i] {
				t.Errorf("replica %d got a request after its 503", i)
			}
		}
		rep.Refuse()
		rep.WaitRunning(0)
		rep.Crash()
		if i%2 == 0 {
			rep.On("/health", healthy)
			rep.Accept()
		} else {
			replicas[i] = gatewaytest.NewReplica(t, slowStream...)
			urls[i] = replicas[i].URL()
			r.reload(poolPolicyYAML(8, urls...))
		}
		eventually(t, "four replicas are ready again", func() bool { return r.ready() == 4 })
		calls := len(replicas[i].Calls())
		eventually(t, "it gets work again", func() bool { return len(replicas[i].Calls()) > calls })
	}
	stop()
	r.quiet()
	if n := r.outcomes(router.Completed); n != int(sum(r.metrics(), "sluice_requests_received_total")) {
		t.Errorf("%d requests of all completed", n)
	}
}

// TestScaledDown: replicas that a configuration no longer has finish what they
// hold, and are asked for nothing more, health neither.
func TestScaledDown(t *testing.T) {
	keep, gone := gatewaytest.NewReplica(t), gatewaytest.NewReplica(t)
	r := startFile(t, onePool(8, keep, gone))
	s := holdStreams(t, r.rig, 8, keep, gone)
	r.reload(onePool(8, keep))
	s.end()
	eventually(t, "the removed replica is forgotten", func() bool { return r.replicaOf(gone).Cap == -1 })
	calls := len(gone.Calls())
	probes := gone.Probes("/health")
	rounds := keep.Probes("/health")
	eventually(t, "five more rounds of probes", func() bool {
		r.post(gatewaytest.ChatBody("m", "hi", false))
		return keep.Probes("/health") >= rounds+5
	})
	if n := len(gone.Calls()) - calls; n > 0 {
		t.Errorf("the removed replica got %d calls", n)
	}
	if n := gone.Probes("/health") - probes; n > 1 { // one may have been under way
		t.Errorf("the removed replica was probed %d times", n)
	}
}

// TestAReplicaThatVanishes without notice costs one attempt, not one per call,
// and no client an error.
func TestAReplicaThatVanishes(t *testing.T) {
	stays, vanishes := gatewaytest.NewReplica(t, shortAnswer...), gatewaytest.NewReplica(t, shortAnswer...)
	policy := strings.Replace(onePool(4, stays, vanishes), "interval: 20ms", "interval: 1h", 1) // checks don't help
	r := start(t, policy)
	for range 4 {
		r.post(gatewaytest.ChatBody("m", "hi", false))
	}
	vanishes.Crash()
	for i := range 20 {
		if answer := r.post(gatewaytest.ChatBody("m", "hi", false)); answer.Status != 200 {
			t.Errorf("call %d: status %d, %s", i, answer.Status, answer.Body)
		}
	}
	if n := sum(r.metrics(), "sluice_attempts_total", `outcome="connect_failed"`); n != 1 {
		t.Errorf("%v attempts failed to connect, want 1", n)
	}
}

// shares counts calls by replica.
func shares(replicas ...*gatewaytest.Replica) []int {
	n := make([]int, len(replicas))
	for i, rep := range replicas {
		n[i] = len(rep.Calls())
	}
	return n
}

// TestFairShares: calls one after the other are spread evenly,
// whatever other pools do and whatever health checks say.
func TestFairShares(t *testing.T) {
	a1, a2, b := gatewaytest.NewReplica(t, shortAnswer...), gatewaytest.NewReplica(t, shortAnswer...), gatewaytest.NewReplica(t, shortAnswer...)
	r := start(t, splitPools([]string{a1.URL(), a2.URL()}, []string{b.URL()}))
	for range 200 {
		r.post(gatewaytest.ChatBody("m", "hi", false))
		r.post(gatewaytest.ChatBody("other", "hi", false))
	}
	if got := shares(a1, a2, b); got[2] != 200 || got[0] < 95 || got[0] > 105 || got[0]+got[1] != 200 {
		t.Errorf("shares %v, want 100, 100, 200 within 5%%", got)
	}
	before := shares(a1, a2)
	for i := range 37 {
		for _, rep := range []*gatewaytest.Replica{a1, a2} {
			rep.On("/health", gatewaytest.Send(gatewaytest.JSON(200, fmt.Sprintf(`{"beat":%d}`, i))))
		}
		probed := a1.Probes("/health")
		if i%6 == 0 {
			eventually(t, "the new status is seen", func() bool { return a1.Probes("/health") > probed })
		}
		r.post(gatewaytest.ChatBody("m", "hi", false))
	}
	after := shares(a1, a2)
	got := []int{after[0] - before[0], after[1] - before[1]}
	slices.Sort(got)
	if !slices.Equal(got, []int{18, 19}) {
		t.Errorf("37 calls were split %v, want 18 and 19", got)
	}
}

// TestFairSharesAfterAReturn: a replica that comes back makes up for nothing.
func TestFairSharesAfterAReturn(t *testing.T) {
	replicas := []*gatewaytest.Replica{gatewaytest.NewReplica(t, shortAnswer...), gatewaytest.NewReplica(t, shortAnswer...), gatewaytest.NewReplica(t, shortAnswer...)}
	r := startFile(t, onePool(4, replicas...))
	calls := func(n int) {
		t.Helper()
		for range n {
			if answer := r.post(gatewaytest.ChatBody("m", "hi", false)); answer.Status != 200 {
				t.Fatalf("status %d: %s", answer.Status, answer.Body)
			}
		}
	}
	calls(30)
	r.reload(onePool(4, replicas[:2]...))
	calls(60)
	r.reload(onePool(4, replicas...))
	eventually(t, "all are ready", func() bool { return r.ready() == 3 })
	before := shares(replicas...)
	calls(90)
	for i, n := range shares(replicas...) {
		if n -= before[i]; n > 36 {
			t.Errorf("replica %d got %d of 90 calls, more than 1.2 times its share", i, n)
		}
	}
}
