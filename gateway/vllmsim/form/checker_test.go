package form

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"
)

// checker judges values by a schema. It shares nothing with what makes them.
type checker struct{ root map[string]any }

// wrong is why a value doesn't satisfy a schema; empty: it does.
func (c checker) wrong(schema, v any) string {
	s, is := schema.(map[string]any)
	if !is {
		return map[bool]string{true: "", false: "nothing satisfies false"}[schema == any(true)]
	}
	for _, judge := range []func(map[string]any, any) string{c.references, c.combined, c.listed, c.typed, c.number, c.text, c.array, c.object} {
		if why := judge(s, v); why != "" {
			return why
		}
	}
	return ""
}

func (c checker) references(s map[string]any, v any) string {
	name, is := s["$ref"].(string)
	if !is {
		return ""
	}
	var here any = c.root
	for _, step := range strings.Split(name, "/")[1:] {
		here = here.(map[string]any)[step]
	}
	return c.wrong(here, v)
}

func (c checker) combined(s map[string]any, v any) string {
	for _, sub := range listOf(s["allOf"]) {
		if why := c.wrong(sub, v); why != "" {
			return why
		}
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		options := listOf(s[name])
		fits := len(options) == 0
		for _, sub := range options {
			fits = fits || c.wrong(sub, v) == ""
		}
		if !fits {
			return fmt.Sprintf("%v is none of %s", v, name)
		}
	}
	return ""
}

func (c checker) listed(s map[string]any, v any) string {
	values := listOf(s["enum"])
	if fixed, is := s["const"]; is {
		values = append(values, fixed)
	}
	for _, value := range values {
		if plain(value) == plain(v) {
			return ""
		}
	}
	if len(values) > 0 {
		return fmt.Sprintf("%v is none of %v", v, values)
	}
	return ""
}

func (c checker) typed(s map[string]any, v any) string {
	kinds := listOf(s["type"])
	if one, is := s["type"].(string); is {
		kinds = []any{one}
	}
	n, isNumber := v.(float64)
	got := map[bool]string{true: "integer", false: "number"}[isNumber && n == math.Trunc(n)]
	switch v.(type) {
	case string:
		got = "string"
	case bool:
		got = "boolean"
	case nil:
		got = "null"
	case map[string]any:
		got = "object"
	case []any:
		got = "array"
	}
	for _, kind := range kinds {
		if kind == got || kind == "number" && got == "integer" {
			return ""
		}
	}
	if len(kinds) > 0 {
		return fmt.Sprintf("%v is %s, not %v", v, got, kinds)
	}
	return ""
}

func (c checker) number(s map[string]any, v any) string {
	n, is := v.(float64)
	if !is {
		return ""
	}
	if low, is := s["minimum"].(float64); is && n < low {
		return fmt.Sprintf("%v is below %v", n, low)
	}
	if high, is := s["maximum"].(float64); is && n > high {
		return fmt.Sprintf("%v is above %v", n, high)
	}
	if low, is := s["exclusiveMinimum"].(float64); is && n <= low {
		return fmt.Sprintf("%v isn't above %v", n, low)
	}
	if high, is := s["exclusiveMaximum"].(float64); is && n >= high {
		return fmt.Sprintf("%v isn't below %v", n, high)
	}
	if step, is := s["multipleOf"].(float64); is && math.Mod(n, step) != 0 {
		return fmt.Sprintf("%v is no multiple of %v", n, step)
	}
	return ""
}

func (c checker) text(s map[string]any, v any) string {
	text, is := v.(string)
	if !is {
		return ""
	}
	if why := counted(s, "minLength", "maxLength", utf8.RuneCountInString(text)); why != "" {
		return why
	}
	if expr, is := s["pattern"].(string); is && !regexp.MustCompile(expr).MatchString(text) {
		return fmt.Sprintf("%q doesn't match %q", text, expr)
	}
	return ""
}

func (c checker) array(s map[string]any, v any) string {
	all, is := v.([]any)
	if !is {
		return ""
	}
	first := listOf(s["prefixItems"])
	seen := map[string]bool{}
	for i, item := range all {
		schema, is := s["items"]
		if i < len(first) {
			schema, is = first[i], true
		}
		if is {
			if why := c.wrong(schema, item); why != "" {
				return fmt.Sprintf("item %d: %s", i, why)
			}
		}
		if s["uniqueItems"] == true && seen[plain(item)] {
			return fmt.Sprintf("%v is there twice", item)
		}
		seen[plain(item)] = true
	}
	return counted(s, "minItems", "maxItems", len(all))
}

func (c checker) object(s map[string]any, v any) string {
	all, is := v.(map[string]any)
	if !is {
		return ""
	}
	for _, name := range listOf(s["required"]) {
		if _, is := all[name.(string)]; !is {
			return fmt.Sprintf("%v is missing", name)
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for name, value := range all {
		schema, is := properties[name]
		if more, any := s["additionalProperties"]; !is && any {
			schema, is = more, true
		}
		if is {
			if why := c.wrong(schema, value); why != "" {
				return fmt.Sprintf("%s: %s", name, why)
			}
		}
	}
	return counted(s, "minProperties", "maxProperties", len(all))
}

func counted(s map[string]any, least, most string, n int) string {
	if low, is := s[least].(float64); is && float64(n) < low {
		return fmt.Sprintf("%d is less than %s=%v", n, least, low)
	}
	if high, is := s[most].(float64); is && float64(n) > high {
		return fmt.Sprintf("%d is more than %s=%v", n, most, high)
	}
	return ""
}

func listOf(v any) []any {
	all, _ := v.([]any)
	return all
}

func plain(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
