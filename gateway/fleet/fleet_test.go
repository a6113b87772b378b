package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/config"
	"sluice/router"
)

func TestReloadKeepsMembersByAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, "http://a", "http://b")
		b.becomes("a", up)
		b.becomes("b", up)
		b.after(0)
		b.fails("a", 3, router.Lost)
		kept, client := b.fleet.Member("http://a"), b.fleet.Member("http://a").Client()

		cfg := configOf("http://a", "http://c")
		cfg.Pools["moved"] = config.Pool{Model: "m", Replicas: []string{"http://a"}}
		cfg.Pools["large"] = config.Pool{Model: "m", Replicas: []string{"http://c"}}
		if err := b.fleet.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		b.after(0)
		b.is("a", "open")
		b.is("b", "")
		b.is("c", "warming")
		if m := b.fleet.Member("http://a"); m != kept || m.Client() != client || m.Pool() != "moved" {
			t.Error("the member that stayed lost its identity, its connections, or missed its new pool")
		}
		if b.fleet.Member("http://b") != nil {
			t.Error("the removed replica is still a member")
		}
		b.becomes("c", up)
		b.after(1200 * time.Millisecond)
		b.is("c", "ready")
	})
}

func TestRemovedReplicasAreNotChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, "http://a", "http://b")
		b.becomes("a", up)
		b.becomes("b", up)
		b.after(0)
		if err := b.fleet.Apply(configOf("http://a")); err != nil {
			t.Fatal(err)
		}
		b.after(0)
		b.mu.Lock()
		before := b.checks["b"]
		b.mu.Unlock()
		b.after(10 * time.Second)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.checks["b"] != before || b.checks["a"] < 8 {
			t.Errorf("%d checks of the removed replica, %d of the other, want 0 and about 10", b.checks["b"]-before, b.checks["a"])
		}
	})
}

func TestChangedTimeoutsMakeNewConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, "http://a")
		old := b.fleet.Member("http://a").Client()
		cfg := configOf("http://a")
		cfg.Timeouts.Connect++
		if err := b.fleet.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		if b.fleet.Member("http://a").Client() == old {
			t.Error("the client still has the old connect timeout")
		}
	})
}

func TestBadReloadChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		f := func(pool config.Pool, want string) {
			t.Helper()
			cfg := configOf("http://b")
			cfg.Pools["small"] = pool
			err := b.fleet.Apply(cfg)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want one with %q", err, want)
			}
		}
		f(config.Pool{Replicas: []string{"http://b"}}, "list a replica once")
		f(config.Pool{Replicas: []string{"://"}}, "pools.small.replicas")
		f(config.Pool{APIKey: config.Secret{Env: "SLUICE_NOT_SET"}}, "pools.small.api_key.env")
		f(config.Pool{CA: filepath.Join(t.TempDir(), "none.pem")}, "pools.small.ca")
		f(config.Pool{CA: emptyFile(t)}, "holds no certificate")
		b.after(0)
		b.is("a", "ready")
		b.is("b", "")
	})
}

func emptyFile(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestChecksCarryThePoolsKey(t *testing.T) {
	t.Setenv("SLUICE_TEST_KEY", "secret")
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		b.becomes("a", up)
		cfg := configOf()
		cfg.Pools["large"] = config.Pool{Replicas: []string{"http://a"}, APIKey: config.Secret{Env: "SLUICE_TEST_KEY"}}
		if err := b.fleet.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		b.after(0)
		if got := b.keys["a"]; got != "Bearer secret" {
			t.Errorf("Authorization: got %q, want the pool's key", got)
		}
		if got := b.fleet.Member("http://a").Key(); got != "secret" {
			t.Errorf("Key: got %q, want %q", got, "secret")
		}
	})
}

func TestLoadsAreObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, "http://a", "http://b")
		b.becomes("a", up)
		b.becomes("b", up)
		b.mu.Lock()
		b.metrics["a"] = "vllm:num_requests_running 3\nvllm:num_requests_waiting 2\nvllm:kv_cache_usage_perc 0.5\n"
		b.mu.Unlock()
		b.after(3 * time.Second)
		got := b.loads["http://a"]
		if age := time.Since(got.At); age < 0 || age > 2*readEvery {
			t.Errorf("the load was read %v ago, want at most %v", age, 2*readEvery)
		}
		if got.At = (time.Time{}); got != (router.Load{Running: 3, Waiting: 2, KVUsage: .5, KVSum: .5}) {
			t.Errorf("got %+v", got)
		}
		if _, told := b.loads["http://b"]; told {
			t.Error("a replica without metrics told its load")
		}
		b.is("b", "ready")
	})
}

func TestPublishesOnlyChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, "http://a")
		b.becomes("a", up)
		b.after(time.Minute)
		if n := len(b.published); n != 1 && n != 2 {
			t.Errorf("%d lists published in a quiet minute, want the first and at most one change", n)
		}
	})
}

func TestRunPublishesAnEmptyFleetToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		b.after(0)
		if len(b.published) != 1 || len(b.published[0]) != 0 {
			t.Errorf("published %v, want one empty list", b.published)
		}
	})
}

func TestChecksAndBreakersForGauges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, "http://a")
		b.becomes("a", up)
		b.after(5 * time.Second)
		counted := make(map[string]uint64)
		b.fleet.Checks(func(_, _, result string, n uint64) { counted[result] = n })
		if counted["ok"] < 4 || counted["ok"] > 7 || len(counted) != int(results) {
			t.Errorf("checks: got %v, want about 5 ok, and zeros", counted)
		}
		b.fails("a", 3, router.Lost)
		b.fleet.Breakers(func(pool, address, state string) {
			if pool != "large" || address != "http://a" || state != "open" {
				t.Errorf("breaker: got %s %s %s", pool, address, state)
			}
		})
	})
}

// TestRace has everything happen at once; the race detector is its judge.
func TestRace(t *testing.T) {
	b := start(t, "http://a", "http://b")
	b.becomes("a", up)
	b.becomes("b", up)
	b.once.Do(b.run)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { traffic(b.fleet) })
	}
	all.Go(func() {
		for range 50 {
			_ = b.fleet.Apply(configOf("http://a"))
			_ = b.fleet.Apply(configOf("http://a", "http://b"))
			b.fleet.Breakers(func(string, string, string) {})
			b.fleet.Checks(func(string, string, string, uint64) {})
		}
	})
	all.Wait()
}

func traffic(f *Fleet) {
	outcomes := router.Outcomes()
	for i := range 500 {
		m := f.Member("http://b")
		if m == nil {
			continue
		}
		m.Alive(time.Now())
		if v, ok := m.Begin(); ok {
			if i%2 == 0 {
				v.Report(router.Completed)
			}
			v.Ended(outcomes[i%len(outcomes)])
		}
		_, _ = m.Client(), m.State()
	}
}
