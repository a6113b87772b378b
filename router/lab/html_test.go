package lab

import (
	"slices"
	"strings"
	"testing"
)

func TestHTML(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if !strings.HasPrefix(text, "<!doctype html>\n") || strings.Contains(text, "ZgotmplZ") {
		t.Errorf("not the page:\n%s", text)
	}
	count := map[string]int{}
	var texts []string
	for _, e := range elements(t, text) { // the page is well-formed XML, too
		count[e.name]++
		texts = append(texts, strings.TrimSpace(e.text))
		if src := e.attrs["src"]; src != "" || e.name == "link" || e.name == "script" {
			t.Errorf("the page needs or runs something else: %v", e)
		}
		if href := e.attrs["href"]; href != "" && !strings.HasPrefix(href, "#") {
			t.Errorf("the page leads to %s", href)
		}
	}
	if count["svg"] != 2 || count["section"] != 2 || count["table"] != 8 || count["h1"] != 1 {
		t.Errorf("counts of elements: %v", count)
	}
	for _, want := range []string{"both classes, <half> each & no more", "not measured", "sluice lab --workload mixed --format html", "sluice ÷ best split", "0.94", "Normalised value goodput, by load"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no element says %q", want)
		}
	}
	if !strings.Contains(text, "roofline model of the engine with assumed efficiencies") {
		t.Error("the page doesn't say that it is modelled")
	}
}
