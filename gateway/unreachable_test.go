//go:build unix

package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/gateway/gatewaytest"
	"sluice/router"
)

// hollow is a replica that was well when it was looked at, and then stops
// accepting.
func hollow(t *testing.T) (url string, fill func()) {
	t.Helper()
	address, fill := gatewaytest.Filling(t)
	return "http://" + address, fill
}

// checkUnreached: nobody was reached, so the request may be sent again.
func checkUnreached(t *testing.T, r *rig, answer *gatewaytest.Response) {
	t.Helper()
	if answer.Status != 502 || answer.Header.Get("x-should-retry") != "" || !strings.HasPrefix(string(answer.Body), openAIError) {
		t.Errorf("answer %d, x-should-retry %q: %s", answer.Status, answer.Header.Get("x-should-retry"), answer.Body)
	}
	if n := r.outcomes(router.ConnectFailed); n != 1 {
		t.Errorf("%d ended as connect_failed, want 1", n)
	}
	r.quiet()
}

const rareHealth = "health: {interval: 1m, timeout: 1s, failures_open: 3, open_for: 200ms}"

// seldom makes a policy look at its replicas' health once, at the start.
func seldom(policy string) string {
	head, _, _ := strings.Cut(policy, "health:")
	return head + rareHealth + "\n"
}

func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	rep := gatewaytest.NewReplica(t)
	r := start(t, seldom(onePool(4, rep)))
	rep.Refuse()
	checkUnreached(t, r, r.post(plainBody))
}

func TestBacklogFull(t *testing.T) {
	t.Parallel()
	url, fill := hollow(t)
	r := start(t, seldom(poolPolicyYAML(4, url))+"timeouts: {connect: 300ms}\n")
	fill()
	began := time.Now()
	checkUnreached(t, r, r.post(plainBody))
	if took := time.Since(began); took < 250*time.Millisecond {
		t.Errorf("gave up after %v, want timeouts.connect=300ms", took)
	}
}

// A replica that can't be reached costs its clients nothing while another is up.
func TestUnreachableReplicaIsPassedOver(t *testing.T) {
	t.Parallel()
	full, fill := hollow(t)
	refusing := gatewaytest.NewReplica(t)
	good := gatewaytest.NewReplica(t, gatewaytest.ChatStream("a", "b")...)
	r := start(t, seldom(poolPolicyYAML(4, full, refusing.URL(), good.URL()))+"timeouts: {connect: 2s}\nretry: {budget_min: 100}\n")
	fill()
	refusing.Refuse()
	for i := range 12 {
		if answer := r.post(gatewaytest.ChatBody("m", fmt.Sprint(i), true)); answer.Status != 200 && answer.Status != 502 || answer.Ending != gatewaytest.Whole {
			t.Errorf("request %d: answer %d, %v: %s", i, answer.Status, answer.Ending, answer.Body)
		}
	}
	r.quiet()
	// One request may meet both of them: it is tried elsewhere once.
	if failed := r.outcomes(router.ConnectFailed); failed > 1 || r.outcomes(router.Completed) != 12-failed {
		t.Errorf("%d failed to connect, %d completed", failed, r.outcomes(router.Completed))
	}
}
