package router

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// What the policy knows of replicas it learns, or it is configured. If it could
// read the constants of the simulated engine, a simulation would prove nothing.
// Only the advice of `sluice check`, which decides nothing, may.
func TestPolicyCannotReadTheEngine(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	for _, name := range files {
		if name == "advise.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); strings.HasPrefix(path, "sluice/router/tpu") {
				t.Errorf("%s imports %s: the policy learns what replicas cost, it doesn't look it up", name, path)
			}
		}
	}
}
