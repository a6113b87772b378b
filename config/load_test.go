package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// small is the shortest file that serves both classes.
const small = `
pools:
  big:
    model: google/gemma-3-27b-it
    size: gemma-3-27b
    replicas: ["http://10.0.0.1:8000", "http://10.0.0.2:8000/"]
  llama-3.1:
    model: llama-3.1
    replicas: ["http://10.0.1.1:8000"]
routes:
  gemma-3:
    prefill: {pools: [{pool: big}, {pool: llama-3.1}]}
    decode: {pools: [{pool: llama-3.1}, {pool: big, value: 0.5}]}
`

// load is Load of a file with this content.
func load(t *testing.T, content string, env []string, flags map[string]any) (*Config, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(name, env, flags)
}

func mustLoad(t *testing.T, content string, env []string, flags map[string]any) *Config {
	t.Helper()
	cfg, err := load(t, content, env, flags)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestEntriesGetDefaults(t *testing.T) {
	cfg := mustLoad(t, small, nil, nil)
	want := DefaultPool("gemma-3-27b")
	want.Model, want.Replicas = "google/gemma-3-27b-it", []string{"http://10.0.0.1:8000", "http://10.0.0.2:8000"}
	if got := cfg.Pools["big"]; !reflect.DeepEqual(got, want) {
		t.Errorf("pool: got %+v, want %+v", got, want)
	}
	decode := DefaultRoute().Decode
	decode.Pools = []Preference{{"llama-3.1", 1}, {"big", 0.5}}
	if got := cfg.Routes["gemma-3"].Decode; !reflect.DeepEqual(got, decode) {
		t.Errorf("decode: got %+v, want %+v", got, decode)
	}
	if got := cfg.Routes["gemma-3"].Prefill.Pools[1].Value; got != 0.8 {
		t.Errorf("the second pool's value: got %v, want 0.8", got)
	}
}

func TestAbsentIsNotFalse(t *testing.T) {
	f := func(line string, want bool) {
		t.Helper()
		cfg := mustLoad(t, strings.Replace(small, "    size:", line+"    size:", 1), nil, nil)
		if got := cfg.Pools["big"].Implicit; got != want {
			t.Errorf("%q: got %v, want %v", line, got, want)
		}
	}
	f("", true)
	f("    implicit_route: true\n", true)
	f("    implicit_route: false\n", false)
}

func TestZeroIsNotAbsent(t *testing.T) {
	cfg := mustLoad(t, strings.Replace(small, "    prefill: {", "    prefill: {queue: {max_waiting: 0}, slo: {ttft_per_1k: 0}, ", 1), nil, nil)
	prefill := cfg.Routes["gemma-3"].Prefill
	if prefill.Queue.MaxWaiting != 0 || prefill.SLO.TTFTPer1K != 0 {
		t.Errorf("got %+v, want the zeros of the file", prefill)
	}
	if prefill.Queue.MaxBytes != 256*MiB || prefill.SLO.TTFT != 2*time.Second {
		t.Errorf("got %+v, want the defaults beside them", prefill)
	}
}

// The reference says that 0s is no promise.
func TestNoPromise(t *testing.T) {
	cfg := mustLoad(t, strings.Replace(small, "    prefill: {", "    prefill: {slo: {ttft: 0s}, ", 1), nil, nil)
	if prefill := cfg.Routes["gemma-3"].Prefill; prefill.SLO.TTFT != 0 || prefill.OnSLOMiss != MissServe {
		t.Errorf("got %+v, want no promise, and %s", prefill, MissServe)
	}
}

func TestDefaultCaps(t *testing.T) {
	f := func(lines string, want Cap) {
		t.Helper()
		cfg := mustLoad(t, strings.Replace(small, "    size: gemma-3-27b\n", lines, 1), nil, nil)
		if got := cfg.Pools["big"].Cap; got != want {
			t.Errorf("%q: got %+v, want %+v", lines, got, want)
		}
	}
	f("    size: gemma-3-27b\n", Cap{Total: 64, Prefill: 64})
	f("    size: gemma-3-12b\n", Cap{Total: 128, Prefill: 32})
	f("", Cap{Total: 64})
	// A default never contradicts what was written.
	f("    size: gemma-3-12b\n    cap: {total: 16}\n", Cap{Total: 16, Prefill: 16})
	f("    size: gemma-3-12b\n    cap: {total: 16, prefill: 4}\n", Cap{Total: 16, Prefill: 4})
	f("    size: gemma-3-12b\n    cap: {decode: 100}\n", Cap{Total: 128, Prefill: 32, Decode: 100})
}

func TestFields(t *testing.T) {
	f := func(fields string, want map[string]string) {
		t.Helper()
		cfg := mustLoad(t, strings.Replace(small, "    size:", "    engine: {fields: "+fields+"}\n    size:", 1), nil, nil)
		if got := cfg.Pools["big"].Engine.Fields; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", fields, got, want)
		}
	}
	f("{}", map[string]string{"seed": "refuse"})
	f("{seed: strip}", map[string]string{"seed": "strip"})
	f("{seed: pass}", map[string]string{})
	f("{logit_bias: strip}", map[string]string{"seed": "refuse", "logit_bias": "strip"})
}

