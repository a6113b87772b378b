package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEnvironment(t *testing.T) {
	cfg := mustLoad(t, small, []string{
		"SLUICE_LISTENERS__DATA__ADDRESS=:9090",
		"SLUICE_TIMEOUTS__DRAIN=30s",
		"SLUICE_LIMITS__BODY=1MiB",
		"SLUICE_CLASSIFICATION__W=30.5",
		"SLUICE_LOG__ACCESS=false",
		"SLUICE_POOLS__BIG__CAP__TOTAL=48",
		"SLUICE_POOLS__LLAMA_3_1__REPLICAS=http://10.0.9.1:8000, HTTP://10.0.9.2:8000/",
		"SLUICE_ROUTES__GEMMA_3__DECODE__QUEUE__MAX_WAITING=0",
		// Not ours: what Kubernetes sets for Services called sluice and sluice-ops.
		"SLUICE_SERVICE_HOST=10.8.0.1", "SLUICE_SERVICE_PORT=8080", "SLUICE_SERVICE_PORT_HTTP=8080", "SLUICE_PORT=tcp://10.8.0.1:8080",
		"SLUICE_PORT_8080_TCP=tcp://10.8.0.1:8080", "SLUICE_PORT_8080_TCP_ADDR=10.8.0.1", "SLUICE_OPS_SERVICE_HOST=10.8.0.2",
	}, nil)
	check := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	check("address", cfg.Listeners.Data.Address, ":9090")
	check("drain", cfg.Timeouts.Drain, 30*time.Second)
	check("body", cfg.Limits.Body, MiB)
	check("w", cfg.Classification.W, 30.5)
	check("access", cfg.Log.Access, false)
	check("cap", cfg.Pools["big"].Cap, Cap{Total: 48, Prefill: 48})
	check("replicas", cfg.Pools["llama-3.1"].Replicas, []string{"http://10.0.9.1:8000", "http://10.0.9.2:8000"})
	check("max_waiting", cfg.Routes["gemma-3"].Decode.Queue.MaxWaiting, 0)
}

func TestEnvironmentProblems(t *testing.T) {
	f := func(variable, want string) {
		t.Helper()
		_, err := load(t, small, []string{variable}, nil)
		if !says(err, want) {
			t.Errorf("%s:\n got %v\nwant %s", variable, err, want)
		}
	}
	f("SLUICE_LISTENRS__DATA__ADDRESS=:1", "environment variable SLUICE_LISTENRS__DATA__ADDRESS: is not a setting: there is no key listenrs; did you mean SLUICE_LISTENERS__DATA__ADDRESS?")
	f("SLUICE_POOLS__BIG__CAP__TOTL=1", "is not a setting: pools.big.cap has no key totl; did you mean SLUICE_POOLS__BIG__CAP__TOTAL?")
	f("SLUICE_LIMITS_BODY=1MiB", "is not a setting: there is no key limits_body; did you mean SLUICE_LIMITS__BODY?")
	f("SLUICE_POOLS__HUGE__CAP__TOTAL=1", "HUGE: the file has no such entry of pools, only big or llama-3.1; did you mean SLUICE_POOLS__BIG__CAP__TOTAL?")
	f("SLUICE_TENANTS__A__WEIGHT=1", "A: the file has no tenants of any name; only entries of the file can be set; see config/reference.yaml")
	f("SLUICE_POOLS__BIG__CAP=1", "pools.big.cap: is not a single setting; set the keys below it one by one")
	f("SLUICE_POOLS__BIG__CAP__TOTAL__X=1", "pools.big.cap.total has no key x")
	f("SLUICE_TIMEOUTS__DRAIN=600", "environment variable SLUICE_TIMEOUTS__DRAIN: timeouts.drain: 600 has no unit; write 600s for seconds, 600ms for milliseconds")
	f("SLUICE_POOLS__BIG__CAP__TOTAL=0", "environment variable SLUICE_POOLS__BIG__CAP__TOTAL: pools.big.cap.total: is 0; must be at least 1")
	f("SLUICE_LOG__ACCESS=yes", `log.access: "yes" is not true or false`)
	f("SLUICE_CLASSIFICATION__RULES=x", "classification.rules: is not a single setting")
}

func TestAmbiguousVariable(t *testing.T) {
	_, err := load(t, strings.Replace(small, "  big:", "  llama-3-1: {model: l, replicas: [http://z]}\n  big:", 1), []string{"SLUICE_POOLS__LLAMA_3_1__CAP__TOTAL=1"}, nil)
	if !says(err, "LLAMA_3_1 could be llama-3-1 or llama-3.1") {
		t.Errorf("got %v", err)
	}
}

// The variable that holds a secret may well be called SLUICE_SOMETHING.
func TestSecretVariableIsNoSetting(t *testing.T) {
	content := strings.Replace(small, "    size:", "    api_key: {env: SLUICE_REPLICA_KEY}\n    size:", 1)
	if _, err := load(t, content, []string{"SLUICE_REPLICA_KEY=sk-1"}, nil); err != nil {
		t.Errorf("got %v", err)
	}
	if _, err := load(t, small, []string{"SLUICE_REPLICA_KEY=sk-1"}, nil); err == nil || strings.Contains(err.Error(), "sk-1") {
		t.Errorf("not named by the file: got %v, want an error without the value", err)
	}
}

func TestFlags(t *testing.T) {
	f := func(path string, value any, get func(*Config) any, want any) {
		t.Helper()
		cfg := mustLoad(t, small, nil, map[string]any{path: value})
		if got := get(cfg); !reflect.DeepEqual(got, want) {
			t.Errorf("%s=%v: got %v, want %v", path, value, got, want)
		}
	}
	f("listeners.ops.address", ":1", func(c *Config) any { return c.Listeners.Ops.Address }, ":1")
	f("timeouts.drain", time.Minute, func(c *Config) any { return c.Timeouts.Drain }, time.Minute)
	f("limits.body", 2*MiB, func(c *Config) any { return c.Limits.Body }, 2*MiB)
	f("relay.decision_headers", false, func(c *Config) any { return c.Relay.DecisionHeaders }, false)
	f("retry.budget", 0.25, func(c *Config) any { return c.Retry.Budget }, 0.25)
	f("pools.llama-3.1.cap.total", 3, func(c *Config) any { return c.Pools["llama-3.1"].Cap.Total }, 3)
	f("pools.big.replicas", []string{"http://x", "http://y"}, func(c *Config) any { return c.Pools["big"].Replicas }, []string{"http://x", "http://y"})
}

func TestFlagProblems(t *testing.T) {
	f := func(path string, value any, want string) {
		t.Helper()
		if _, err := load(t, small, nil, map[string]any{path: value}); !says(err, want) {
			t.Errorf("%s=%v:\n got %v\nwant %s", path, value, err, want)
		}
	}
	f("limits.bdy", 1, "flag --limits.bdy: is not a setting: limits has no key bdy")
	f("limits.body", "much", `flag --limits.body: limits.body: "much" is not a size`)
	f("pools.llama-3.2.cap.total", 3, "llama-3: the file has no such entry of pools, only big or llama-3.1")
	f("health.interval", 0, "flag --health.interval: health.interval: is 0s; must be more than 0")
}
