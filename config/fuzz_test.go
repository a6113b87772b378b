package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever the file holds: a valid configuration, or problems of one line each.
func FuzzParse(f *testing.F) {
	f.Add([]byte(Reference))
	f.Add([]byte(small))
	f.Add([]byte("pools: &a {x: *a}\n"))
	f.Add([]byte("? {a: b}\n: c\n<<: d\n!!binary x: y\n"))
	files, _ := filepath.Glob("testdata/broken/*.yaml")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse("f.yaml", data)
		if err != nil {
			onlyProblems(t, err)
			return
		}
		if err := cfg.Validate(); err != nil {
			t.Errorf("parsed, but not valid: %v", err)
		}
		if d := cfg.Diff(cfg); len(d) > 0 {
			t.Errorf("differs from itself: %q", d)
		}
	})
}

func onlyProblems(t *testing.T, err error) {
	t.Helper()
	var ps Problems
	if !errors.As(err, &ps) || len(ps) == 0 {
		t.Fatalf("got %T %v, want Problems", err, err)
	}
	for _, p := range ps {
		if line := p.String(); strings.ContainsAny(line, "\n\r") || p.File == "" || p.Text == "" {
			t.Errorf("not one line that says where and what: %q", line)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	f.Add("32MiB")
	f.Add("-9223372036854775808")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBytes(text)
		if err != nil {
			return
		}
		if back, err := ParseBytes(b.String()); err != nil || back != b {
			t.Errorf("%q is %d, written %s, read back %d with error %v", text, b, b, back, err)
		}
	})
}

// The environment comes from outside too.
func FuzzVariable(f *testing.F) {
	f.Add("POOLS__BIG__CAP__TOTAL", "3")
	f.Add("LOG__LEVEL", "debug")
	f.Add("__", "::")
	f.Fuzz(func(t *testing.T, name, value string) {
		r := newReader("f.yaml")
		cfg, err := r.build(r.file([]byte(small)), []string{envPrefix + name + "=" + value}, nil)
		if err == nil {
			err = cfg.Validate()
		}
		if err != nil {
			onlyProblems(t, err)
		}
	})
}
