package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// The structs are the schema: what a key may be is read from their fields and
// yaml tags, so that a new setting needs no second list.

// field is one key of a struct.
type field struct {
	key   string
	typ   reflect.Type
	index []int // for reflect.Value.FieldByIndex
}

// fieldsOf lists a struct's keys in order; those of an embedded struct count as its own.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				out = append(out, inner)
			}
			continue
		}
		out = append(out, field{key: f.Tag.Get("yaml"), typ: f.Type, index: []int{i}})
	}
	return out
}

func fieldOf(t reflect.Type, key string) (field, bool) {
	fields := fieldsOf(t)
	i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
	if i < 0 {
		return field{}, false
	}
	return fields[i], true
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for _, f := range fieldsOf(t) {
		keys = append(keys, f.key)
	}
	return keys
}

// treeOf turns a struct into the nested maps that koanf merges. Leaves keep
// their Go types: time.Duration, Bytes, int, float64, bool, string.
func treeOf(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Struct:
		tree := map[string]any{}
		for _, f := range fieldsOf(v.Type()) {
			tree[f.key] = treeOf(v.FieldByIndex(f.index))
		}
		return tree
	case reflect.Map:
		tree := map[string]any{}
		for _, key := range v.MapKeys() {
			tree[key.String()] = treeOf(v.MapIndex(key))
		}
		return tree
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = treeOf(v.Index(i))
		}
		return list
	}
	return v.Interface()
}

func structTree(v any) map[string]any { return treeOf(reflect.ValueOf(v)).(map[string]any) }

// sub is the map below key; nil when there is none.
func sub(tree map[string]any, key string) map[string]any {
	m, _ := tree[key].(map[string]any)
	return m
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// suggest says which key may have been meant by one that t doesn't have, and
// what to tell the operator.
func suggest(t reflect.Type, key string) (meant, fix string) {
	if meant = nearest(key, keysOf(t)); meant != "" {
		return meant, "did you mean " + meant + "?"
	}
	for _, root := range []reflect.Type{t, reflect.TypeFor[Config]()} {
		if home := homeOf(root, key); home != "" {
			return strings.Split(home, ".")[0], "did you mean " + home + "?"
		}
	}
	return "", "valid keys here: " + strings.Join(keysOf(t), ", ")
}

// homeOf finds where below t a key of exactly this name lives: "queue.max_wait".
func homeOf(t reflect.Type, key string) string {
	switch t.Kind() {
	case reflect.Map:
		return homeOf(t.Elem(), key)
	case reflect.Struct:
	default:
		return ""
	}
	for _, f := range fieldsOf(t) {
		if f.key == key {
			return key
		}
		inner := homeOf(f.typ, key)
		if inner == "" {
			continue
		}
		if f.typ.Kind() == reflect.Map {
			return f.key + ".NAME." + inner
		}
		return f.key + "." + inner
	}
	return ""
}

// nearest is the candidate that a slip of the fingers may have turned into
// word: at most a third of its letters changed, and at most four. "" when there
// is none. Case, dashes and underscores are no difference.
func nearest(word string, candidates []string) string {
	fold := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "-", "_")) }
	best, least := "", min(max(len(word)/3, 1), 4)+1
	for _, c := range candidates {
		if tooFar := len(c) - len(word); tooFar >= least || -tooFar >= least {
			continue
		}
		if d := distance(fold(word), fold(c)); d < least && d < len(word) {
			best, least = c, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour to turn a into b (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
