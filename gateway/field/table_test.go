package field

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestTheTableNamesTests: each test that docs/reliability.md names is there, and
// the table names each test of this package but those of the bench.
func TestTheTableNamesTests(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w*`).FindAllString(string(table), -1) {
		named[name] = true
	}
	bench := map[string]bool{"TestMain": true, "TestTheBench": true, "TestTheTableNamesTests": true}
	here := testsIn(t, "*_test.go")
	for name := range here {
		if !named[name] && !bench[name] {
			t.Errorf("the table does not name %s", name)
		}
	}
	others := testsIn(t, "../*_test.go", "../openai/*_test.go", "../../router/*_test.go", "../../cmd/sluice/*_test.go")
	for name := range named {
		if !here[name] && !others[name] {
			t.Errorf("the table names %s, which does not exist", name)
		}
	}
}

// testsIn are the tests in the files that match.
func testsIn(t *testing.T, patterns ...string) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(code, -1) {
				found[string(m[1])] = true
			}
		}
	}
	return found
}
