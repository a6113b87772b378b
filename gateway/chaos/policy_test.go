package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"sluice/config"
)

// policy is what the configuration of a seed may change.
type policy struct {
	big, fast   []string // replicas
	capBig      int
	capFast     int
	prefillFast int // class cap
	queue       int
	wait        time.Duration
	after       bool // retry.after_dispatch
	promises    bool // an SLO
	goesOn      bool // on_break: continue
}

var (
	bigReplicas  = []string{"http://10.0.0.1:8000", "http://10.0.0.2:8000"}
	fastReplicas = []string{"http://10.0.1.1:8000", "http://10.0.1.2:8000"}
)

func firstPolicy(rng *rand.Rand) *policy {
	return &policy{
		big: bigReplicas, fast: fastReplicas, capBig: 1 + rng.IntN(4), capFast: 2 + rng.IntN(5),
		prefillFast: 1 + rng.IntN(2), queue: pick(rng, 2, 5, 20), wait: 1 + upTo(rng, 4*time.Second),
		after: chance(rng, 20), promises: chance(rng, 20), goesOn: chance(rng, 60),
	}
}

// change is another policy, for a reload, and what it is called in the story.
func (p policy) change(rng *rand.Rand) (*policy, string) {
	switch rng.IntN(7) {
	case 0:
		if p.fast = fastReplicas; chance(rng, 50) {
			p.fast = nil
		}
	case 1:
		p.big = bigReplicas[:1+rng.IntN(2)]
	case 2:
		if p.fast != nil {
			p.fast = slices.Clone(fastReplicas[rng.IntN(2):])
		}
	case 3:
		p.queue = pick(rng, 0, 2, 20)
	case 4:
		p.goesOn = !p.goesOn
	default:
		p.capBig, p.capFast = 1+rng.IntN(4), 2+rng.IntN(5)
	}
	return &p, fmt.Sprintf("%d big cap %d, %d fast cap %d, queue %d, goes on %t", len(p.big), p.capBig, len(p.fast), p.capFast, p.queue, p.goesOn)
}

// pools is the replicas' caps; 0: it isn't in the configuration.
func (p *policy) capOf(address string) int {
	switch {
	case slices.Contains(p.big, address):
		return p.capBig
	case slices.Contains(p.fast, address):
		return p.capFast
	}
	return 0
}

// allows tells whether a queue's requests may go to a pool.
func (p *policy) allows(route, pin, pool string) bool {
	if pin != "" {
		return pin == pool
	}
	return route == "m" || pool == "fast"
}

func (p *policy) classCap(pool, class string) int {
	if pool == "fast" && class == "prefill" {
		return min(p.prefillFast, p.capFast)
	}
	return 1 << 20
}

// config is the policy as a configuration.
func (p *policy) config() *config.Config {
	cfg, err := config.Parse("seed.yaml", []byte(p.yaml()))
	if err != nil {
		panic("BUG: a seed's configuration is refused: " + err.Error() + p.yaml())
	}
	return cfg
}

func (p *policy) yaml() string {
	const whole, tokens = "ttft: 1500ms", "ttft: 800ms, tpot: 40ms"
	onBreak := map[bool]string{true: "continue", false: "end"}[p.goesOn]
	class := func(slo string, pools ...string) string {
		var list []string
		for _, name := range pools {
			if name == "big" || p.fast != nil {
				list = append(list, "{pool: "+name+"}")
			}
		}
		if !p.promises {
			slo = strings.NewReplacer("1500ms", "0s, ttft_per_1k: 0s", "800ms", "0s, ttft_per_1k: 0s", "40ms", "0s").Replace(slo)
		}
		return fmt.Sprintf("{pools: [%s], queue: {max_waiting: %d, max_wait: %s}, slo: {%s}, on_break: %s}", strings.Join(list, ", "), p.queue, p.wait, slo, onBreak)
	}
	text := fmt.Sprintf(`
listeners: {data: {address: "127.0.0.1:8080"}, ops: {address: "127.0.0.1:8081"}, control: {address: "127.0.0.1:8082"}}
health: {interval: 2s, timeout: 1s, failures_open: 3, open_for: 2s}
retry: {budget: 0.5, budget_min: 5, after_dispatch: %t}
timeouts: {read_headers: 4s, read_body: 3s, first_event: 4s, between_events: 3s, per_token_unstreamed: 1ms, write_stall: 4s, drain: 5s, idle_client: 5s}
pools:
  big: {model: served-big, replicas: [%s], cap: {total: %d}, engine: {max_model_len: 4000}}
`, p.after, strings.Join(p.big, ", "), p.capBig)
	if p.fast != nil {
		text += fmt.Sprintf("  fast: {model: served-fast, replicas: [%s], cap: {total: %d, prefill: %d}, engine: {max_model_len: 4000}}\n",
			strings.Join(p.fast, ", "), p.capFast, min(p.prefillFast, p.capFast))
	}
	text += fmt.Sprintf("routes:\n  m: {prefill: %s, decode: %s}\n", class(whole, "big", "fast"), class(tokens, "fast", "big"))
	if p.fast != nil {
		text += fmt.Sprintf("  quick: {prefill: %s, decode: %s}\n", class(whole, "fast"), class(tokens, "fast"))
	}
	return text
}
