package tune

import (
	"strings"
	"testing"
	"time"

	"sluice/config"
	"sluice/router"
)

// pool is a configuration with the pool p, which serves the route r.
func pool(size string, change func(*config.Pool, *config.Route)) *config.Config {
	cfg := config.Default()
	p, rt := config.DefaultPool(size), config.DefaultRoute()
	p.Accelerator, p.Cap = "v6e-2x2", config.Cap{Total: 64}
	p.Engine.MaxModelLen, p.Engine.MaxNumSeqs, p.Engine.MaxNumBatchedTokens, p.Engine.PaddingGap = 32768, 128, 8192, 128
	rt.Prefill.Pools = []config.Preference{{Pool: "p"}}
	rt.Decode.Pools = []config.Preference{{Pool: "p"}}
	change(&p, &rt)
	cfg.Pools["p"], cfg.Routes["r"] = p, rt
	return &cfg
}

// sizes are requests of the same lengths.
func sizes(n, prompt, answer float64) Sizes {
	return Sizes{Points{{prompt, n}}, Points{{answer, n}}}
}

// decided finds a setting's proposal.
func decided(t *testing.T, rep Report, setting string) Proposal {
	t.Helper()
	if rep.Problem != "" {
		t.Fatalf("nothing was proposed: %s", rep.Problem)
	}
	for _, p := range rep.Proposals {
		if p.Setting == setting {
			return p
		}
	}
	t.Fatalf("there is no proposal of %s", setting)
	return Proposal{}
}

func says(t *testing.T, p Proposal, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(p.Reason+" | "+p.Effect+" | "+p.Flag+" | "+strings.Join(p.Table, "\n"), part) {
			t.Errorf("%s: no %q in %+v", p.Setting, part, p)
		}
	}
}

// Prompts of 4,000 tokens beside 128 decodes without a gap pad to 8,192.
func TestPaddingOfMixedSteps(t *testing.T) {
	cfg := pool("gemma-3-27b", func(p *config.Pool, _ *config.Route) { p.Engine.PaddingGap = 0 })
	replica := made(t, `vllm:iteration_tokens_total_bucket{le="64"} 0
vllm:iteration_tokens_total_bucket{le="128"} 500
vllm:iteration_tokens_total_bucket{le="4096"} 500
vllm:iteration_tokens_total_bucket{le="8192"} 1000
vllm:iteration_tokens_total_sum %d
vllm:generation_tokens_total %d
`, 500*(128+4128), 1000*128)
	traffic := Seen("p", nil, []*Metrics{replica})
	traffic.Prefill, traffic.Decode = sizes(500, 4000, 10), sizes(500, 500, 1000)
	p := decided(t, Pool(cfg, "p", traffic, 1), "engine.padding_gap")
	if p.From != 0 || p.To != 128 && p.To != 256 {
		t.Errorf("got %d → %d, want 0 → 128 or 256", p.From, p.To)
	}
	says(t, p, "VLLM_TPU_BUCKET_PADDING_GAP=", "less time (modelled)", "gap    0:  9", "10 sizes to compile")
	if p.Samples != 1000 || !strings.HasPrefix(p.Trust, "fair: 1000 steps") {
		t.Errorf("rests on %d, %s", p.Samples, p.Trust)
	}
}

// What a KV cache doesn't hold is preempted: the cap comes down to what fits.
func TestCapAboveTheMemory(t *testing.T) {
	cfg := pool("gemma-3-27b", func(p *config.Pool, rt *config.Route) {
		p.Cap.Total, rt.Decode.SLO.TPOT = 128, 200*time.Millisecond
	})
	traffic := Traffic{Late: -1, Decode: sizes(1000, 500, 1000), Finished: 1000, Preemptions: 300, Pages: 21589, Page: 32}
	rep := Pool(cfg, "p", traffic, 1)
	p := decided(t, rep, "cap.total")
	if p.From != 128 || p.To != 88 { // 21,589 pages of 32 tokens, 245 of them for 1,500 tokens
		t.Errorf("got %d → %d, want 128 → 88", p.From, p.To)
	}
	says(t, p, "the KV cache holds 88", "preempted 300 times in 1000 requests", "(modelled)")
	says(t, decided(t, rep, "engine.max_num_seqs"), "1500 tokens need 245 pages, 88 such sequences fit")
	two := decided(t, Pool(pool("gemma-3-27b", func(p *config.Pool, rt *config.Route) {
		p.Cap.Total, rt.Decode.SLO.TPOT = 64, 200*time.Millisecond
	}), "p", traffic, 2), "cap.total")
	if two.From != 64 || two.To != 44 {
		t.Errorf("for two gateways: got %d → %d, want 64 → 44", two.From, two.To)
	}
}

// At 40 ms a token the SLO ends before the memory does.
func TestCapBeyondTheKnee(t *testing.T) {
	cfg := pool("gemma-3-27b", func(p *config.Pool, rt *config.Route) {
		p.Cap.Total, rt.Decode.SLO.TPOT = 80, 40*time.Millisecond
	})
	p := decided(t, Pool(cfg, "p", Traffic{Late: -1, Decode: sizes(5000, 500, 1000)}, 1), "cap.total")
	if p.To < 40 || p.To > 64 {
		t.Errorf("got %d → %d, want about 50", p.From, p.To)
	}
	says(t, p, "with 80 held 0 % of decode keep their SLO", "goodput")
}

