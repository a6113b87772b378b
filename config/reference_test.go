package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What the reference shows must be what a key that is left out has.
func TestReferenceIsTheDefaults(t *testing.T) {
	got, err := Parse("reference.yaml", []byte(Reference))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Classification.Rules, want.Relay.ExtraPaths, want.Relay.AllowOrigins = []Rule{}, []string{}, []string{}
	for name, pool := range got.Pools { // the examples of the file, all else by default
		filled := DefaultPool(pool.Size)
		filled.Model, filled.Accelerator, filled.Replicas = pool.Model, pool.Accelerator, pool.Replicas
		want.Pools[name] = filled
	}
	for name, route := range got.Routes {
		filled := DefaultRoute()
		filled.Prefill.Pools = byPosition(route.Prefill.Pools)
		filled.Decode.Pools = byPosition(route.Decode.Pools)
		want.Routes[name] = filled
	}
	if len(got.Pools) != 2 || len(got.Routes) != 1 {
		t.Errorf("got %d pools and %d routes, want the examples: 2 and 1", len(got.Pools), len(got.Routes))
	}
	for _, line := range got.Diff(&want) {
		t.Errorf("the reference differs from the default: %s", line)
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v\nwant %+v", *got, want)
	}
}

func byPosition(list []Preference) []Preference {
	list = slices.Clone(list)
	for i := range list {
		list[i].Value = DefaultValue(i)
	}
	return list
}

// Lines that begin with "#" and no space are examples. They must be true.
func TestReferenceExamplesLoad(t *testing.T) {
	c, err := Parse("reference.yaml", []byte(withExamples()))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Tenants) != 1 || len(c.Classification.Rules) != 1 || len(c.Relay.ExtraPaths) != 1 {
		t.Errorf("an example is missing: %d tenants, %d rules, %d paths", len(c.Tenants), len(c.Classification.Rules), len(c.Relay.ExtraPaths))
	}
	if got := c.Pools["gemma-27b"].Engine.Fields["logit_bias"]; got != FieldStrip {
		t.Errorf("fields.logit_bias: got %q", got)
	}
}

// withExamples is the reference with its examples uncommented, and without the
// empty values that they replace.
func withExamples() string {
	empty := regexp.MustCompile(`(?m)^ *(tenants: \{\}|rules: \[\]|extra_paths: \[\]|allow_origins: \[\])\n`)
	example := regexp.MustCompile(`(?m)^( *)#([^ #\n]|  )`)
	return example.ReplaceAllString(empty.ReplaceAllString(Reference, ""), "$1$2")
}

func TestReferenceHasEveryKey(t *testing.T) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(withExamples()), &doc); err != nil {
		t.Fatal(err)
	}
	missingKeys(t, reflect.TypeFor[Config](), doc.Content[0], "")
}

// missingKeys reports the keys of type that the first entry of each map and
// list doesn't have.
func missingKeys(t *testing.T, typ reflect.Type, n *yaml.Node, path string) {
	switch {
	case typ.Kind() == reflect.Slice && len(n.Content) > 0:
		missingKeys(t, typ.Elem(), n.Content[0], path+"[0]")
	case typ.Kind() == reflect.Map && len(n.Content) > 0:
		missingKeys(t, typ.Elem(), n.Content[1], join(path, n.Content[0].Value))
	case typ.Kind() == reflect.Struct:
		for _, f := range fieldsOf(typ) {
			i := slices.IndexFunc(n.Content, func(c *yaml.Node) bool { return c.Value == f.key })
			if i < 0 {
				t.Errorf("the reference doesn't have %s", join(path, f.key))
				continue
			}
			missingKeys(t, f.typ, n.Content[i+1], join(path, f.key))
		}
	}
}

func TestReferenceHasNoLongLines(t *testing.T) {
	for i, line := range strings.Split(Reference, "\n") {
		if len(line) > 90 {
			t.Errorf("line %d has %d characters", i+1, len(line))
		}
	}
}
