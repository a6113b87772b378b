package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
)

const (
	envPrefix = "SLUICE_"
	envLevel  = "__" // between levels: SLUICE_LISTENERS__DATA__ADDRESS

	// koanf's delimiter. It must not occur in a key, and names of models hold dots
	// and slashes.
	delim = "::"
)

// serviceLink matches what Kubernetes puts into every pod's environment for a
// Service that is called sluice or sluice-something. Every variable of ours
// has envLevel in it.
var serviceLink = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// overlay resolves settings that come from outside of the file: it knows the
// names of the file's entries, because a variable's name can't spell them.
type overlay struct {
	*reader
	known map[string]any // the layers below
}

// environment is the layer of the SLUICE_ variables. Those that aren't settings
// are noted.
func (o overlay) environment(environ []string) (map[string]any, error) {
	return env.Provider(delim, env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			if serviceLink.MatchString(name) && !strings.Contains(name, envLevel) {
				return "", nil
			}
			keys, v := o.variable(name, value)
			return strings.Join(keys, delim), v
		},
	}).Read()
}

// variable resolves one SLUICE_ variable; no keys when it can't be used.
func (o overlay) variable(name, value string) ([]string, any) {
	from := "environment variable " + name
	at := cursor{typ: reflect.TypeFor[Config](), tree: o.known}
	for _, word := range strings.Split(strings.TrimPrefix(name, envPrefix), envLevel) {
		key, bad := at.match(word)
		if bad != "" {
			fix := "see config/reference.yaml; " + envLevel + " stands between levels"
			if near := nearest(name, envNames(reflect.TypeFor[Config](), o.known, "SLUICE")); near != "" {
				fix = "did you mean " + near + "?"
			}
			o.problems = append(o.problems, Problem{File: from, Text: bad, Fix: fix})
			return nil, nil
		}
		at = at.down(key)
	}
	return o.set(at, from, value)
}

// flag resolves one flag, a dotted path such as pools.gemma-27b.cap.total.
func (o overlay) flag(path string, value any) ([]string, any) {
	from := "flag --" + path
	at := cursor{typ: reflect.TypeFor[Config](), tree: o.known}
	for rest := path; rest != ""; {
		key, bad := at.prefix(rest)
		if bad != "" {
			_, fix := suggest(reflect.TypeFor[Config](), path[strings.LastIndex(path, ".")+1:])
			o.problems = append(o.problems, Problem{File: from, Text: bad, Fix: fix})
			return nil, nil
		}
		at = at.down(key)
		rest = strings.TrimPrefix(rest[len(key):], ".")
	}
	text := fmt.Sprint(value)
	if list, ok := value.([]string); ok {
		text = strings.Join(list, ",")
	}
	return o.set(at, from, text)
}

// set reads the text for the setting at the cursor.
func (o overlay) set(at cursor, from, text string) ([]string, any) {
	path := strings.Join(at.keys, ".")
	value, bad := parseText(at.typ, text)
	if bad != (complaint{}) {
		o.problems = append(o.problems, Problem{File: from, Path: path, Text: bad.text, Fix: bad.fix})
		return nil, nil
	}
	o.origins[path] = origin{file: from}
	return at.keys, value
}

// parseText reads a value that isn't in a file: a scalar, or a list of texts
// with commas between them.
func parseText(t reflect.Type, text string) (any, complaint) {
	if isScalar(t) {
		return parseScalar(t, text)
	}
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.String {
		return nil, complaint{"is not a single setting", "set the keys below it one by one, or set it in the file"}
	}
	list := []any{}
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list, complaint{}
}

// envNames lists the variables that would be settings.
func envNames(t reflect.Type, known map[string]any, prefix string) []string {
	var names []string
	below := func(key string, typ reflect.Type) {
		names = append(names, envNames(typ, sub(known, key), prefix+envLevel+envWord(key))...)
	}
	switch {
	case t.Kind() == reflect.Struct:
		for _, f := range fieldsOf(t) {
			below(f.key, f.typ)
		}
	case t.Kind() == reflect.Map:
		for _, name := range sortedKeys(known) {
			below(name, t.Elem())
		}
	default:
		// The first level follows SLUICE_, one underscore.
		names = []string{strings.Replace(prefix, "SLUICE"+envLevel, envPrefix, 1)}
	}
	return names
}

var notWord = regexp.MustCompile(`[^A-Z0-9]+`)

// envWord is how a name is written in a variable's name: GEMMA_27B for gemma-27b.
func envWord(name string) string {
	return notWord.ReplaceAllString(strings.ToUpper(name), "_")
}

// cursor walks down the schema beside the entries that exist.
type cursor struct {
	typ  reflect.Type
	tree map[string]any // the entries here; nil: none
	keys []string
}

func (c cursor) down(key string) cursor {
	typ := c.typ
	if typ.Kind() == reflect.Map {
		typ = typ.Elem()
	} else {
		f, _ := fieldOf(typ, key)
		typ = f.typ
	}
	return cursor{typ, sub(c.tree, key), append(slices.Clone(c.keys), key)}
}

// names are the keys that can follow: the struct's, or the names of the entries.
func (c cursor) names() []string {
	switch c.typ.Kind() {
	case reflect.Struct:
		return keysOf(c.typ)
	case reflect.Map:
		return sortedKeys(c.tree)
	}
	return nil
}

// match finds the one key that is written word in a variable's name.
func (c cursor) match(word string) (key, bad string) {
	var found []string
	for _, name := range c.names() {
		if envWord(name) == strings.ToUpper(word) {
			found = append(found, name)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], ""
	case len(found) > 1:
		return "", fmt.Sprintf("%s could be %s", word, orList(found))
	}
	return "", c.nothing(word)
}

// prefix finds the longest key that rest begins with; names hold dots themselves.
func (c cursor) prefix(rest string) (key, bad string) {
	for _, name := range c.names() {
		if (rest == name || strings.HasPrefix(rest, name+".")) && len(name) > len(key) {
			key = name
		}
	}
	if key == "" {
		word, _, _ := strings.Cut(rest, ".")
		return "", c.nothing(word)
	}
	return key, ""
}

// nothing says that word leads nowhere from here.
func (c cursor) nothing(word string) string {
	path := strings.Join(c.keys, ".")
	switch {
	case c.typ.Kind() == reflect.Map && len(c.tree) == 0:
		return fmt.Sprintf("%s: the file has no %s of any name; only entries of the file can be set", word, path)
	case c.typ.Kind() == reflect.Map:
		return fmt.Sprintf("%s: the file has no such entry of %s, only %s", word, path, orList(c.names()))
	case path == "":
		return fmt.Sprintf("is not a setting: there is no key %s", strings.ToLower(word))
	}
	return fmt.Sprintf("is not a setting: %s has no key %s", path, strings.ToLower(word))
}
