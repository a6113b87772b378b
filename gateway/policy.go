package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"sluice/config"
	"sluice/gateway/openai"
	"sluice/gateway/tokens"
)

// policy is what the handler needs of a configuration, looked up by the names
// that clients use. It is built whole, never changed, and swapped at a reload.
type policy struct {
	cfg     *config.Config
	models  map[string]*model // by the names that applications use: routes, then served names
	tenants map[[sha256.Size]byte]string
	pools   map[string]poolPolicy
	extra   map[string]bool // relay.extra_paths
}

// model is a name that applications may put into "model".
type model struct {
	name      string
	route     string            // key of config.Routes; "" when pinned
	pool      string            // the pool it is pinned to; "" for a route
	estimator *openai.Estimator // of the model that its first pool serves
	tokenizer *tokens.Tokenizer // of its first pool; nil: prompts are estimated
	refused   map[string]string // field the engine can't take -> the setting that says so
	maxLen    int               // tokens: the largest context of its pools
}

// poolPolicy is what an attempt needs to know of a pool.
type poolPolicy struct {
	served string   // value of "model" that the replicas know
	strip  []string // fields taken out of the body
}

// policies holds the policy in force, and the estimators, which outlive it: what
// they learned of a served model is true after a reload too.
type policies struct {
	current    atomic.Pointer[policy]
	estimators map[string]*openai.Estimator // by served model; touched by build alone
	tokenizers tokenizers                   // likewise
}

func newPolicies() *policies {
	return &policies{estimators: make(map[string]*openai.Estimator)}
}

// get is the policy in force. A request takes it once and keeps it to its end.
func (ps *policies) get() *policy { return ps.current.Load() }

// build turns a configuration into a policy without putting it in force.
func (ps *policies) build(cfg *config.Config) (*policy, error) {
	p := &policy{
		cfg:    cfg,
		models: make(map[string]*model),
		pools:  make(map[string]poolPolicy),
		extra:  make(map[string]bool),
	}
	loaded, err := ps.tokenizers.of(cfg)
	if err != nil {
		return nil, err
	}
	ps.tokenizers = loaded
	for name, pool := range cfg.Pools {
		p.pools[name] = poolPolicy{served: pool.Model, strip: fieldsTo(pool, config.FieldStrip)}
		if pool.Implicit {
			p.models[pool.Model] = ps.model(cfg, pool.Model, "", name, []string{name})
		}
	}
	for name, route := range cfg.Routes {
		p.models[name] = ps.model(cfg, name, name, "", poolsOf(route))
	}
	for _, path := range cfg.Relay.ExtraPaths {
		p.extra[path] = true
	}
	p.tenants, err = tenantsByKey(cfg)
	return p, err
}

// model gathers what its pools have in common. A field is refused when any of
// them refuses it: the pool is chosen by token counts, not by fields.
func (ps *policies) model(cfg *config.Config, name, route, pool string, pools []string) *model {
	m := &model{name: name, route: route, pool: pool, refused: make(map[string]string)}
	for _, pn := range pools {
		pc := cfg.Pools[pn]
		if m.estimator == nil {
			m.estimator, m.tokenizer = ps.estimator(pc.Model), ps.tokenizers[pc.Tokenizer].Tokenizer
		}
		m.maxLen = max(m.maxLen, pc.Engine.MaxModelLen)
		for _, field := range fieldsTo(pc, config.FieldRefuse) {
			m.refused[field] = fmt.Sprintf("pools.%s.engine.fields.%s", pn, field)
		}
	}
	return m
}

// endpointOf is what the gateway serves at a path, those that the policy adds
// included.
func (p *policy) endpointOf(path string) openai.Endpoint {
	endpoint := openai.EndpointOf(path)
	if endpoint == openai.NoEndpoint && p.extra[path] {
		return openai.Extra
	}
	return endpoint
}

func (ps *policies) estimator(served string) *openai.Estimator {
	e := ps.estimators[served]
	if e == nil {
		e = openai.NewEstimator()
		ps.estimators[served] = e
	}
	return e
}

func fieldsTo(pool config.Pool, action string) []string {
	var fields []string
	for field, a := range pool.Engine.Fields {
		if a == action {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	return fields
}

// poolsOf lists the pools of a route, the first choice for prefill first.
func poolsOf(r config.Route) []string {
	var names []string
	for _, pref := range slices.Concat(r.Prefill.Pools, r.Decode.Pools) {
		if !slices.Contains(names, pref.Pool) {
			names = append(names, pref.Pool)
		}
	}
	return names
}

func tenantsByKey(cfg *config.Config) (map[[sha256.Size]byte]string, error) {
	tenants := make(map[[sha256.Size]byte]string)
	for name, t := range cfg.Tenants {
		for i, digits := range t.KeySHA256 {
			digest, err := hex.DecodeString(digits)
			if err != nil || len(digest) != sha256.Size {
				return nil, fmt.Errorf("tenants.%s.key_sha256[%d]: want 64 hex digits", name, i)
			}
			tenants[[sha256.Size]byte(digest)] = name
		}
	}
	return tenants, nil
}

// tenantOf finds whose key this is. With no tenants configured everyone is
// welcome, as the tenant "". The look-up is by digest, so its time says nothing
// about the key.
func (p *policy) tenantOf(key []byte) (name string, known bool) {
	if len(p.tenants) == 0 {
		return "", true
	}
	name, known = p.tenants[sha256.Sum256(key)]
	return name, known
}

// names are those that metrics may bear: what applications call, and pools.
func (p *policy) names() (routes, pools []string) {
	return slices.Sorted(maps.Keys(p.models)), slices.Sorted(maps.Keys(p.pools))
}
