package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each broken file has one mistake, and its .want the one line that says so.
func TestBrokenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("got %d broken files and error %v, want at least 20", len(files), err)
	}
	for _, name := range files {
		want, err := os.ReadFile(strings.TrimSuffix(name, ".yaml") + ".want")
		if err != nil {
			t.Error(err)
		}
		broken(t, name, strings.TrimSpace(string(want)))
	}
}

func broken(t *testing.T, name, want string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := Parse(filepath.Base(name), data)
	if cfg != nil || err == nil {
		t.Errorf("%s: got no error, want %s", name, want)
		return
	}
	if got := err.Error(); got != want {
		t.Errorf("%s:\n got %s\nwant %s", filepath.Base(name), got, want)
	}
}
