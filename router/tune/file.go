package tune

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// File is an operator's configuration while values in it are changed: single
// numbers, each where it stands; all else, comments too, stays as it was.
type File struct {
	name   string
	before []string // lines with their ends
	lines  []line
}

// line is one of the file now.
type line struct {
	text string
	old  int // its place in before; -1: it is new
}

// NewFile begins with a file's content; the name is shown in Diff.
func NewFile(name string, content []byte) *File {
	f := &File{name: name, before: slices.Collect(strings.Lines(string(content)))}
	for i, text := range f.before {
		f.lines = append(f.lines, line{text, i})
	}
	return f
}

// Content is the file as it is now.
func (f *File) Content() []byte {
	var b bytes.Buffer
	for _, l := range f.lines {
		b.WriteString(l.text)
	}
	return b.Bytes()
}

// Set changes the number at path from one value to another; what isn't written
// yet is added. The error says why it must be done by hand; the file is then as
// it was.
func (f *File) Set(path []string, from, to int) error {
	was := slices.Clone(f.lines)
	err := f.set(path, from, to)
	if err == nil && !f.says(path, to) {
		err = errors.New("its place in the file isn't found")
	}
	if err != nil {
		f.lines = was
	}
	return err
}

func (f *File) set(path []string, from, to int) error {
	node, err := f.parse()
	if err != nil {
		return err
	}
	for i, key := range path {
		if node.Kind != yaml.MappingNode {
			return errors.New(strings.Join(path[:i], ".") + " is shared (an alias) or no map")
		}
		next := lookUp(node, key)
		if next == nil {
			return f.insert(node, path[i:], to)
		}
		node = next
	}
	if node.Kind != yaml.ScalarNode {
		return errors.New("its value is shared (an alias) or no number")
	}
	if n, err := strconv.Atoi(node.Value); err != nil || n != from {
		return fmt.Errorf("the file says %q, but %d is in force: it is set elsewhere, by the environment perhaps", node.Value, from)
	}
	return f.replace(node, strconv.Itoa(to))
}

// parse is the file as YAML.
func (f *File) parse() (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(f.Content(), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 {
		return nil, errors.New("the file is empty")
	}
	return doc.Content[0], nil
}

// says tells whether the file has that number at path.
func (f *File) says(path []string, value int) bool {
	node, err := f.parse()
	for _, key := range path {
		if err != nil || node == nil || node.Kind != yaml.MappingNode {
			return false
		}
		node = lookUp(node, key)
	}
	return node != nil && node.Value == strconv.Itoa(value)
}

// lookUp is the value of a key; nil: the map hasn't got it itself.
func lookUp(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

// at is a node's line, and the byte where it begins there; nil where YAML counts
// lines in another way (a lone carriage return ends one).
func (f *File) at(n *yaml.Node) (*line, int) {
	if n.Line > len(f.lines) {
		return nil, 0
	}
	l := &f.lines[n.Line-1]
	column := 0
	for i := range l.text {
		if column++; column == n.Column {
			return l, i
		}
	}
	return l, len(l.text)
}

// cut is a node's line before the node and from it on; false: it doesn't begin
// there with that text.
func (f *File) cut(n *yaml.Node, text string) (l *line, before, after string, ok bool) {
	l, i := f.at(n)
	if l == nil || !strings.HasPrefix(l.text[i:], text) {
		return nil, "", "", false
	}
	return l, l.text[:i], l.text[i+len(text):], true
}

func (f *File) replace(n *yaml.Node, value string) error {
	l, before, after, ok := f.cut(n, n.Value)
	if !ok {
		return fmt.Errorf("its value isn't found in line %d", n.Line)
	}
	l.text = before + value + after
	return nil
}

// insert adds keys and a value to a map: in a map in braces before its first key,
// else on a line of their own after the map's last key with a simple value.
func (f *File) insert(m *yaml.Node, keys []string, value int) error {
	text := keys[len(keys)-1] + ": " + strconv.Itoa(value)
	for _, key := range slices.Backward(keys[:len(keys)-1]) {
		text = key + ": {" + text + "}"
	}
	if m.Style&yaml.FlowStyle != 0 {
		return f.insertFlow(m, text)
	}
	if len(m.Content) == 0 {
		return errors.New("the map above it is empty")
	}
	first, indent, _, ok := f.cut(m.Content[0], "")
	if !ok || strings.TrimLeft(indent, " ") != "" {
		return fmt.Errorf("the map above it begins in the middle of line %d", m.Content[0].Line)
	}
	end := "\n"
	if strings.HasSuffix(first.text, "\r\n") {
		end = "\r\n"
	}
	after := lastSimple(m)
	if after >= 0 && after < len(f.lines) && !strings.HasSuffix(f.lines[after].text, "\n") {
		f.lines[after].text += end
	}
	f.lines = slices.Insert(f.lines, min(after+1, len(f.lines)), line{indent + text + end, -1})
	return nil
}

// lastSimple is the index of the line of a map's last key whose value is on the
// same line; that above the map if there is none.
func lastSimple(m *yaml.Node) int {
	after := m.Content[0].Line - 2
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		if k.Line == v.Line && v.Kind == yaml.ScalarNode && v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
			after = k.Line - 1
		}
	}
	return after
}

func (f *File) insertFlow(m *yaml.Node, text string) error {
	l, before, after, ok := f.cut(m, "{")
	if !ok {
		return fmt.Errorf("the map above it isn't found in line %d", m.Line)
	}
	if len(m.Content) > 0 {
		text += ", "
	}
	l.text = before + "{" + text + after
	return nil
}
