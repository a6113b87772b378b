package router

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/config"
	"sluice/router/tpu"
)

// uvicornKeepAlive is how long vLLM's HTTP server keeps an idle connection.
const uvicornKeepAlive = 5 * time.Second

// Advise warns of what is valid but what replicas or users would punish, for
// `sluice check`. Each warning names the setting's path and its number. The
// list is in the order of the file; empty: nothing to say.
func Advise(cfg *config.Config) []string {
	a := &adviser{cfg: cfg}
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		a.pool(name, cfg.Pools[name])
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Routes)) {
		a.route(name, cfg.Routes[name], Prefill)
		a.route(name, cfg.Routes[name], Decode)
	}
	if idle := cfg.Timeouts.IdleReplica; idle >= uvicornKeepAlive {
		a.warn("timeouts.idle_replica: %s, but vLLM's server closes an idle connection after %s, so that requests meet closed connections; stay below it",
			idle, uvicornKeepAlive)
	}
	return a.warnings
}

// adviser collects warnings.
type adviser struct {
	cfg      *config.Config
	warnings []string
}

func (a *adviser) warn(format string, args ...any) {
	a.warnings = append(a.warnings, fmt.Sprintf(format, args...))
}

// pool judges a pool by itself.
func (a *adviser) pool(name string, p config.Pool) {
	e, path := p.Engine, "pools."+name
	if e.MaxNumSeqs > 0 && p.Cap.Total > e.MaxNumSeqs {
		a.warn("%s.cap.total: %d, but the engine runs at most %d sequences (%s.engine.max_num_seqs): the rest would wait inside vLLM, unseen; lower the cap to %d",
			path, p.Cap.Total, e.MaxNumSeqs, path, e.MaxNumSeqs)
	}
	if e.PaddingGap%128 != 0 {
		a.warn("%s.engine.padding_gap: %d is not a multiple of 128, the only gaps that vLLM recommends for TPU", path, e.PaddingGap)
	}
	a.size(path, p)
}

// size judges what the tables of router/tpu know about a pool.
func (a *adviser) size(path string, p config.Pool) {
	model, known := tpu.ModelOf(p.Size)
	if !known {
		a.warn("%s.size: %q is not in the tables (%s), so its caps can't be checked against its memory",
			path, p.Size, strings.Join(tpu.Models(), ", "))
	} else if p.Engine.MaxModelLen > model.MaxContext {
		a.warn("%s.engine.max_model_len: %d, but %s was trained for %d tokens", path, p.Engine.MaxModelLen, p.Size, model.MaxContext)
	}
	if _, ok := tpu.SliceOf(p.Accelerator); !ok {
		a.warn("%s.accelerator: %q is not in the tables (%s), so its caps can't be checked against its memory",
			path, p.Accelerator, strings.Join(tpu.Slices(), ", "))
	}
	if p.Engine.MaxModelLen == 0 || p.Engine.MaxNumSeqs == 0 {
		a.warn("%s.engine: max_model_len=%d and max_num_seqs=%d; 0 means not known, so its caps can't be checked against its memory",
			path, p.Engine.MaxModelLen, p.Engine.MaxNumSeqs)
	}
}

// route judges a route's class by its typical sizes.
func (a *adviser) route(name string, rt config.Route, class Class) {
	policy, typical := classOf(rt, class), typicalOf(name, rt, class)
	for i, pref := range policy.Pools {
		p, ok := a.cfg.Pools[pref.Pool]
		if !ok {
			continue // Validate's business
		}
		if i == 0 && p.Engine.MaxModelLen > 0 && typical.total() > p.Engine.MaxModelLen {
			a.warn("%s: a typical request has %d tokens, but pools.%s.engine.max_model_len=%d, so the first choice can't serve it; put a pool with a longer context first",
				typical.path, typical.total(), pref.Pool, p.Engine.MaxModelLen)
		}
		a.memory(pref.Pool, p, typical)
	}
	slo := policy.SLO.Limit(typical.in)
	if wait := policy.Queue.MaxWait; wait > slo && slo > 0 {
		a.warn("routes.%s.%s.queue.max_wait: %s is longer than the SLO of a typical request (%s): who waits that long is late already; leave it 0 for what the SLO leaves",
			name, class, wait, slo)
	}
}

// typical is the usual size of a route's requests of a class.
type typical struct {
	path    string // of the setting
	class   Class
	in, out int // tokens
}

func (t typical) total() int { return t.in + t.out }

func typicalOf(name string, rt config.Route, class Class) typical {
	t := typical{path: "routes." + name + ".typical." + class.String(), class: class}
	t.in, t.out = rt.Typical.DecodeTokensIn, rt.Typical.DecodeTokensOut
	if class == Prefill {
		t.in, t.out = rt.Typical.PrefillTokensIn, rt.Typical.PrefillTokensOut
	}
	return t
}

// memory compares a class's cap with what the KV cache holds of typical
// requests, all at their full length.
func (a *adviser) memory(name string, cfg config.Pool, t typical) {
	model, modelKnown := tpu.ModelOf(cfg.Size)
	slice, sliceKnown := tpu.SliceOf(cfg.Accelerator)
	e := cfg.Engine
	if !modelKnown || !sliceKnown || e.MaxModelLen == 0 || e.MaxNumSeqs == 0 || t.total() < 1 {
		return
	}
	p := pool{cfg: cfg}
	page := tpu.PageSize(e.MaxModelLen, e.MaxNumSeqs)
	holds := tpu.Replica{Model: model, Slice: slice, Page: page}.MaxSequences(t.total())
	if limit := p.capOf(t.class); limit > holds {
		a.warn("pools.%s.cap.%s: %d, but the KV cache of %s on %s holds %d sequences of %d tokens (%s; modelled, pages of %d tokens): vLLM would preempt; lower the cap, or engine.max_num_seqs=%d for smaller pages",
			name, p.capName(t.class), limit, cfg.Size, cfg.Accelerator, holds, t.total(), t.path, page, e.MaxNumSeqs)
	}
}
