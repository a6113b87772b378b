package config

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The classes an operator can name.
const (
	classPrefill = "prefill"
	classDecode  = "decode"
)

func (v *checker) routes() {
	for _, name := range sortedNames(v.cfg.Routes) {
		at, route := "routes."+name, v.cfg.Routes[name]
		v.model(at, name)
		v.implicit(at, name)
		v.route(at, route)
	}
	v.reachable()
}

// implicit refuses a route that hides a pool's own name, or is hidden by it.
func (v *checker) implicit(at, route string) {
	for _, name := range sortedNames(v.cfg.Pools) {
		if pool := v.cfg.Pools[name]; pool.Implicit && pool.Model == route {
			v.add(at, fmt.Sprintf("is also the model of pool %s, whose name is a route of its own", name),
				fmt.Sprintf("rename the route, or set pools.%s.implicit_route: false", name))
		}
	}
}

// reachable demands that applications have a name to ask for.
func (v *checker) reachable() {
	for _, pool := range v.cfg.Pools {
		if pool.Implicit {
			return
		}
	}
	v.check(len(v.cfg.Routes) > 0 || len(v.cfg.Pools) == 0, "routes", "lists none, and no pool has an implicit route, so nothing can be asked for",
		"add a route, or remove implicit_route: false from a pool")
}

func (v *checker) route(at string, r Route) {
	v.oneOf(at+".class", r.Class, "", classPrefill, classDecode)
	v.routeClass(at, classPrefill, r.Prefill, r.Class)
	v.routeClass(at, classDecode, r.Decode, r.Class)
	for _, n := range []struct {
		key string
		got int
	}{
		{"prefill_tokens_in", r.Typical.PrefillTokensIn},
		{"prefill_tokens_out", r.Typical.PrefillTokensOut},
		{"decode_tokens_in", r.Typical.DecodeTokensIn},
		{"decode_tokens_out", r.Typical.DecodeTokensOut},
	} {
		v.min(at+".typical."+n.key, n.got, 1)
	}
}

// routeClass checks one class of a route. A route serves both classes unless
// its class is fixed: a request of a class without pools could only be refused.
func (v *checker) routeClass(route, class string, c RouteClass, fixed string) {
	at := route + "." + class
	if len(c.Pools) == 0 && (fixed == "" || fixed == class) {
		fix := "list them in order of preference: - pool: NAME"
		if fixed == "" {
			fix += fmt.Sprintf("; or set %s.class: %s, if the route is for that alone", route, otherClass(class))
		}
		v.add(at+".pools", "lists none, so no request of class "+class+" could be served", fix)
	}
	v.preferences(at, c.Pools)
	v.min(at+".queue.max_waiting", c.Queue.MaxWaiting, 0)
	v.size(at+".queue.max_bytes", c.Queue.MaxBytes, 0)
	v.notNegative(at+".queue.max_wait", c.Queue.MaxWait)
	v.positive(at+".queue.batch_wait", c.Queue.BatchWait)
	v.slo(at+".slo", class, c.SLO)
	v.oneOf(at+".on_slo_miss", c.OnSLOMiss, MissServe, MissRefuse)
	v.check(c.OnSLOMiss != MissRefuse || c.SLO.TTFT != 0, at+".on_slo_miss", "is refuse, but slo.ttft is 0s, so nothing is promised that could be missed",
		"set "+at+".slo.ttft, or remove on_slo_miss")
	v.oneOf(at+".on_break", c.OnBreak, BreakEnd, BreakContinue)
}

func otherClass(class string) string {
	if class == classPrefill {
		return classDecode
	}
	return classPrefill
}

func (v *checker) slo(at, class string, s SLO) {
	v.notNegative(at+".ttft", s.TTFT)
	v.notNegative(at+".ttft_per_1k", s.TTFTPer1K)
	if class == classDecode {
		v.notNegative(at+".tpot", s.TPOT)
		return
	}
	v.check(s.TPOT == 0, at+".tpot", "has no meaning for class prefill, whose ttft is to the whole answer", "remove it, or raise ttft")
}

func (v *checker) preferences(at string, list []Preference) {
	seen := map[string]bool{}
	for i, p := range list {
		here := fmt.Sprintf("%s.pools[%d]", at, i)
		v.check(p.Value > 0 && p.Value <= 1, here+".value", fmt.Sprintf("is %v", p.Value), "must be more than 0 and at most 1")
		v.known(here+".pool", p.Pool, "pool", sortedNames(v.cfg.Pools))
		v.check(!seen[p.Pool], here+".pool", clip(p.Pool)+" is listed twice", "keep its better place")
		seen[p.Pool] = true
	}
}

// known demands the name of an entry.
func (v *checker) known(at, name, kind string, names []string) {
	switch near := nearest(name, names); {
	case slices.Contains(names, name):
	case name == "":
		v.add(at, "is missing", "write the name of a "+kind)
	case near != "":
		v.add(at, fmt.Sprintf("there is no %s %s", kind, clip(name)), "did you mean "+near+"?")
	case len(names) == 0:
		v.add(at, fmt.Sprintf("there is no %s %s", kind, clip(name)), "add it under "+kind+"s")
	default:
		v.add(at, fmt.Sprintf("there is no %s %s", kind, clip(name)), "use "+orList(names))
	}
}

