package vllmsim

import (
	"strings"
	"testing"
)

// What a bound cuts is the beginning of what it would have been.
func TestAFormIsCutByItsBound(t *testing.T) {
	write, err := jsonWriter([]byte(`{"type":"string","minLength":1000000}`))
	if err != nil {
		t.Fatal(err)
	}
	long := newPlan(3, bounds{most: 40, script: write.script})
	short := newPlan(3, bounds{most: 10, script: write.script})
	if long.reason != reached || short.tokens != 10 || !strings.HasPrefix(long.text(0, 40), short.text(0, 10)) {
		t.Errorf("got %q and %q", long.text(0, 40), short.text(0, 10))
	}
}
