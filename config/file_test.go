package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int64) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("log: {level: info}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if size > 0 {
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	f := func(path, want string) {
		t.Helper()
		data, err := readFile(path)
		switch {
		case want == "" && (err != nil || len(data) == 0):
			t.Errorf("%s: %d bytes, error %v", path, len(data), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got error %v, want %q", path, err, want)
		}
	}
	f(write("small", 0), "")
	f(write("largest", int64(maxFile)), "")
	f(write("too large", int64(maxFile)+1), "is larger than 16MiB")
	f(dir, "is not a regular file")
	f(os.DevNull, "is not a regular file")
	f(filepath.Join(dir, "missing"), "no such file")
}
