package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// TestReloadsCutNoStream reloads in many ways while 20 streams run and calls arrive.
func TestReloadsCutNoStream(t *testing.T) {
	a, b := gatewaytest.NewReplica(t), gatewaytest.NewReplica(t)
	urls := []string{a.URL(), b.URL()}
	r := startFile(t, poolPolicyYAML(30, urls...))
	s := holdStreams(t, r.rig, 20, a, b)
	stopCalls := keepCalling(t, r.rig, "m")

	done := r.reload(poolPolicyYAML(25, urls...))
	if want := []string{"pools.p.cap.total: 30 → 25"}; !slices.Equal(done.Changes, want) || r.replicaOf(a).Cap != 25 {
		t.Errorf("lower cap: changes %q, want %q, replica %+v", done.Changes, want, r.replicaOf(a))
	}
	r.reload(poolPolicyYAML(25, a.URL())) // without b, which 10 streams are on
	if rep := r.replicaOf(b); rep.Listed || rep.Active.Total() < 10 {
		t.Errorf("removed replica: %+v, want it to hold its streams and to get nothing", rep)
	}
	eventually(t, "calls that were under way have ended", func() bool { return r.replicaOf(b).Active.Total() == 10 })
	calls := len(b.Calls())
	r.post(gatewaytest.ChatBody("m", "hi", false))
	if n := len(b.Calls()); n != calls {
		t.Errorf("a removed replica got %d calls", n-calls)
	}
	r.reload(splitPools(urls[:1], urls[1:])) // b comes back, in another pool
	if rep := r.replicaOf(b); !rep.Listed || rep.Active.Total() < 10 {
		t.Errorf("replica that has moved: %+v, want it to hold its streams still", rep)
	}
	eventually(t, "the replica that has moved is ready", func() bool { return r.ready() == 2 })
	if answer := r.post(gatewaytest.ChatBody("other", "hi", false)); answer.Status != 200 || answer.Header.Get("x-sluice-pool") != "q" {
		t.Errorf("a replica's new pool: status %d, pool %q", answer.Status, answer.Header.Get("x-sluice-pool"))
	}
	r.reload(strings.ReplaceAll(splitPools(urls[:1], urls[1:]), "30", "64"))
	stopCalls()
	s.end()
	r.quiet()
	if n := r.outcomes(router.Completed); n != int(sum(r.metrics(), "sluice_requests_received_total")) {
		t.Errorf("%d requests of all completed", n)
	}
}

// TestALoweredCapHoldsBack: nothing new comes until the count is below.
func TestALoweredCapHoldsBack(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := startFile(t, poolPolicyYAML(4, rep.URL()))
	s := holdStreams(t, r.rig, 4, rep)
	r.reload(poolPolicyYAML(1, rep.URL()))
	s.ask(r.rig, gatewaytest.ChatBody("m", "hi", false))
	eventually(t, "the new request waits", func() bool { return r.waiting() == 1 })
	if got := r.replicaOf(rep); got.Admits != 1 || got.Active.Total() != 4 {
		t.Errorf("replica %+v, want 4 active, and 1 admitted", got)
	}
	s.end()
	r.quiet()
	if n := rep.Peak(); n != 4 {
		t.Errorf("%d calls ran at once, want 4", n)
	}
}

// TestWaitersMoveToANewPool: a request that waits while its pool is renamed is
// sent under the model's new name.
func TestWaitersMoveToANewPool(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := startFile(t, poolPolicyYAML(1, rep.URL()))
	s := holdStreams(t, r.rig, 1, rep)
	s.ask(r.rig, gatewaytest.ChatBody("m", "hi", false))
	eventually(t, "the second request waits", func() bool { return r.waiting() == 1 })
	renamed := strings.NewReplacer("p: {model", "new: {model", "pool: p", "pool: new", "served", "served-anew").Replace(poolPolicyYAML(1, rep.URL()))
	r.reload(renamed)
	s.end()
	if body := string(rep.Call(1).Body); !strings.Contains(body, `"model":"served-anew"`) {
		t.Errorf("the request that waited was sent as %s", body)
	}
	r.quiet()
}

// TestBreakersOutliveAReload: an open one stays open.
func TestBreakersOutliveAReload(t *testing.T) {
	bad, good := gatewaytest.NewReplica(t, gatewaytest.Send(gatewaytest.Error(500, "InternalServerError", "no"))), gatewaytest.NewReplica(t, shortAnswer...)
	policy := func(total int) string {
		return strings.Replace(poolPolicyYAML(total, bad.URL(), good.URL()), "open_for: 200ms", "open_for: 1h", 1)
	}
	r := startFile(t, policy(4))
	eventually(t, "the breaker opens", func() bool {
		r.post(gatewaytest.ChatBody("m", "hi", false))
		return r.replicaOf(bad).State == router.Open
	})
	r.reload(policy(5))
	eventually(t, "the new policy is published", func() bool { return r.replicaOf(bad).Cap == 5 })
	if got := r.replicaOf(bad); got.State != router.Open || got.Granted < 3 {
		t.Errorf("after the reload: %+v, want it open, with its history", got)
	}
}

