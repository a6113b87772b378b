package form

import (
	"fmt"
)

// measure finds the depth of all schemas: once round for each level that there is,
// so that what contains itself comes to an end or is found to have none.
func (c *compiler) measure() {
	for _, s := range c.nodes {
		s.depth = never
	}
	for changed := true; changed; {
		changed = false
		for _, s := range c.nodes {
			if depth := s.least(); depth < s.depth {
				s.depth, changed = depth, true
			}
		}
	}
	for _, s := range c.nodes {
		if s.depth >= never {
			c.explain(s)
		}
	}
}

// least is the depth of the shallowest value, as far as is known.
func (s *Schema) least() int {
	if len(s.values) > 0 {
		return 0
	}
	depth := never
	for _, option := range s.options {
		depth = min(depth, option.depth)
	}
	for _, kind := range s.kinds {
		depth = min(depth, s.depthOf(kind))
	}
	return depth
}

// depthOf is the depth of the shallowest value of one kind.
func (s *Schema) depthOf(kind string) int {
	switch kind {
	case "array":
		return s.items.depth()
	case "object":
		return s.fields.depth()
	}
	return 0
}

// explain says why s has no value, the innermost reason first.
func (c *compiler) explain(s *Schema) {
	for _, kind := range s.kinds {
		switch {
		case kind == "array" && s.items.least > s.items.most:
			c.blame("minItems (%d) is greater than maxItems (%d)", s.items.least, s.items.most)
		case kind == "object":
			for _, f := range s.fields.all {
				if f.required && f.value.depth >= never && len(f.value.kinds) == 0 {
					c.cause = fmt.Sprintf("required property '%s' is unsatisfiable", f.name)
				}
			}
		}
	}
	c.blame("no value satisfies it")
}
