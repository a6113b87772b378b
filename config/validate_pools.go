package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Names stand in headers, metric labels and logs; koanf's delimiter can't be in one.
var (
	entryName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
	modelName = regexp.MustCompile(`^[!#-\[\]-~]{1,200}$`) // visible ASCII but " and \
)

// entry checks the name of a pool or a tenant.
func (v *checker) entry(path, name string) {
	v.check(entryName.MatchString(name), path, "is not a name that can stand in headers and metrics",
		"use up to 63 letters, digits, dots, dashes and underscores; begin and end with a letter or digit")
}

// model checks a name that applications send in "model".
func (v *checker) model(path, name string) {
	v.check(modelName.MatchString(name) && !strings.Contains(name, delim), path, clip(name)+" can't be a model name",
		`use up to 200 visible ASCII characters, no spaces, quotes, backslashes or "::"`)
}

func (v *checker) pools() {
	v.check(len(v.cfg.Pools) > 0, "pools", "lists none", "add a pool with its model and the URLs of its replicas")
	replicas := map[string]string{} // endpoint → path of the first that has it
	models := map[string]string{}   // of implicit routes → pool
	for _, name := range sortedNames(v.cfg.Pools) {
		path, pool := "pools."+name, v.cfg.Pools[name]
		v.entry(path, name)
		v.pool(path, pool)
		v.replicas(path, pool, replicas)
		if first, twice := models[pool.Model]; twice && pool.Implicit && pool.Model != "" {
			v.add(path+".model", fmt.Sprintf("%s is served by pool %s too, so the model's name can't stand for one pool", clip(pool.Model), first),
				fmt.Sprintf("set %s.implicit_route: false on one of them", path))
		} else if pool.Implicit {
			models[pool.Model] = name
		}
	}
}

func (v *checker) pool(path string, p Pool) {
	if p.Model == "" {
		v.add(path+".model", "is missing", "set it to the name that the replicas serve (vLLM's --served-model-name)")
	} else {
		v.model(path+".model", p.Model)
	}
	v.secret(path+".api_key", p.APIKey)
	v.cap(path+".cap", p.Cap)
	v.engine(path+".engine", p.Engine)
	plain := func(url string) bool { return strings.HasPrefix(url, "http://") }
	v.check(p.CA == "" || !slices.ContainsFunc(p.Replicas, plain), path+".ca", "is set, but replicas have http:// URLs", "write https://, or remove ca")
}

func (v *checker) cap(path string, c Cap) {
	v.min(path+".total", c.Total, 1)
	for _, class := range []struct {
		key string
		got int
	}{{"prefill", c.Prefill}, {"decode", c.Decode}} {
		at := path + "." + class.key
		v.check(class.got >= 0, at, fmt.Sprintf("is %d", class.got), "must be at least 1, or 0 for no limit of its own")
		v.check(class.got <= c.Total || c.Total < 1, at, fmt.Sprintf("is %d, more than %s.total (%d)", class.got, path, c.Total),
			"lower it, or raise the total")
	}
}

func (v *checker) engine(path string, e Engine) {
	for _, n := range []struct {
		key string
		got int
	}{
		{"max_model_len", e.MaxModelLen},
		{"max_num_seqs", e.MaxNumSeqs},
		{"max_num_batched_tokens", e.MaxNumBatchedTokens},
		{"padding_gap", e.PaddingGap},
	} {
		v.min(path+"."+n.key, n.got, 0)
	}
	for _, name := range sortedNames(e.Fields) {
		v.field(path+".fields."+name, name, e.Fields[name])
	}
}

// Request fields that the gateway acts on itself: read-only tables.
var (
	neverFields = []string{"model", "messages", "prompt", "input", "stream", "stream_options"}
	// Without its bound the answer would outgrow what was counted and promised.
	neverStripped = []string{"n", "max_tokens", "max_completion_tokens", "max_output_tokens"}
)

func (v *checker) field(path, name, action string) {
	v.oneOf(path, action, FieldRefuse, FieldStrip, fieldPass)
	switch {
	case name == "":
		v.add(path, "has no name", "write the name of a request's field")
	case slices.Contains(neverFields, name):
		v.add(path, "names a field that the gateway itself needs", "remove it")
	case action == FieldStrip && slices.Contains(neverStripped, name):
		v.add(path, "would strip a bound that the gateway counts on", "use refuse, or remove it")
	}
}

func (v *checker) replicas(path string, p Pool, seen map[string]string) {
	v.check(len(p.Replicas) > 0, path+".replicas", "lists none", "write the base URL of each replica: - http://host:port")
	for i, url := range p.Replicas {
		at := fmt.Sprintf("%s.replicas[%d]", path, i)
		if bad := checkURL(url); bad != (complaint{}) {
			v.add(at, bad.text, bad.fix)
			continue
		}
		key := endpointOf(normalURL(url))
		if first, twice := seen[key]; twice {
			v.add(at, fmt.Sprintf("%s is listed already, as %s", url, first), "list each replica once: its cap is counted in one place")
			continue
		}
		seen[key] = at
	}
}
