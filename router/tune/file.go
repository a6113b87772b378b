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
// yet is added. The error says why it must be done by hand.
func (f *File) Set(path []string, from, to int) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(f.Content(), &doc); err != nil {
		return err
	}
	if len(doc.Content) != 1 {
		return errors.New("the file is empty")
	}
	node := doc.Content[0]
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

// lookUp is the value of a key; nil: the map hasn't got it itself.
func lookUp(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

// at is a node's line, and the byte where it begins there.
func (f *File) at(n *yaml.Node) (*line, int) {
	l := &f.lines[n.Line-1]
	column := 0
	for i := range l.text {
		if column++; column == n.Column {
			return l, i
		}
	}
	return l, len(l.text)
}

func (f *File) replace(n *yaml.Node, value string) error {
	l, i := f.at(n)
	rest, ok := strings.CutPrefix(l.text[i:], n.Value)
	if !ok {
		return fmt.Errorf("its value isn't found in line %d", n.Line)
	}
	l.text = l.text[:i] + value + rest
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
	after := m.Content[0].Line - 2 // before the first key
	for i := 0; i < len(m.Content); i += 2 {
		if k, v := m.Content[i], m.Content[i+1]; k.Line == v.Line && v.Kind == yaml.ScalarNode && v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
			after = k.Line - 1
		}
	}
	first, i := f.at(m.Content[0])
	indent, end := first.text[:i], "\n"
	if strings.TrimLeft(indent, " ") != "" {
		return fmt.Errorf("the map above it begins in the middle of line %d", m.Content[0].Line)
	}
	if strings.HasSuffix(first.text, "\r\n") {
		end = "\r\n"
	}
	if after >= 0 && !strings.HasSuffix(f.lines[after].text, "\n") {
		f.lines[after].text += end
	}
	f.lines = slices.Insert(f.lines, after+1, line{indent + text + end, -1})
	return nil
}

func (f *File) insertFlow(m *yaml.Node, text string) error {
	l, i := f.at(m)
	if !strings.HasPrefix(l.text[i:], "{") {
		return fmt.Errorf("the map above it isn't found in line %d", m.Line)
	}
	if len(m.Content) > 0 {
		text += ", "
	}
	l.text = l.text[:i+1] + text + l.text[i+1:]
	return nil
}
