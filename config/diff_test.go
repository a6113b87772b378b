package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	base := small + "tenants: {a: {key_sha256: [" + hash + "]}}\n"
	f := func(from, to string, want ...string) {
		t.Helper()
		old, now := mustLoad(t, base, nil, nil), mustLoad(t, strings.Replace(base, from, to, 1), nil, nil)
		if got := now.Diff(old); !reflect.DeepEqual(got, want) {
			t.Errorf("%q to %q: got %q, want %q", from, to, got, want)
		}
	}
	f("", "")
	f("", "limits: {body: 64MiB}\n", "limits.body: 32MiB → 64MiB")
	f("", "timeouts: {drain: 30s}\n", "timeouts.drain: 10m0s → 30s")
	f("    size: gemma-3-27b", "    cap: {total: 32}\n    size: gemma-3-27b", "pools.big.cap.prefill: 64 → 32", "pools.big.cap.total: 64 → 32")
	f(`"http://10.0.0.1:8000", `, `"http://10.0.0.9:8000", `, "pools.big.replicas: removed http://10.0.0.1:8000", "pools.big.replicas: added http://10.0.0.9:8000")
	f(`"http://10.0.0.1:8000", "http://10.0.0.2:8000/"`, `"http://10.0.0.2:8000", "http://10.0.0.1:8000"`) // order means nothing
	f("  big:\n", "  new: {model: new, replicas: [http://new]}\n  big:\n", "pools.new: added")
	f("{pool: big}, {pool: llama-3.1}", "{pool: big}", "routes.gemma-3.prefill.pools[1]: removed (pool llama-3.1)")
	f("value: 0.5", "value: 0.6", "routes.gemma-3.decode.pools[1].value: 0.5 → 0.6")
	f("    prefill:", "    class: decode\n    prefill:", `routes.gemma-3.class: "" → decode`)
	f("    size: gemma-3-27b", "    size: gemma-3-27b\n    engine: {fields: {seed: pass, top_k: strip}}",
		"pools.big.engine.fields.seed: removed refuse", "pools.big.engine.fields.top_k: added strip")
	f(hash, strings.Repeat("0", 64), "tenants.a.key_sha256: changed (1 → 1 hashes)")
	f("    size: gemma-3-27b", "    size: gemma-3-27b\n    api_key: {file: /run/key}", `pools.big.api_key.file: "" → /run/key`)
}

func TestDiffOfPlainStructs(t *testing.T) {
	a, b := Default(), Default()
	b.Log.Level = "debug"
	if got := b.Diff(&a); !reflect.DeepEqual(got, []string{"log.level: info → debug"}) {
		t.Errorf("got %q", got)
	}
	if got := (&Config{}).Diff(&Config{}); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}