// TestWhatTakesEffectWithoutARestart, and what the log says of the rest.
func TestWhatTakesEffectWithoutARestart(t *testing.T) {
	rep := gatewaytest.NewReplica(t, shortAnswer...)
	policy := poolPolicyYAML(4, rep.URL())
	r := startFile(t, policy+"limits: {body: 1KiB}\nlog: {level: warn}\n")
	large := gatewaytest.ChatBody("m", strings.Repeat("x", 20<<10), false)
	if answer := r.post(large); answer.Status != 413 {
		t.Fatalf("status %d, want 413", answer.Status)
	}
	done := r.reload(policy + "limits: {body: 64KiB}\nlog: {level: info}\n")
	if len(done.Restart) != 0 {
		t.Errorf("needs a restart: %q, want nothing", done.Restart)
	}
	if answer := r.post(large); answer.Status != 200 {
		t.Errorf("after limits.body was raised: status %d", answer.Status)
	}
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(large), large)
	raw := "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked
	if answer := (gatewaytest.Target{Address: r.data}).Fetch(t, raw); answer.Status != 200 {
		t.Errorf("after limits.body was raised, chunked: status %d", answer.Status)
	}
	const later = "limits: {headers: 8KiB}\nlog: {access: false}\ntimeouts: {read_headers: 5s, idle_client: 60s, write_stall: 9s, drain: 1s}\n"
	done = r.reload(policy + later)
	want := []string{
		"limits.headers: 32KiB → 8KiB", "log.access: true → false",
		"timeouts.idle_client: 2m0s → 1m0s", "timeouts.read_headers: 10s → 5s", "timeouts.write_stall: 30s → 9s",
	}
	if !slices.Equal(done.Restart, want) {
		t.Errorf("needs a restart: %q, want %q", done.Restart, want)
	}
	if n := strings.Count(r.log.String(), "this change needs a restart"); n != len(want) {
		t.Errorf("%d warnings, want %d", n, len(want))
	}
	if done = r.reload(policy + later + "relay: {decision_headers: false}\n"); !slices.Equal(done.Restart, want) {
		t.Errorf("still needs a restart: %q, want %q", done.Restart, want)
	}
	if done = r.reload(policy); len(done.Restart) != 0 {
		t.Errorf("taken back: %q still needs a restart", done.Restart)
	}
}

// TestTheLogFollowsItsLevel without a restart, when the gateway was given it.
func TestTheLogFollowsItsLevel(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := startFile(t, poolPolicyYAML(1, rep.URL()))
	for _, level := range []string{"debug", "error", "info"} {
		r.reload(poolPolicyYAML(1, rep.URL()) + "log: {level: " + level + "}\n")
		if got := strings.ToLower(r.g.level.Level().String()); got != level {
			t.Errorf("the level is %s, want %s", got, level)
		}
	}
}

// TestReloadByHTTP is the answer of POST /-/reload.
func TestReloadByHTTP(t *testing.T) {
	rep := gatewaytest.NewReplica(t)
	r := startFile(t, poolPolicyYAML(4, rep.URL()))
	for _, c := range []struct {
		content  string
		status   int
		problems int
		change   string
	}{
		{loopbackDoors + poolPolicyYAML(4, rep.URL()), 200, 0, ""},
		{loopbackDoors + poolPolicyYAML(6, rep.URL()), 200, 0, "pools.p.cap.total: 4 → 6"},
		{loopbackDoors + strings.Replace(poolPolicyYAML(-6, rep.URL()), "health:", "helth:", 1), 422, 2, ""},
	} {
		r.writeRaw(c.content)
		answer := gatewaytest.Target{Address: r.control}.Fetch(t, "POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
		var got reloadAnswer
		if err := json.Unmarshal(answer.Body, &got); err != nil {
			t.Fatal(err)
		}
		ok := answer.Status == c.status && got.Reloaded == (c.problems == 0) && len(got.Problems) == c.problems &&
			strings.Join(got.Changes, "; ") == c.change && got.Restart != nil
		if !ok {
			t.Errorf("status %d, %s; want %d, %d problems, change %q", answer.Status, answer.Body, c.status, c.problems, c.change)
		}
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