// Thirty classifications at a time take longer than their SLO allows.
func TestCapOfPrefill(t *testing.T) {
	cfg := pool("gemma-3-27b", func(p *config.Pool, _ *config.Route) { p.Cap.Prefill = 64 })
	rep := Pool(cfg, "p", Traffic{Late: 0.2, Prefill: sizes(5000, 4000, 10)}, 1)
	p := decided(t, rep, "cap.prefill")
	if p.To < 16 || p.To >= 32 {
		t.Errorf("got %d → %d, want 16 to 31", p.From, p.To)
	}
	if total := decided(t, rep, "cap.total"); total.Changes() {
		t.Errorf("without generation the total is left alone, got %+v", total)
	}
}

// Many sequences force large pages; those that the caps need leave more room.
func TestFewerSequencesMakeSmallerPages(t *testing.T) {
	cfg := pool("gemma-3-27b", func(p *config.Pool, rt *config.Route) {
		p.Engine.MaxModelLen, p.Engine.MaxNumSeqs, rt.Decode.SLO.TPOT = 128000, 512, 200*time.Millisecond
	})
	p := decided(t, Pool(cfg, "p", Traffic{Late: -1, Decode: sizes(1000, 3000, 1000), Finished: 1000, Preemptions: 100}, 1), "engine.max_num_seqs")
	if p.From != 512 || p.To != 64 {
		t.Errorf("got %d → %d, want 512 → 64", p.From, p.To)
	}
	says(t, p, "--max-num-seqs 64", "pages of 64 tokens instead of 512")
}

// A cap below the knee is raised, but only for those who wait.
func TestCapBelowTheKnee(t *testing.T) {
	cfg := pool("gemma-3-12b", func(p *config.Pool, _ *config.Route) { p.Cap.Total = 32 })
	traffic := Traffic{Late: 0.3, Decode: sizes(1000, 500, 500)}
	rep := Pool(cfg, "p", traffic, 1)
	p, seqs := decided(t, rep, "cap.total"), decided(t, rep, "engine.max_num_seqs")
	if p.To <= 128 || p.To > seqs.To || p.To > 200 {
		t.Errorf("got %d → %d with %d sequences in the engine, want 128 to 200 and no more than those", p.From, p.To, seqs.To)
	}
	traffic.Late = 0
	p = decided(t, Pool(cfg, "p", traffic, 1), "cap.total")
	if p.Changes() {
		t.Errorf("nobody waits, got %d → %d", p.From, p.To)
	}
	says(t, p, "nobody waits: 0.0 % of the requests")
}

// The recorded traffic gains nothing anywhere, and says why.
func TestNothingToGain(t *testing.T) {
	cfg := pool("gemma-3-12b", func(p *config.Pool, _ *config.Route) { p.Cap = config.Cap{Total: 128, Prefill: 32} })
	cfg.Pools["gemma-12b"] = cfg.Pools["p"]
	rep := Pool(cfg, "gemma-12b", Seen("gemma-12b", recorded(t, "gateway"), []*Metrics{recorded(t, "replica-12b")}), 1)
	if rep.Problem != "" || len(rep.Notes) > 0 || len(rep.Proposals) < 5 {
		t.Fatalf("got %+v", rep)
	}
	for _, p := range rep.Proposals {
		if p.Changes() || p.Reason == "" || p.Effect != "" || p.Flag != "" {
			t.Errorf("got %+v", p)
		}
	}
}

func TestProblems(t *testing.T) {
	f := func(traffic Traffic, want string, change func(*config.Pool, *config.Route)) {
		t.Helper()
		if rep := Pool(pool("gemma-3-27b", change), "p", traffic, 1); !strings.Contains(rep.Problem+strings.Join(rep.Notes, ""), want) {
			t.Errorf("got %q, want %q", rep.Problem, want)
		}
	}
	enough := Traffic{Late: -1, Decode: sizes(1000, 500, 100)}
	same := func(*config.Pool, *config.Route) {}
	f(Traffic{}, "only 0 requests were seen, 50 are needed", same)
	f(enough, "max_num_seqs=0", func(p *config.Pool, _ *config.Route) { p.Engine.MaxNumSeqs = 0 })
	f(enough, "pools.p: slice \"v7x\" is not in the tables", func(p *config.Pool, _ *config.Route) { p.Accelerator = "v7x" })
	f(enough, "lower max-model-len", func(p *config.Pool, _ *config.Route) { p.Accelerator = "v6e-1x1" })
	enough.Page, enough.Pages = 512, 1000
	f(enough, "pools.p.engine doesn't say what they were started with", same)
}

// The strictest promise counts; where no route has the pool, the default's.
func TestStrictest(t *testing.T) {
	cfg := pool("gemma-3-27b", func(_ *config.Pool, rt *config.Route) { rt.Decode.SLO.TTFT = 9 * time.Second })
	other := config.DefaultRoute()
	other.Decode.Pools = []config.Preference{{Pool: "q"}, {Pool: "p"}}
	other.Decode.SLO = config.SLO{TTFT: 4 * time.Second, TPOT: 80 * time.Millisecond}
	cfg.Routes["s"] = other
	if got := strictest(cfg, "p", router.Decode); got.TTFT != 4*time.Second || got.TPOT != 50*time.Millisecond {
		t.Errorf("got %+v", got)
	}
	if got := strictest(cfg, "none", router.Prefill); got != config.DefaultRoute().Prefill.SLO {
		t.Errorf("of no route: got %+v", got)
	}
}