func TestLayers(t *testing.T) {
	f := func(env []string, flags map[string]any, want int) {
		t.Helper()
		cfg := mustLoad(t, small+"limits: {json_depth: 50}\n", env, flags)
		if got := cfg.Limits.JSONDepth; got != want {
			t.Errorf("env %v and flags %v: got %d, want %d", env, flags, got, want)
		}
	}
	f(nil, nil, 50)
	f([]string{"SLUICE_LIMITS__JSON_DEPTH=60"}, nil, 60)
	f(nil, map[string]any{"limits.json_depth": 70}, 70)
	f([]string{"SLUICE_LIMITS__JSON_DEPTH=60"}, map[string]any{"limits.json_depth": "70"}, 70)
	f([]string{"LIMITS__JSON_DEPTH=60", "PATH=/bin", "odd"}, nil, 50)
}

func TestNoFile(t *testing.T) {
	_, err := Load("", []string{"SLUICE_LOG__LEVEL=debug"}, nil)
	if !says(err, "pools: lists none") {
		t.Errorf("got %v", err)
	}
	if _, err := Load("/nowhere/sluice.yaml", nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: got %v", err)
	}
}

func TestAnchors(t *testing.T) {
	cfg := mustLoad(t, strings.NewReplacer("prefill: {pools", "prefill: {queue: &q {max_waiting: 7}, pools", "decode: {", "decode: {queue: *q, ").Replace(small), nil, nil)
	if got := cfg.Routes["gemma-3"].Decode.Queue; got.MaxWaiting != 7 || got.MaxBytes != 256*MiB {
		t.Errorf("got %+v, want the anchor's max_waiting and the default's bytes", got)
	}
}

func TestAliasBombIsRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("pools:\n  a: {model: m, replicas: &r [")
	b.WriteString(strings.Repeat("x,", 1000) + "x]}\n")
	for i := range 60 {
		b.WriteString("  p" + strings.Repeat("p", i) + ": {model: m, replicas: *r}\n")
	}
	_, err := Parse("bomb.yaml", []byte(b.String()))
	if !says(err, "expands to more than 50000 values") {
		t.Error("a file that expands without end was read")
	}
}

// Everything that is wrong is said at once, in the order of the file, and
// nothing twice: a mistake's consequences aren't mistakes of their own.
func TestAllProblemsAtOnce(t *testing.T) {
	_, err := Parse("s.yaml", []byte(`limits: {jsondepth: 3, body: lots}
pools:
  a:
    modl: x
    replicas: http://a
    cap: {total: 0, prefill: 3}
  b: 7
routes:
  r:
    prefill: {pools: [{pool: c}]}
    decode: {pools: [{pool: b, value: 2}, {pool: a}]}
`))
	want := []string{
		`s.yaml:1: limits.jsondepth: unknown key; did you mean json_depth?`,
		`s.yaml:1: limits.body: "lots" is not a size; the unit lots is not known, use B, KiB, MiB or GiB`,
		`s.yaml:4: pools.a.modl: unknown key; did you mean model?`,
		`s.yaml:5: pools.a.replicas: is the value "http://a", not a list; write each element on an indented line that begins with "- "`,
		`s.yaml:6: pools.a.cap.total: is 0; must be at least 1`,
		`s.yaml:7: pools.b: is the value "7", not a map; write indented lines "key: value"; the keys are model, size, accelerator, replicas, cap, engine, api_key, ca, tokenizer, implicit_route`,
		`s.yaml:10: routes.r.prefill.pools[0].pool: there is no pool "c"; use a or b`,
		`s.yaml:11: routes.r.decode.pools[0].value: is 2; must be more than 0 and at most 1`,
	}
	if got := strings.Split(err.Error(), "\n"); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
	var ps Problems
	if !errors.As(err, &ps) || len(ps) != len(want) || ps[4].Line != 6 || ps[4].Path != "pools.a.cap.total" {
		t.Errorf("got %+v, want Problems with lines and paths", ps)
	}
}

// A key written where its hash belongs must not end up in a log.
func TestKeysAreNotShown(t *testing.T) {
	f := func(key string) {
		t.Helper()
		_, err := Parse("s.yaml", []byte(small+"tenants: {a: {key_sha256: ["+key+"]}}\n"))
		if !says(err, "is not a SHA-256") || strings.Contains(err.Error(), key) {
			t.Errorf("%s: got %v", key, err)
		}
	}
	f("sk-secret")
	f("123456789")
	f("yes")
}
