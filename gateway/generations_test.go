package gateway

import (
	"strings"
	"testing"

	"sluice/gateway/gatewaytest"
	"sluice/gateway/vllmsim"
	"sluice/router"
)

// The gateway reads both generations of vLLM: their errors, their metrics, and
// how they end a stream that has failed.
func TestBothGenerations(t *testing.T) {
	for _, release := range vllmsim.Releases() {
		t.Run(string(release), func(t *testing.T) {
			sim, url := simulate(t, vllmsim.Options{Size: "gemma-3-4b", Model: "served", Release: release, MaxModelLen: 1024, MaxNumSeqs: 8})
			r := start(t, poolPolicyYAML(8, url))
			refusesTooLong(t, r)
			showsUse(t, r)
			sim.Inject(vllmsim.Fault{Kind: vllmsim.ErrorEvent, After: 2})
			got := r.post(`{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":50,"ignore_eos":true,"stream":true}`)
			if got.Status != 200 || got.Ending == gatewaytest.Whole || !strings.Contains(string(got.Body), `data: {"error"`) {
				t.Errorf("got status %d, ending %v, %s", got.Status, got.Ending, got.Body)
			}
			r.quiet()
			if n := r.outcomes(router.ErrorEvent); n != 1 {
				t.Errorf("%d requests ended %s, want 1", n, router.ErrorEvent)
			}
		})
	}
}

// refusesTooLong sends a prompt that only the replica knows to be too long.
func refusesTooLong(t *testing.T, r *rig) {
	t.Helper()
	got := r.post(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("hello ", 1000) + `"}]}`)
	if got.Status != 400 || !strings.Contains(string(got.Body), "This model's maximum context length is 1024 tokens") {
		t.Errorf("got status %d, %s", got.Status, got.Body)
	}
	if n := r.outcomes(router.ClientError); n != 1 {
		t.Errorf("%d requests ended %s, want 1", n, router.ClientError)
	}
}

// showsUse runs a request until the gateway has read from the replica's metrics
// that its KV cache is in use.
func showsUse(t *testing.T, r *rig) {
	t.Helper()
	c := gatewaytest.Connect(t, r.data)
	defer c.Close()
	c.Send(gatewaytest.Request("POST", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":900,"ignore_eos":true,"stream":true}`))
	eventually(t, "the KV cache shows use", func() bool {
		m := r.metrics()
		return sum(m, "sluice_replica_kv_usage_ratio") > 0 && sum(m, "sluice_replica_kv_usage_ratio") <= 1
	})
}
