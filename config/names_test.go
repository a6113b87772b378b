package config

import (
	"strings"
	"testing"
)

// Names as vLLM's users give them can be used, but for those that no client could
// write into a path or a log would have to escape.
func TestModelNames(t *testing.T) {
	f := func(name string, want bool) {
		t.Helper()
		cfg := Default()
		pool := DefaultPool("")
		pool.Model, pool.Replicas = name, []string{"http://10.0.0.1:8000"}
		cfg.Pools = map[string]Pool{"p": pool}
		if err := cfg.Validate(); (err == nil) != want || err != nil && !strings.Contains(err.Error(), "can't be a model name") {
			t.Errorf("model %.40q: %v", name, err)
		}
	}
	f("org/name-8b", true)
	f("name:latest", true)
	f("50%+1", true)
	f("a/b/c?d#e", true)
	f(strings.Repeat("n", 200), true)
	f(strings.Repeat("n", 201), false)
	f("a b", false)
	f("ü", false)
	f("a\nb", false)
	f(`a"b`, false)
	f(`a\b`, false)
}
