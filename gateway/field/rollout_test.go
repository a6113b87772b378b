package field

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gt "sluice/gateway/gatewaytest"
	"sluice/router"
)

var (
	healthy = gt.Send(gt.Head(200, "content-length: 0"))
	loading = gt.Send(gt.Head(503, "content-length: 0"))
)

// firstCall notes how often a replica had been probed when its first call came.
type firstCall struct {
	probes atomic.Int64 // 0: no call yet
}

func noteFirstCall(rep *gt.Replica) *firstCall {
	f := &firstCall{}
	rep.Script(append(gt.Script{gt.Do(func(*gt.Call) {
		f.probes.CompareAndSwap(0, int64(rep.Probes("/health")))
	})}, yes...)...)
	return f
}

// TestTrafficToAReplicaThatLoads: one replica is up, one refuses connections, one
// is loading its weights. The gateway starts, serves from the first, and takes the
// others in when their health says so.
func TestTrafficToAReplicaThatLoads(t *testing.T) {
	t.Parallel()
	b := newBench(t, yes...)
	refusing, cold := b.short[0], b.short[1] // preferred, if they were up
	b.long = b.long[:1]
	refusing.Refuse()
	cold.On("/health", loading)
	notes := []*firstCall{noteFirstCall(refusing), noteFirstCall(cold)}
	r := start(t, b.policy(), 1)
	r.served(20, whole)
	for range 5 {
		if answer := gt.Get(t, r.data, "/v1/models"); answer.Status != 200 || !strings.Contains(string(answer.Body), `"id":"m"`) {
			t.Errorf("models: status %d, %s", answer.Status, answer.Body)
		}
	}
	if refusing.Connections() > 0 || calls(cold) > 0 || calls(b.long...) != 20 {
		t.Errorf("replicas that are not ready got %d connections and %d calls", refusing.Connections(), calls(cold))
	}
	before := []int{refusing.Probes("/health"), cold.Probes("/health")}
	refusing.Accept()
	cold.On("/health", healthy)
	eventually(t, "both get calls once they are cured", func() bool {
		r.served(1, whole)
		return notes[0].probes.Load() > 0 && notes[1].probes.Load() > 0
	})
	for i, note := range notes {
		if rounds := note.probes.Load() - int64(before[i]); rounds < 1 || rounds > 2 {
			t.Errorf("replica %d got its first call %d probes after its cure, want 1 or 2", i, rounds)
		}
	}
	r.zero(b.all()...)
}

// TestNoReplicaIsReady: the gateway starts all the same, says that it isn't ready,
// and tells clients when to come back.
func TestNoReplicaIsReady(t *testing.T) {
	t.Parallel()
	b := newBench(t, yes...)
	for i, rep := range b.all() {
		if i%2 == 0 {
			rep.Refuse()
		} else {
			rep.On("/health", loading)
		}
	}
	r := start(t, b.policy(), 0)
	for _, body := range []string{streamed, whole} {
		answer := r.post(body)
		if answer.Status != 503 || answer.Header.Get("Retry-After") == "" || !strings.Contains(string(answer.Body), "no_replica") {
			t.Errorf("status %d, Retry-After %q, %s", answer.Status, answer.Header.Get("Retry-After"), answer.Body)
		}
	}
	for path, want := range map[string]int{"/readyz": 503, "/healthz": 200} {
		if answer := gt.Get(t, r.ops, path); answer.Status != want {
			t.Errorf("%s: %d, want %d", path, answer.Status, want)
		}
	}
	if answer := gt.Get(t, r.data, "/v1/models"); answer.Status != 200 {
		t.Errorf("models: status %d", answer.Status)
	}
	r.ended(map[router.Outcome]int{router.NoReplica: 2})
	for i, rep := range b.all() {
		if i%2 == 0 {
			rep.Accept()
		}
		rep.On("/health", healthy)
	}
	eventually(t, "it is ready when they are", func() bool { return gt.Get(t, r.ops, "/readyz").Status == 200 && r.ready() == 4 })
	r.zero(b.all()...)
}

// traffic sends short calls and streams, in half a dozen goroutines, until it is
// stopped, and checks that each is answered as a whole.
func traffic(t *testing.T, r *rig) (stop func()) {
	over := make(chan struct{})
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				body := streamed
				if i%2 == 0 {
					body = whole
				}
				a := r.post(body)
				if a.Status != 200 || a.Ending != gt.Whole || i%2 != 0 && !strings.HasSuffix(string(a.Body), gt.Done) {
					t.Errorf("an answer during the update: status %d, ending %v, %v, %s", a.Status, a.Ending, a.Err, a.Body)
					return
				}
			}
		})
	}
	return func() { close(over); all.Wait() }
}

// either answers as it is asked: a stream that lasts half a second, or at once.
var either = gt.Choose(func(c *gt.Call) gt.Script {
	if strings.Contains(string(c.Body), `"stream":false`) {
		return append(gt.Script{gt.Pause(20 * time.Millisecond)}, yes...)
	}
	return gt.Script{gt.Send(gt.SSEHead), gt.ChunksEach(50*time.Millisecond, gt.ChatEvents("a", "b", "c", "d", "e", "f", "g", "h")...), gt.Send(gt.FinalChunk)}
})

// TestRollingUpdate: replica after replica says that it is going, refuses
// connections, ends, and comes back: on its port, or on another by a change of the
// configuration. Nobody notices.
func TestRollingUpdate(t *testing.T) {
	t.Parallel()
	b := newBench(t, either)
	b.caps = 8
	r := b.start(t)
	stop := traffic(t, r)
	for i, place := range []**gt.Replica{&b.short[0], &b.short[1], &b.long[0], &b.long[1]} {
		rep := *place
		route := []string{"served-short", "served-short", "served-long", "served-long"}[i]
		rep.On("/health", loading)
		eventually(t, "the gateway knows that it is going", func() bool { return r.stateOf(rep) == "draining" })
		for range 8 {
			if answer := r.post(gt.ChatBody(route, "hi", false)); answer.Status != 200 || answer.Header.Get("x-sluice-replica") == rep.URL() {
				t.Errorf("replica %d: status %d from %s after its 503", i, answer.Status, answer.Header.Get("x-sluice-replica"))
			}
		}
		rep.Refuse()
		rep.WaitRunning(0)
		rep.Crash()
		if i%2 == 0 {
			rep.On("/health", healthy)
			rep.Accept()
		} else {
			rep = gt.NewReplica(t, either)
			*place = rep
			r.reload(b.policy())
		}
		eventually(t, "four replicas are ready again", func() bool { return r.ready() == 4 })
		before := calls(rep)
		eventually(t, "it gets work again", func() bool {
			r.post(gt.ChatBody(route, "hi", false))
			return calls(rep) > before
		})
	}
	stop()
	r.quiet()
	r.ended(map[router.Outcome]int{router.Completed: int(r.metrics().sum("sluice_requests_received_total"))})
	r.zero(b.all()...)
}

// TestVanishedReplica: one that goes without notice costs one attempt, not one per
// call, and no client an error, though no health check has told of it.
func TestVanishedReplica(t *testing.T) {
	t.Parallel()
	b := newBench(t, yes...)
	b.long = nil
	b.health["interval"] = "1h"
	r := b.start(t)
	r.served(4, whole)
	b.short[1].Crash()
	r.served(20, whole)
	r.quiet()
	r.ended(map[router.Outcome]int{router.Completed: 24})
	if n := r.attempts(router.ConnectFailed); n != 1 {
		t.Errorf("%d attempts failed to connect, want 1", n)
	}
	r.zero(b.short[0])
}
