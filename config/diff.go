package config

import (
	"fmt"
	"slices"
	"strings"
)

// Diff says what differs from old, a line for each setting with its path:
// "pools.gemma-27b.cap.total: 64 → 32". Hashes of keys are counted, not shown.
// It is empty when nothing does.
func (c *Config) Diff(old *Config) []string {
	var d difference
	d.maps("", structTree(*old), structTree(*c))
	return d
}

// difference is the lines found so far.
type difference []string

func (d *difference) say(path, format string, args ...any) {
	*d = append(*d, path+": "+fmt.Sprintf(format, args...))
}

func (d *difference) maps(path string, old, now map[string]any) {
	keys := append(sortedKeys(old), sortedKeys(now)...)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		at := join(path, key)
		was, had := old[key]
		is, has := now[key]
		switch {
		case !had:
			d.say(at, "added%s", shown(is))
		case !has:
			d.say(at, "removed%s", shown(was))
		default:
			d.values(at, was, is)
		}
	}
}

func (d *difference) values(path string, old, now any) {
	if was, ok := old.(map[string]any); ok {
		d.maps(path, was, now.(map[string]any))
		return
	}
	was, ok := old.([]any)
	switch {
	case ok && strings.HasSuffix(path, ".key_sha256"):
		d.hidden(path, was, now.([]any))
	case ok && ordered(was, now.([]any)):
		d.list(path, was, now.([]any))
	case ok:
		d.set(path, was, now.([]any))
	case old != now:
		d.say(path, "%s → %s", scalarText(old), scalarText(now))
	}
}

// ordered says whether a list's elements are known by their place: maps are,
// plain values aren't.
func ordered(lists ...[]any) bool {
	for _, list := range lists {
		if len(list) > 0 {
			_, isMap := list[0].(map[string]any)
			return isMap
		}
	}
	return false
}

func (d *difference) list(path string, old, now []any) {
	for i := range max(len(old), len(now)) {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case i >= len(old):
			d.say(at, "added%s", shown(now[i]))
		case i >= len(now):
			d.say(at, "removed%s", shown(old[i]))
		default:
			d.values(at, old[i], now[i])
		}
	}
}

// set compares lists whose order means nothing.
func (d *difference) set(path string, old, now []any) {
	for _, v := range old {
		if !slices.Contains(now, v) {
			d.say(path, "removed %v", v)
		}
	}
	for _, v := range now {
		if !slices.Contains(old, v) {
			d.say(path, "added %v", v)
		}
	}
}

func (d *difference) hidden(path string, old, now []any) {
	if !slices.Equal(old, now) {
		d.say(path, "changed (%d → %d hashes)", len(old), len(now))
	}
}

// shown is what an entry that came or went was: a value, or for the element of
// a list its settings. The settings of a named entry are in the file.
func shown(v any) string {
	switch v := v.(type) {
	case map[string]any:
		name, ok := v["pool"].(string)
		if !ok {
			return ""
		}
		return fmt.Sprintf(" (pool %s)", name)
	case []any:
		return ""
	}
	return " " + scalarText(v)
}

func scalarText(v any) string {
	if s, ok := v.(string); ok && s == "" {
		return `""`
	}
	return fmt.Sprint(v)
}
