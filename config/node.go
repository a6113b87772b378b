package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// scalar reads one value, and refuses what YAML would quietly turn into another.
func (r *reader) scalar(n *yaml.Node, t reflect.Type, path string) any {
	if n.Kind != yaml.ScalarNode {
		r.note(n.Line, path, "is "+describe(n)+", not a single value", "write one value after the colon")
		return nil
	}
	if isNull(n) {
		r.note(n.Line, path, "has no value", "write one, or remove the key to get the default")
		return nil
	}
	value, bad := parseScalar(t, n.Value)
	if better, ok := nodeComplaint(n, t); ok && !private(path) {
		bad = better
	}
	if bad != (complaint{}) {
		r.note(n.Line, path, bad.text, bad.fix)
		return nil
	}
	return value
}

// private says whether the value at path may be a key by mistake. Then it isn't
// shown; Validate judges it.
func private(path string) bool { return strings.Contains(path, ".key_sha256[") }

// nodeComplaint finds what is wrong with how a value is written, whatever its text.
func nodeComplaint(n *yaml.Node, t reflect.Type) (complaint, bool) {
	if t.Kind() == reflect.String {
		if bad := surprise(n); bad != "" {
			return complaint{"is " + bad + ", not text", fmt.Sprintf("put it in quotes: %q", n.Value)}, true
		}
		return complaint{}, false
	}
	if quoted(n) && t != durationType && t != bytesType {
		return complaint{fmt.Sprintf("is the text %q, not %s", n.Value, kindName(t)), "remove the quotes"}, true
	}
	return complaint{}, false
}

// surprise says what YAML takes an unquoted text for, if that isn't text: an
// operator who writes the model name 7 or the tenant no means the word. ""
// when there is no surprise.
func surprise(n *yaml.Node) string {
	if quoted(n) {
		return ""
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!bool":
		return "the truth value " + n.Value
	case "!!null":
		return "empty"
	case "!!timestamp":
		return "the date " + n.Value
	}
	if slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(n.Value)) {
		return n.Value + ", which some YAML readers take for true or false"
	}
	return ""
}

func quoted(n *yaml.Node) bool {
	const styles = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Style&styles != 0
}

// describe says what a node is, in the words of someone who wrote it.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return "the value " + clip(n.Value)
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "true or false"
}

// clip keeps a message on one line.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		return fmt.Sprintf("%q...", s[:most])
	}
	return fmt.Sprintf("%q", s)
}

// join is the path of a key below path, on one line whatever the key holds.
func join(path, key string) string {
	if strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }) {
		key = fmt.Sprintf("%q", key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// orList is "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
