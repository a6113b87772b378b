package form

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// judge writes texts by a schema and judges each of them.
func judge(t *testing.T, text string, seeds int) {
	t.Helper()
	s, err := NewSchema([]byte(text))
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	var root any
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	object, _ := root.(map[string]any)
	for seed := range uint64(seeds) {
		answer := s.Text(seed, 1<<17)
		var v any
		if err := json.Unmarshal([]byte(answer), &v); err != nil {
			t.Fatalf("%s: seed %d gives %s: %v", text, seed, answer, err)
		}
		if why := (checker{object}).wrong(root, v); why != "" {
			t.Fatalf("%s: seed %d gives %s: %s", text, seed, answer, why)
		}
	}
}

// satisfiable are schemas of everything that is understood.
var satisfiable = []string{
	`{}`, `true`, `{"type":"object"}`, `{"type":"array"}`, `{"type":["string","null"]}`,
	`{"type":"object","properties":{"flag":{"type":"boolean"}},"required":["flag"],"additionalProperties":false}`,
	`{"type":"object","properties":{"a":{"type":"integer","minimum":3,"maximum":5},"b":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1},"c":{"type":"integer","multipleOf":7,"minimum":50}},"required":["c","b"]}`,
	`{"type":"array","items":{"type":"string","minLength":3,"maxLength":5},"minItems":2,"maxItems":4}`,
	`{"type":"array","prefixItems":[{"type":"integer"},{"const":"x"}],"items":false}`,
	`{"type":"array","items":{"enum":[1,2,3]},"uniqueItems":true,"minItems":3}`,
	`{"type":"string","minLength":40}`, `{"type":"string","maxLength":0}`, `{"type":"string","pattern":"^[A-Z]{2}-\\d+$"}`, `{"type":"string","pattern":"b","maxLength":3}`,
	`{"enum":["a",1,null,{"x":[1,2]}]}`, `{"const":{"b":1,"a":2}}`, `{"type":"integer","enum":[1,"x",2]}`,
	`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `{"oneOf":[{"type":"object","properties":{"k":{"const":1}},"required":["k"]},{"type":"null"}]}`,
	`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"anyOf":[{"properties":{"x":{"type":"string"}},"required":["x"]},{"properties":{"y":{"type":"null"}},"required":["y"]}]}`,
	`{"allOf":[{"type":"object","properties":{"a":{"type":"integer","minimum":2}},"required":["a"]},{"properties":{"a":{"maximum":3},"b":{"type":"boolean"}},"required":["b"]}]}`,
	`{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"]}}}`,
	`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}},"required":["children"]}`,
	`{"type":"object","properties":{"a":{"$ref":"#/definitions/n","description":"d","minimum":5}},"required":["a"],"definitions":{"n":{"type":"integer"}}}`,
	`{"type":"object","additionalProperties":{"type":"integer"},"minProperties":2,"maxProperties":3}`,
	`{"type":"object","properties":{"a":true,"b":true,"c":true},"minProperties":2,"maxProperties":2,"additionalProperties":false}`,
	`{"type":"object","required":["extra"]}`, `{"type":"number","maximum":-5}`, `{"type":"integer","exclusiveMinimum":9,"exclusiveMaximum":11}`, `{"type":"number","minimum":1e10}`,
	`{"properties":{"quoted \"name\"":{"type":"string"}},"required":["quoted \"name\""]}`, `{"type":"object","properties":{"no":false,"yes":{"type":"integer"}}}`,
}

func TestAnswersSatisfyTheirSchema(t *testing.T) {
	for _, text := range satisfiable {
		judge(t, text, 40)
	}
}

