package form

import (
	"bytes"
	"math"
	"slices"
)

// merge is the schema of what satisfies both a and b, neither of which has
// references or allOf that matter beyond their own level.
func merge(a, b object) object {
	for _, m := range b {
		if old, is := a.find(m.name); is {
			a = a.with(m.name, meet(m.name, old, m.value))
		} else {
			a = a.with(m.name, m.value)
		}
	}
	return a
}

// meet is one member of merge.
func meet(name string, a, b any) any {
	switch name {
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return pick(a, b, func(a, b float64) bool { return a >= b })
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return pick(a, b, func(a, b float64) bool { return a <= b })
	case "multipleOf":
		return pick(a, b, func(a, b float64) bool { return math.Mod(a, b) == 0 })
	case "required", "allOf":
		return append(slices.Clone(asList(a)), asList(b)...)
	case "enum":
		return common(asList(a), asList(b))
	case "type":
		return commonKinds(a, b)
	case "properties":
		return mergeProperties(a, b)
	case "anyOf", "oneOf":
		var options list
		for _, option := range asList(a) {
			options = append(options, object{{"allOf", list{option, object{{name, b}}}}})
		}
		return options
	case "items", "additionalProperties", "additionalItems":
		return object{{"allOf", list{a, b}}}
	}
	return a
}

// pick is a where a is the stricter one.
func pick(a, b any, stricter func(a, b float64) bool) any {
	if stricter(asNumber(a, math.NaN()), asNumber(b, math.NaN())) {
		return a
	}
	return b
}

// common are the values of both.
func common(a, b list) list {
	return slices.DeleteFunc(slices.Clone(a), func(v any) bool {
		return !slices.ContainsFunc(b, func(w any) bool { return bytes.Equal(appendSpaced(nil, v), appendSpaced(nil, w)) })
	})
}

// commonKinds are the types of both; an integer is a number.
func commonKinds(a, b any) any {
	ours, theirs := kindList(a), kindList(b)
	both := list{}
	for _, kind := range ours {
		if slices.Contains(theirs, kind) || kind == any("integer") && slices.Contains(theirs, any("number")) {
			both = append(both, kind)
		}
	}
	if slices.Contains(theirs, any("integer")) && slices.Contains(ours, any("number")) && !slices.Contains(both, any("integer")) {
		both = append(both, "integer")
	}
	return both
}

func kindList(v any) list {
	if all, is := v.(list); is {
		return all
	}
	return list{v}
}

func mergeProperties(a, b any) any {
	both, _ := a.(object)
	more, _ := b.(object)
	for _, m := range more {
		if old, is := both.find(m.name); is {
			both = both.with(m.name, object{{"allOf", list{old, m.value}}})
		} else {
			both = both.with(m.name, m.value)
		}
	}
	return both
}
