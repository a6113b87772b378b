package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/config"
)

// What docs/threat-model.md promises of memory, in bytes for each of what costs
// them, and besides for what the garbage collector leaves lying about.
const (
	idleConnection = 16 << 10  // says nothing, or has had its answer
	openRequest    = 96 << 10  // its head is arriving, or its body, or its answer is going out
	oneAnswer      = 192 << 20 // three times limits.answer, which is reached by doubling
	garbage        = 64 << 20  // whatever the load
)

// TestThreatModel: the tests that the page names exist, and the limits that it gives
// are the defaults and what the tests allow.
func TestThreatModel(t *testing.T) {
	page, err := os.ReadFile("../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	exist := make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(source, -1) {
			exist[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllSubmatch(page, -1)
	if len(named) < 20 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, m := range named {
		if !exist[string(m[1])] {
			t.Errorf("there is no test %s", m[1])
		}
	}
	for _, promise := range []string{
		fmt.Sprintf("%d KiB each |", idleConnection>>10), fmt.Sprintf("%d KiB each |", openRequest>>10),
		fmt.Sprintf("up to %d MiB whatever the load", garbage>>20), "three times `limits.answer`",
	} {
		if !strings.Contains(string(page), promise) {
			t.Errorf("the page doesn't promise %q", promise)
		}
	}
	limits := regexp.MustCompile("(?m)^\\| `(limits|timeouts)\\.(\\w+)` \\| (\\w+) \\|").FindAllSubmatch(page, -1)
	if len(limits) < 10 {
		t.Errorf("the page gives %d limits", len(limits))
	}
	for _, m := range limits {
		_, section, _ := strings.Cut(config.Reference, "\n"+string(m[1])+":\n")
		if _, value, _ := strings.Cut(section, "\n  "+string(m[2])+": "); !strings.HasPrefix(value, string(m[3])+"\n") {
			t.Errorf("%s.%s: the page says %s, the reference %.10q", m[1], m[2], m[3], value)
		}
	}
}