func TestFormats(t *testing.T) {
	for name, expr := range map[string]string{
		"date-time": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, "date": `^\d{4}-\d\d-\d\d$`, "time": `^\d\d:\d\d:\d\dZ$`, "duration": `^P\d+D$`, "email": `^\w+@example\.com$`,
		"hostname": `^\w+\.example\.com$`, "uri": `^https://`, "ipv4": `^192\.0\.2\.\d+$`, "ipv6": `^2001:db8::`, "uuid": `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$`,
	} {
		s, err := NewSchema([]byte(`{"type":"string","format":"` + name + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := json.Unmarshal([]byte(s.Text(7, 100)), &got); err != nil || !regexp.MustCompile(expr).MatchString(got) {
			t.Errorf("%s: got %q (%v), want %s", name, got, err, expr)
		}
	}
}

func TestSchemasThatNothingSatisfies(t *testing.T) {
	f := func(schema, want string) {
		t.Helper()
		if _, err := NewSchema([]byte(schema)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", schema, err, want)
		}
	}
	f(`{"type":"nosuch"}`, "Invalid type: nosuch")
	f(`{"$ref":"#/$defs/no"}`, "Pointer '/$defs/no' does not exist")
	f(`{"type":"integer","minimum":5,"maximum":1}`, "Unsatisfiable schema: minimum (5) is greater than maximum (1)")
	f(`{"type":"object","properties":{"a":false},"required":["a"]}`, "Unsatisfiable schema: required property 'a' is unsatisfiable")
	f(`{"enum":[]}`, "Unsatisfiable schema: anyOf is empty")
	f(`{"type":"array","minItems":3,"maxItems":1}`, "Unsatisfiable schema: minItems (3) is greater than maxItems (1)")
	f(`{"not":{}}`, `Unimplemented keys: ["not"]`)
	f(`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"]}}}`, "Unsatisfiable schema: required property 'a' is unsatisfiable")
	f(strings.Repeat(`{"items":`, 70)+`{}`+strings.Repeat(`}`, 70), "The JSON schema is nested too deeply: objects and arrays may nest at most 64 levels")
	f(doubling(40), "Schema is too large")
}

// doubling is a small schema that becomes twice as large with each of n levels.
func doubling(n int) string {
	defs := fmt.Sprintf(`"a%d":{"type":"string"}`, n)
	for i := range n {
		defs += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1)
	}
	return `{"$ref":"#/$defs/a0","$defs":{` + defs + `}}`
}

func TestAnswersAreOfTheirPattern(t *testing.T) {
	for _, expr := range []string{"", "a", "[a-f]{3}-[0-9]+x", "(yes|no)( maybe)?", `\d{3,5}\.?`, "[^a-z]", "(?i)hello", `\w+@\w+\.com`, "^a*$", ".*", "(a|b|cd){2,}", `[[:upper:]]\s`, "[a-z]{50}", `\p{Greek}`, `(\bfoo\b )+bar`} {
		p, err := NewPattern(expr)
		if err != nil {
			t.Fatal(err)
		}
		whole := regexp.MustCompile(`\A(?:` + expr + `)\z`)
		for seed := range uint64(50) {
			if text := p.Text(seed, 1<<12); !whole.MatchString(text) {
				t.Fatalf("%q: seed %d gives %q", expr, seed, text)
			}
		}
	}
	for _, expr := range []string{"a(", "(?<x", "a(?=b)", `a\bb`} {
		if _, err := NewPattern(expr); err == nil {
			t.Errorf("%q is accepted", expr)
		}
	}
}

// Whatever is asked for is refused or given.
func FuzzSchemas(f *testing.F) {
	for _, text := range satisfiable {
		f.Add([]byte(text), uint64(1))
	}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		var root any
		if json.Unmarshal(raw, &root) != nil {
			return
		}
		s, err := NewSchema(raw)
		if err != nil {
			return
		}
		p := newPen(seed, 1<<12)
		if p.value(s, 0); !p.full() && !json.Valid(p.text) {
			t.Errorf("%s: %s", raw, p.text)
		}
	})
}

// grown makes a schema of random choices, of which every one can be satisfied.
func grown(p *pen, level int) map[string]any {
	few := func() float64 { return float64(p.roll(4)) }
	if level == 0 {
		return map[string]any{"type": []string{"string", "integer", "boolean", "null", "number"}[p.roll(5)]}
	}
	switch p.roll(8) {
	case 0:
		low := few()
		return map[string]any{"type": "string", "minLength": low, "maxLength": low + few()}
	case 1:
		low := few() - 2
		return map[string]any{"type": "integer", "minimum": low, "maximum": low + few()}
	case 2:
		low := few()
		return map[string]any{"type": "array", "items": grown(p, level-1), "minItems": low, "maxItems": low + few()}
	case 3:
		return map[string]any{"anyOf": []any{grown(p, level-1), grown(p, level-1)}}
	case 4:
		return map[string]any{"enum": []any{"x", few(), nil}}
	case 5:
		return map[string]any{"$ref": "#/$defs/leaf"}
	case 6:
		return map[string]any{"type": "number", "exclusiveMinimum": few(), "maximum": 9.0, "multipleOf": 0.5}
	}
	properties, required := map[string]any{}, []any{}
	for i := range 1 + p.roll(4) {
		name := fmt.Sprintf("p%d", i)
		properties[name] = grown(p, level-1)
		if p.roll(2) == 0 {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": p.roll(2) == 0}
}

func FuzzGrownSchemas(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		p := newPen(seed, 0)
		s := grown(p, 3)
		s["$defs"] = map[string]any{"leaf": grown(p, 0)}
		judge(t, plain(s), 5)
	})
}

func FuzzPatterns(f *testing.F) {
	f.Add(`[a-f]{3}-\d+x`, uint64(1))
	f.Add(`(?:a|b*)+?`, uint64(2))
	f.Fuzz(func(t *testing.T, expr string, seed uint64) {
		p, err := NewPattern(expr)
		if err != nil {
			return
		}
		const room = 1 << 10
		if text, is := p.draw(newPen(seed, room)); is && len(text) < room && !regexp.MustCompile(`\A(?:`+expr+`)\z`).MatchString(text) {
			t.Errorf("%q: %q", expr, text)
		}
	})
}
