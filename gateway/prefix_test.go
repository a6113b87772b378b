package gateway

import (
	"fmt"
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
)

// A conversation that comes back longer goes to the replica that has computed its
// beginning; others are spread.
func TestAConversationComesBack(t *testing.T) {
	one := gatewaytest.NewReplica(t, gatewaytest.ChatStream("a", "b")...)
	two := gatewaytest.NewReplica(t, gatewaytest.ChatStream("a", "b")...)
	r := start(t, poolPolicyYAML(64, one.URL(), two.URL()))
	talk := func(name string, turns int) string {
		var b strings.Builder
		for i := range turns {
			fmt.Fprintf(&b, `{"role":"user","content":%q},{"role":"assistant","content":"go on"},`, fmt.Sprint(name, i, strings.Repeat(" and so on", 300)))
		}
		return `{"model":"m","stream":true,"messages":[` + b.String() + `{"role":"user","content":"?"}]}`
	}
	at := func(name string, turns int) string {
		answer := r.post(talk(name, turns))
		if answer.Status != 200 {
			t.Fatalf("got %d %s", answer.Status, answer.Body)
		}
		return answer.Header.Get("x-sluice-replica")
	}
	first, second := at("Ada", 1), at("Bob", 1)
	if first == second {
		t.Errorf("two conversations begin on one replica")
	}
	for turns := 2; turns < 6; turns++ {
		if got := at("Ada", turns); got != first {
			t.Errorf("turn %d of the first went to %s, not %s", turns, got, first)
		}
		if got := at("Bob", turns); got != second {
			t.Errorf("turn %d of the second went to %s, not %s", turns, got, second)
		}
	}
	r.quiet()
}
