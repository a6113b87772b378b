package vllmsim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
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

// asNumber is a number, or what stands for none.
func asNumber(v any, none float64) float64 {
	if s, is := v.(interface{ Float64() (float64, error) }); is {
		if n, err := s.Float64(); err == nil {
			return n
		}
	}
	return none
}

// unlimited stands for a bound that isn't there.
const unlimited = math.MaxInt32

// count reads a bound that counts something.
func count(o object, name string, none int) int {
	return int(min(max(asNumber(o.get(name), float64(none)), 0), unlimited))
}

// decimal writes a number as JSON, never in exponents.
func decimal(v float64) string {
	return strconv.FormatFloat(v+0, 'f', -1, 64)
}
