package tune

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestSet(t *testing.T) {
	f := func(before, path string, from, to int, want string) {
		t.Helper()
		file := NewFile("f", []byte(before))
		if err := file.Set(strings.Split(path, "."), from, to); err != nil {
			t.Errorf("%q: %v", before, err)
		}
		if got := string(file.Content()); got != want {
			t.Errorf("%q: got\n%q, want\n%q", before, got, want)
		}
	}
	f("a:\n  b: 1 # why\n", "a.b", 1, 22, "a:\n  b: 22 # why\n")
	f("a: {b: 128, c: 128} # ü\n", "a.c", 128, 7, "a: {b: 128, c: 7} # ü\n")
	f("ü: {ü: 5, c: 128}\n", "ü.c", 128, 7, "ü: {ü: 5, c: 7}\n")
	f("a: {c: 1}\r\n", "a.b", 0, 7, "a: {b: 7, c: 1}\r\n")
	f("a: {}\n", "a.b", 0, 7, "a: {b: 7}\n")
	f("a:\n  c: 1\n  # of d\n  d: [2]\n", "a.b", 0, 7, "a:\n  c: 1\n  b: 7\n  # of d\n  d: [2]\n")
	f("a:\r\n  c: 1\r\n", "a.b", 0, 7, "a:\r\n  c: 1\r\n  b: 7\r\n")
	f("a:\n  c: 1", "a.b", 0, 7, "a:\n  c: 1\n  b: 7\n")
	f("a:\n  # of d\n  d:\n    - 2\n", "a.b", 0, 7, "a:\n  # of d\n  b: 7\n  d:\n    - 2\n")
	f("a:\n  c: x\n", "a.cap.total", 64, 7, "a:\n  c: x\n  cap: {total: 7}\n")
	f("x: &x {b: 1}\na:\n  <<: *x\n  c: 1\n", "a.b", 1, 7, "x: &x {b: 1}\na:\n  <<: *x\n  c: 1\n  b: 7\n")
}

func TestSetRefuses(t *testing.T) {
	f := func(before, path string, want string) {
		t.Helper()
		file := NewFile("f", []byte(before))
		err := file.Set(strings.Split(path, "."), 1, 2)
		if err == nil || !strings.Contains(err.Error(), want) || string(file.Content()) != before || file.Diff() != "" {
			t.Errorf("%q: got error %v, want %q; now %q", before, err, want, file.Content())
		}
	}
	f("", "a", "empty")
	f("a: [", "a", "line 1")
	f("a: {b: 3}\n", "a.b", `the file says "3", but 1 is in force`)
	f("x: &x {b: 1}\na: *x\n", "a.b", "a is shared")
	f("x: &x 1\na: *x\n", "a", "shared")
	f("a: 7\n", "a.b", "no map")
	f("- a: 1\n", "a", "no map")
}

func TestDiff(t *testing.T) {
	file := NewFile("sluice.yaml", []byte("1: 1\n2: 2\n3: 3\n4: 4\n5: 5\n6: 6\n7: 7\n8: 8\n9: 9\n10: 10\n11: {x: 0}\n12: 12"))
	for _, c := range []struct {
		path     string
		from, to int
	}{{"2", 2, 22}, {"12", 12, 13}, {"11.y", 0, 1}, {"11.x", 0, 5}} {
		if err := file.Set(strings.Split(c.path, "."), c.from, c.to); err != nil {
			t.Fatal(err)
		}
	}
	const want = `--- sluice.yaml
+++ sluice.yaml
@@ -1,5 +1,5 @@
 1: 1
-2: 2
+2: 22
 3: 3
 4: 4
 5: 5
@@ -8,5 +8,5 @@
 8: 8
 9: 9
 10: 10
-11: {x: 0}
-12: 12
\ No newline at end of file
+11: {y: 1, x: 5}
+12: 13
\ No newline at end of file
`
	if got := file.Diff(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDiffOfNewLines(t *testing.T) {
	file := NewFile("f", []byte("a:\n  b: 1\n"))
	if err := file.Set([]string{"a", "c"}, 0, 2); err != nil {
		t.Fatal(err)
	}
	if got, want := file.Diff(), "--- f\n+++ f\n@@ -1,2 +1,3 @@\n a:\n   b: 1\n+  c: 2\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What Set has done reads back as what was asked for, and it never panics.
func FuzzSet(f *testing.F) {
	f.Add("pools:\n  p:\n    cap: {total: 1} # x\n", "cap", "total")
	f.Add("pools: {p: {cap: &c {total: 1}, d: *c}}\n", "cap", "prefill")
	f.Add("? pools\n: p: {x: 1,\n  cap: {}}\n", "cap", "total")
	f.Add("pools:\n  p: {cap: {total: 0x1}, \"é\": 1}\r\n", "cap", "total")
	f.Fuzz(func(t *testing.T, text, key, last string) {
		for _, word := range []string{key, last} { // as settings are called
			if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_") != "" || word == "null" || word == "true" || word == "false" {
				return
			}
		}
		file := NewFile("f", []byte(text))
		if file.Set([]string{"pools", "p", key, last}, 1, 2) != nil {
			return
		}
		_ = file.Diff()
		var now struct {
			Pools map[string]map[string]map[string]any
		}
		if err := yaml.Unmarshal(file.Content(), &now); err == nil && now.Pools["p"][key][last] != 2 {
			t.Errorf("%q became %q, where it is %v", text, file.Content(), now.Pools["p"][key][last])
		}
	})
}
