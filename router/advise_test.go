package router

import (
	"strings"
	"testing"
	"time"

	"sluice/config"
)

// soundConfig is a file that nothing is to be said against.
func soundConfig() *config.Config {
	cfg := config.Default()
	engine := config.Engine{MaxModelLen: 32768, MaxNumSeqs: 128, MaxNumBatchedTokens: 8192, PaddingGap: 128}
	cfg.Pools["big"] = config.Pool{Size: "gemma-3-27b", Accelerator: "v6e-2x2", Cap: config.DefaultCap("gemma-3-27b"), Engine: engine}
	cfg.Pools["fast"] = config.Pool{Size: "gemma-3-12b", Accelerator: "v6e-2x2", Cap: config.DefaultCap("gemma-3-12b"), Engine: engine}
	rt := config.DefaultRoute()
	rt.Prefill.Pools = []config.Preference{{Pool: "big"}, {Pool: "fast"}}
	rt.Decode.Pools = []config.Preference{{Pool: "fast"}, {Pool: "big"}}
	cfg.Routes["gemma"] = rt
	return &cfg
}

func TestAdvise(t *testing.T) {
	pool := func(change func(*config.Pool)) func(*config.Config) {
		return func(cfg *config.Config) {
			p := cfg.Pools["big"]
			change(&p)
			cfg.Pools["big"] = p
		}
	}
	route := func(change func(*config.Route)) func(*config.Config) {
		return func(cfg *config.Config) {
			rt := cfg.Routes["gemma"]
			change(&rt)
			cfg.Routes["gemma"] = rt
		}
	}
	for _, c := range []struct {
		name   string
		change func(*config.Config)
		want   []string // parts of the first warning; none: no warning
	}{
		{"sound", func(*config.Config) {}, nil},
		{"cap above max_num_seqs", pool(func(p *config.Pool) { p.Engine.MaxNumSeqs = 32 }),
			[]string{"pools.big.cap.total: 64", "pools.big.engine.max_num_seqs", "32"}},
		{"cap above the KV cache", pool(func(p *config.Pool) { p.Engine.MaxModelLen, p.Engine.MaxNumSeqs = 128000, 512 }),
			[]string{"pools.big.cap.total: 64", "holds 60 sequences of 4010 tokens", "routes.gemma.typical.prefill", "pages of 512"}},
		{"unknown size", pool(func(p *config.Pool) { p.Size = "llama" }), []string{"pools.big.size", `"llama"`, "gemma-3-27b"}},
		{"unknown accelerator", pool(func(p *config.Pool) { p.Accelerator = "v9" }), []string{"pools.big.accelerator", `"v9"`, "v6e-2x2"}},
		{"engine not described", pool(func(p *config.Pool) { p.Engine.MaxNumSeqs = 0 }), []string{"pools.big.engine", "max_num_seqs=0"}},
		{"context beyond the model", pool(func(p *config.Pool) { p.Engine.MaxModelLen = 200000 }),
			[]string{"pools.big.engine.max_model_len: 200000", "131072"}},
		{"odd padding gap", pool(func(p *config.Pool) { p.Engine.PaddingGap = 100 }), []string{"pools.big.engine.padding_gap: 100", "128"}},
		{"typical size beyond the context", pool(func(p *config.Pool) { p.Engine.MaxModelLen = 4000 }),
			[]string{"routes.gemma.typical.prefill", "4010 tokens", "pools.big.engine.max_model_len=4000"}},
		{"wait beyond the SLO", route(func(rt *config.Route) { rt.Decode.Queue.MaxWait = 5 * time.Second }),
			[]string{"routes.gemma.decode.queue.max_wait: 5s", "2.125s"}},
		{"idle too long", func(cfg *config.Config) { cfg.Timeouts.IdleReplica = 5 * time.Second }, []string{"timeouts.idle_replica: 5s"}},
	} {
		cfg := soundConfig()
		c.change(cfg)
		got := Advise(cfg)
		if len(got) > 0 != (c.want != nil) {
			t.Errorf("%s: got %q", c.name, got)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(got[0], part) {
				t.Errorf("%s: %q does not say %q", c.name, got[0], part)
			}
		}
	}
}
