package form

import (
	"fmt"
	"math"
	"slices"
)

// kindsOf is which types a value may have. Where a schema doesn't say, its other
// members hint at one.
func kindsOf(o object) ([]string, error) {
	all := []string{"string", "integer", "boolean", "number", "null", "object", "array"}
	var kinds []string
	switch v := o.get("type").(type) {
	case nil:
		return hinted(o, all), nil
	case string:
		kinds = []string{v}
	case list:
		for _, kind := range v {
			kinds = append(kinds, fmt.Sprint(kind))
		}
	}
	for _, kind := range kinds {
		if !slices.Contains(all, kind) {
			return nil, wrong("Invalid type: %s", kind)
		}
	}
	return kinds, nil
}

func hinted(o object, all []string) []string {
	if _, is := o.find("enum"); is {
		return all
	}
	for _, m := range o {
		switch m.name {
		case "properties", "required", "additionalProperties", "minProperties", "maxProperties", "patternProperties":
			return []string{"object"}
		case "items", "prefixItems", "minItems", "maxItems":
			return []string{"array"}
		case "minLength", "maxLength", "pattern", "format":
			return []string{"string"}
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
			return []string{"number"}
		}
	}
	return all[:5]
}

// isOf says whether a value is of one of the kinds.
func isOf(v any, kinds []string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool {
		switch v.(type) {
		case string:
			return kind == "string"
		case bool:
			return kind == "boolean"
		case nil:
			return kind == "null"
		case object:
			return kind == "object"
		case list:
			return kind == "array"
		}
		n := asNumber(v, math.NaN())
		return kind == "number" || kind == "integer" && n == math.Trunc(n)
	})
}

func asList(v any) list {
	all, _ := v.(list)
	return all
}
