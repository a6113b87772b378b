package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds what a file may expand to: a few lines of nested aliases can
// stand for billions of values.
const maxNodes = 50_000

// origin is where a key was set.
type origin struct {
	file string
	line int
}

// reader turns a layer into a tree whose leaves have the types of the structs,
// and notes every problem on the way. Where a value is wrong it is left out, so
// that the rest is still read and checked.
type reader struct {
	name     string // of the file
	problems Problems
	origins  map[string]origin // path → where it was set
	nodes    int
}

func newReader(name string) *reader {
	return &reader{name: name, origins: map[string]origin{}}
}

// note adds a problem at a line of the file.
func (r *reader) note(line int, path, text, fix string) {
	r.problems = append(r.problems, Problem{File: r.name, Line: line, Path: path, Text: text, Fix: fix})
}

// file reads a YAML file: exactly one document with a map at its top.
func (r *reader) file(data []byte) map[string]any {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return r.empty()
	case err != nil:
		r.syntax(data, err)
		return nil
	}
	var next yaml.Node
	if err := dec.Decode(&next); err == nil {
		r.note(next.Line, "", "a second YAML document begins here", "keep one document in the file: remove the --- line")
	} else if !errors.Is(err, io.EOF) {
		r.syntax(data, err)
	}
	if len(doc.Content) == 0 {
		return r.empty()
	}
	return r.root(doc.Content[0])
}

// root reads the document's one value; nil where it isn't a map.
func (r *reader) root(n *yaml.Node) map[string]any {
	if isNull(n) {
		return r.empty()
	}
	r.origins[""] = origin{r.name, n.Line}
	tree := r.value(n, reflect.TypeFor[Config](), "")
	if n.Kind != yaml.MappingNode || r.nodes > maxNodes {
		return nil
	}
	return tree.(map[string]any)
}

// empty refuses a file with nothing in it: rather a file that was cut than a
// wish for no pools.
func (r *reader) empty() map[string]any {
	r.note(0, "", "is empty", "write at least one pool; config/reference.yaml shows every key")
	return nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// syntax notes what the YAML parser says. It has the line only in its text.
func (r *reader) syntax(data []byte, err error) {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		m = []string{"", "", err.Error()}
	}
	line, _ := strconv.Atoi(m[1])
	if tab := tabLine(data); tab > 0 {
		r.note(tab, "", "is indented with a tab, which YAML forbids", "indent with spaces")
		return
	}
	r.note(line, "", "is not valid YAML: "+m[2], "look at the indentation, quotes and colons of this line and the one before")
}

// tabLine is the first line that has a tab in its indentation; 0: none.
func tabLine(data []byte) int {
	for i, line := range bytes.Split(data, []byte("\n")) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if len(indent) < len(line) && bytes.IndexByte(indent, '\t') >= 0 {
			return i + 1
		}
	}
	return 0
}

// value reads one node as a value of type t. It returns nil where the key has
// no value that can be used.
func (r *reader) value(n *yaml.Node, t reflect.Type, path string) any {
	if r.nodes++; r.nodes > maxNodes {
		if r.nodes == maxNodes+1 {
			r.note(n.Line, path, fmt.Sprintf("the file expands to more than %d values here", maxNodes), "use fewer aliases (*name)")
		}
		return nil
	}
	if n.Kind == yaml.AliasNode {
		return r.value(n.Alias, t, path)
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return r.mapping(n, t, path)
	case reflect.Slice:
		return r.list(n, t, path)
	}
	return r.scalar(n, t, path)
}

// mapping reads a struct or a map of named entries. No value at all is an empty
// map: what is left when every entry is commented out.
func (r *reader) mapping(n *yaml.Node, t reflect.Type, path string) any {
	if isNull(n) {
		return map[string]any{}
	}
	if n.Kind != yaml.MappingNode {
		r.note(n.Line, path, "is "+describe(n)+", not a map", mapFix(t))
		return map[string]any{}
	}
	tree := map[string]any{}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		typ, ok := r.key(key, t, path, seen)
		if !ok {
			continue
		}
		at := join(path, key.Value)
		r.origins[at] = origin{r.name, key.Line}
		if v := r.value(value, typ, at); v != nil {
			tree[key.Value] = v
		}
	}
	return tree
}

func mapFix(t reflect.Type) string {
	if t.Kind() == reflect.Map {
		return "write an indented line \"name: ...\" for each entry"
	}
	return "write indented lines \"key: value\"; the keys are " + strings.Join(keysOf(t), ", ")
}

// key checks one key of a map and returns the type of its value.
func (r *reader) key(n *yaml.Node, t reflect.Type, path string, seen map[string]int) (reflect.Type, bool) {
	if n.Kind != yaml.ScalarNode {
		r.note(n.Line, path, "has "+describe(n)+" as a key", "write a plain name before the colon")
		return nil, false
	}
	if n.ShortTag() == "!!merge" {
		r.note(n.Line, path, "uses a merge key (<<), which is not supported", "write the keys out; what an entry leaves out has its default")
		return nil, false
	}
	at := join(path, n.Value)
	if first, twice := seen[n.Value]; twice {
		r.note(n.Line, at, fmt.Sprintf("is a duplicate of line %d", first), "keep one of the two")
		return nil, false
	}
	seen[n.Value] = n.Line
	if t.Kind() == reflect.Map {
		if bad := surprise(n); bad != "" {
			r.note(n.Line, at, "the name is "+bad, fmt.Sprintf("put it in quotes: %q", n.Value))
		}
		return t.Elem(), true
	}
	f, ok := fieldOf(t, n.Value)
	if !ok {
		r.unknown(n.Line, path, n.Value, t)
	}
	return f.typ, ok
}

// unknown notes a key that isn't one of t's. The key that was probably meant
// counts as set there, so that it isn't reported as missing too.
func (r *reader) unknown(line int, path, key string, t reflect.Type) {
	meant, fix := suggest(t, key)
	r.note(line, join(path, key), "unknown key", fix)
	if meant != "" {
		r.problems[len(r.problems)-1].meant = join(path, meant)
	}
}

func (r *reader) list(n *yaml.Node, t reflect.Type, path string) any {
	if isNull(n) {
		return []any{}
	}
	if n.Kind != yaml.SequenceNode {
		r.note(n.Line, path, "is "+describe(n)+", not a list", "write each element on an indented line that begins with \"- \"")
		return nil
	}
	list := []any{}
	for i, element := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		r.origins[at] = origin{r.name, element.Line}
		v := r.value(element, t.Elem(), at)
		if v == nil { // the problem is noted; a place keeps the indexes of the rest right
			v = treeOf(reflect.Zero(t.Elem()))
		}
		list = append(list, v)
	}
	return list
}