func (v *checker) classification() {
	v.check(v.cfg.Classification.W > 0 && v.cfg.Classification.W <= 10000, "classification.w", fmt.Sprintf("is %v", v.cfg.Classification.W),
		"must be more than 0 and at most 10000")
	for i, rule := range v.cfg.Classification.Rules {
		v.rule(fmt.Sprintf("classification.rules[%d]", i), rule)
	}
}

func (v *checker) rule(at string, r Rule) {
	if r.Class == "" {
		v.add(at+".class", "is missing", "write prefill or decode")
	} else {
		v.oneOf(at+".class", r.Class, classPrefill, classDecode)
	}
	if r.Route != "" {
		v.known(at+".route", r.Route, "route", v.cfg.askable())
	}
	if r.Tenant != "" {
		v.known(at+".tenant", r.Tenant, "tenant", sortedNames(v.cfg.Tenants))
	}
	v.min(at+".min_tokens_in", r.MinTokensIn, 0)
	v.min(at+".max_tokens_in", r.MaxTokensIn, 0)
	v.min(at+".max_tokens_out", r.MaxTokensOut, 0)
	v.check(r.MaxTokensIn <= 0 || r.MinTokensIn <= r.MaxTokensIn, at+".min_tokens_in",
		fmt.Sprintf("is %d, more than max_tokens_in (%d), so nothing matches", r.MinTokensIn, r.MaxTokensIn), "swap them")
}

// askable is every model name that applications can ask for.
func (c *Config) askable() []string {
	names := sortedNames(c.Routes)
	for _, pool := range sortedNames(c.Pools) {
		if c.Pools[pool].Implicit {
			names = append(names, c.Pools[pool].Model)
		}
	}
	return names
}

var hexSHA256 = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

func (v *checker) tenants() {
	seen := map[string]string{} // hash → tenant
	for _, name := range sortedNames(v.cfg.Tenants) {
		at, tenant := "tenants."+name, v.cfg.Tenants[name]
		v.entry(at, name)
		v.check(tenant.Weight > 0 && tenant.Weight <= 1e6, at+".weight", fmt.Sprintf("is %v", tenant.Weight), "must be more than 0 and at most 1000000")
		v.oneOf(at+".priority", tenant.Priority, PriorityInteractive, PriorityBatch)
		v.check(len(tenant.KeySHA256) > 0, at+".key_sha256", "lists none, so nobody can be this tenant", "add the output of: printf %s \"$KEY\" | sha256sum")
		for i, hash := range tenant.KeySHA256 {
			v.hash(fmt.Sprintf("%s.key_sha256[%d]", at, i), name, hash, seen)
		}
	}
}

// hash never repeats what it finds: it may be the key itself.
func (v *checker) hash(at, tenant, hash string, seen map[string]string) {
	if !hexSHA256.MatchString(hash) {
		v.add(at, fmt.Sprintf("is not a SHA-256 in hexadecimal (%d characters, want 64)", len(hash)),
			"write the output of: printf %s \"$KEY\" | sha256sum; never the key itself")
		return
	}
	hash = strings.ToLower(hash)
	first, twice := seen[hash]
	v.check(!twice, at, "is the key of tenant "+first+" already", "give each tenant keys of its own, each once")
	seen[hash] = tenant
}

// neverRelayed are paths of vLLM that control a replica or tell of it.
var neverRelayed = []string{
	"/abort_requests", "/collective_rpc", "/health", "/is_scaling_elastic_ep", "/is_sleeping", "/load", "/metrics", "/pause", "/ping",
	"/reset_mm_cache", "/reset_prefix_cache", "/resume", "/scale_elastic_ep", "/server_info", "/sleep", "/start_profile", "/stop_profile",
	"/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/version", "/wake_up",
}

func (v *checker) relay() {
	seen := map[string]bool{}
	for i, p := range v.cfg.Relay.ExtraPaths {
		at := fmt.Sprintf("relay.extra_paths[%d]", i)
		switch {
		case !strings.HasPrefix(p, "/") || path.Clean(p) != p || p == "/" || strings.ContainsAny(p, "?#%* "):
			v.add(at, clip(p)+" is not a plain path", "write it as a client sends it, such as /v1/audio/transcriptions")
		case slices.Contains(neverRelayed, p):
			v.add(at, p+" controls or describes a replica and is never relayed", "remove it")
		case seen[p]:
			v.add(at, p+" is listed twice", "keep one")
		}
		seen[p] = true
	}
	for i, origin := range v.cfg.Relay.AllowOrigins {
		v.check(origin == "*" || isOrigin(origin), fmt.Sprintf("relay.allow_origins[%d]", i), clip(origin)+" is not an origin",
			"write it as browsers do: https://host or https://host:port, in small letters, without a path or a usual port; or \"*\" for any")
	}
}

// isOrigin tells whether a browser would call a page's origin so. That of pages
// without one ("null") can't be told from a stranger's.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || text != strings.ToLower(u.Scheme+"://"+u.Host) {
		return false
	}
	return !strings.Contains(text, "*") && (u.Scheme != "http" || u.Port() != "80") && (u.Scheme != "https" || u.Port() != "443")
}
