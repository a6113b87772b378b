package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
)

// Load reads the file at path, lays the environment's SLUICE_ variables
// ("NAME=value", as os.Environ gives them) and the flags (dotted path to value:
// "pools.gemma-27b.cap.total") over it, and checks the whole. Variables and
// flags change entries of the file; they can't add a pool, route or tenant.
// The error is Problems, or that of reading the file. An empty path means that
// there is no file.
func Load(path string, env []string, flags map[string]any) (*Config, error) {
	r := newReader(path)
	if path == "" {
		return r.build(map[string]any{}, env, flags)
	}
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return r.build(r.file(data), env, flags)
}

// Parse is Load for a file's content that is at hand, with no environment and
// no flags. The name stands in the problems.
func Parse(name string, data []byte) (*Config, error) {
	r := newReader(name)
	return r.build(r.file(data), nil, nil)
}

// build lays the layers over each other, decodes them and checks the result.
// The tree is the file's; nil when nothing of the file can be used.
func (r *reader) build(file map[string]any, env []string, flags map[string]any) (*Config, error) {
	if file == nil {
		return nil, r.problems.err()
	}
	given, err := r.given(file, env, flags)
	if err != nil {
		return nil, fmt.Errorf("merge the configuration: %w", err)
	}
	cfg, err := decode(given)
	if err != nil {
		return nil, fmt.Errorf("decode the configuration: %w", err)
	}
	cfg.normalise()
	r.judge(cfg)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return cfg, nil
}

// given merges what the operator wrote: file, then environment, then flags.
func (r *reader) given(file map[string]any, env []string, flags map[string]any) (map[string]any, error) {
	k := koanf.New(delim)
	if err := k.Load(confmap.Provider(file, ""), nil); err != nil {
		return nil, err
	}
	over := overlay{reader: r, known: file}
	variables, err := over.environment(env)
	if err != nil {
		return nil, err
	}
	if err := k.Load(confmap.Provider(variables, ""), nil); err != nil {
		return nil, err
	}
	set := map[string]any{}
	for _, path := range sortedKeys(flags) {
		if keys, value := over.flag(path, flags[path]); keys != nil {
			set[strings.Join(keys, delim)] = value
		}
	}
	if err := k.Load(confmap.Provider(set, delim), nil); err != nil {
		return nil, err
	}
	return k.Raw(), nil
}

// decode lays what was given over the defaults and fills a Config. Every leaf
// has its type already, so nothing is converted here.
func decode(given map[string]any) (*Config, error) {
	k := koanf.New(delim)
	for _, layer := range []map[string]any{defaultsFor(given), given} {
		if err := k.Load(confmap.Provider(layer, ""), nil); err != nil {
			return nil, err
		}
	}
	cfg := &Config{}
	err := k.UnmarshalWithConf("", cfg, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: cfg, TagName: "yaml", Squash: true, ErrorUnused: true,
	}})
	return cfg, err
}

// defaultsFor is the lowest layer: the defaults, with those of each entry that
// was given.
func defaultsFor(given map[string]any) map[string]any {
	tree := structTree(Default())
	for name := range sub(given, "pools") {
		sub(tree, "pools")[name] = structTree(defaultPoolFor(sub(sub(given, "pools"), name)))
	}
	for name := range sub(given, "routes") {
		sub(tree, "routes")[name] = structTree(DefaultRoute())
		for _, class := range []string{"prefill", "decode"} {
			fillValues(sub(sub(sub(given, "routes"), name), class))
		}
	}
	for name := range sub(given, "tenants") {
		sub(tree, "tenants")[name] = structTree(DefaultTenant())
	}
	return tree
}

// defaultPoolFor fits the caps of classes under a total that the operator
// lowered: a default must not contradict what was written.
func defaultPoolFor(given map[string]any) Pool {
	size, _ := given["size"].(string)
	pool := DefaultPool(size)
	if total, ok := sub(given, "cap")["total"].(int); ok && total > 0 {
		pool.Cap.Prefill = min(pool.Cap.Prefill, total)
	}
	return pool
}

// fillValues gives the preferences of a class that have no value theirs.
// Elements of a list aren't merged, so this can't be a layer.
func fillValues(class map[string]any) {
	list, _ := class["pools"].([]any)
	for i, element := range list {
		if preference, ok := element.(map[string]any); ok && preference["value"] == nil {
			preference["value"] = DefaultValue(i)
		}
	}
}

// normalise gives each thing that has several spellings one.
func (c *Config) normalise() {
	for name, pool := range c.Pools {
		for i, url := range pool.Replicas {
			pool.Replicas[i] = normalURL(url)
		}
		for field, action := range pool.Engine.Fields {
			if action == fieldPass {
				delete(pool.Engine.Fields, field)
			}
		}
		c.Pools[name] = pool
	}
	for _, tenant := range c.Tenants {
		for i, hash := range tenant.KeySHA256 {
			tenant.KeySHA256[i] = strings.ToLower(hash)
		}
	}
}

// judge adds what Validate finds to what reading found, less what follows from
// it, and puts all in the order of the file.
func (r *reader) judge(cfg *Config) {
	r.forgiveSecrets(cfg)
	found := r.problems
	for _, p := range cfg.problems() {
		if !slices.ContainsFunc(found, func(cause Problem) bool { return follows(p.Path, cause) }) {
			r.problems = append(r.problems, r.locate(p))
		}
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

// forgiveSecrets drops the complaints about variables that hold a secret which
// the configuration names: they may well begin with SLUICE_.
func (r *reader) forgiveSecrets(cfg *Config) {
	names := []string{cfg.Listeners.Control.Token.Env}
	for _, pool := range cfg.Pools {
		names = append(names, pool.APIKey.Env)
	}
	r.problems = slices.DeleteFunc(r.problems, func(p Problem) bool {
		name, ok := strings.CutPrefix(p.File, "environment variable ")
		return ok && slices.Contains(names, name)
	})
}

// follows says whether a problem at path is only the shadow of its cause: at,
// below or above it, or at the key that was meant.
func follows(path string, cause Problem) bool {
	if cause.Path == "" {
		return false
	}
	return within(path, cause.Path) || within(cause.Path, path) && path != "" || cause.meant != "" && within(path, cause.meant)
}

// within says whether path is outer or a key below it.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// locate finds the line of a problem's key, or of the nearest key above it that
// was written.
func (r *reader) locate(p Problem) Problem {
	for path := p.Path; ; path = path[:max(strings.LastIndexAny(path, ".["), 0)] {
		if from, ok := r.origins[path]; ok || path == "" {
			p.File, p.Line = cmp.Or(from.file, r.name), from.line
			return p
		}
	}
}
