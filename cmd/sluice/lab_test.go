package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/router/lab"
)

// TestLab: a whole run of the command, every format of it.
func TestLab(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	code, stdout, stderr := sluice("lab", "--workload", "balanced", "--load", "1", "--policy", "sluice", "--out", dir)
	if code != exitOK || !strings.Contains(stdout, "\nBALANCED\n") || !strings.Contains(stdout, "Printed by: sluice lab --workload balanced --policy sluice --load 1\n") {
		t.Fatalf("exit code %d\nstdout %s\nstderr %s", code, stdout, stderr)
	}
	files := map[string]string{}
	for _, name := range []string{"lab.txt", "lab.json", "lab.html", "balanced.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	if files["lab.txt"] != stdout {
		t.Error("lab.txt isn't what was printed")
	}
	if !strings.HasPrefix(files["balanced.svg"], "<svg ") || !strings.Contains(files["lab.html"], files["balanced.svg"]) {
		t.Error("the page doesn't hold the plot")
	}
	var report lab.Report
	if err := json.Unmarshal([]byte(files["lab.json"]), &report); err != nil {
		t.Fatal(err)
	}
	if p := report.Tables[0].Curves[0].Points[0]; p.Load != 1 || len(p.Each) != 3 || !(p.Value > 0.5) {
		t.Errorf("got %+v, want load 1, three runs and a value above 0.5", p)
	}
}

// TestLabOwn: a workload of a file, with a yardstick of another.
func TestLabOwn(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := write("own.yaml", "about: mine\nkinds: [{name: a, class: prefill, share: 1, prompt: {median: 4000}, answer: {median: 5}, ttft: 2s}]\n")
	found := write("found.yaml", "own: {capacity: 20, solo: {prefill: 40}, best: [{load: 0.5, split: {caps: [[8, 8], [0, 0]], wait: [1s, 1s]}}]}\n")
	code, stdout, stderr := sluice("lab", "--file", own, "--yardstick", found, "--load", "0.5", "--policy", "best-split", "--policy", "sluice", "--format", "json")
	var report lab.Report
	if err := json.Unmarshal([]byte(stdout), &report); code != exitOK || err != nil {
		t.Fatalf("exit code %d, %v\nstderr %s", code, err, stderr)
	}
	if want := "sluice lab --file own.yaml --yardstick found.yaml --policy best-split --policy sluice --load 0.5"; report.Command != want {
		t.Errorf("command %q, want %q", report.Command, want)
	}
	if c := report.Tables[0].Curves; len(c) != 2 || c[0].Policy != lab.BestStatic || c[1].Points[0].OfBest == 0 {
		t.Errorf("curves %+v, want the best split's and ours compared with it", c)
	}
	for file, part := range map[string]string{
		write("bad.yaml", "kinds: []\n"):                      "bad.yaml: kinds: none is given",
		write("balanced.yaml", "kinds: [{priorities: high}]"): "balanced.yaml: line 1: field priorities not found\n",
		write("empty.yaml", ""):                               "empty.yaml: it is empty",
		filepath.Join(dir, "absent.yaml"):                     "no such file",
	} {
		if code, _, stderr := sluice("lab", "--file", file); code != exitConfig || !strings.Contains(stderr, part) {
			t.Errorf("%s: exit code %d, stderr %s", file, code, stderr)
		}
	}
	if code, _, stderr := sluice("lab", "--file", own, "--yardstick", own); code != exitConfig || !strings.Contains(stderr, "own.yaml: ") {
		t.Errorf("a workload for a yardstick: exit code %d, stderr %s", code, stderr)
	}
	if code, _, stderr := sluice("lab", "--yardstick", found); code != exitConfig || !strings.Contains(stderr, "no yardstick of the workloads that are run, only of own") {
		t.Errorf("a yardstick of something else: exit code %d, stderr %s", code, stderr)
	}
	if code, stdout, stderr := sluice("lab", "--out", filepath.Join(own, "below")); code != exitFailed || stdout != "" || !strings.Contains(stderr, "make the directory of --out") {
		t.Errorf("a place that can't be: exit code %d, stdout %s, stderr %s", code, stdout, stderr)
	}
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	tell := progress(&out, func() time.Time { return now })
	for i := range 4 {
		now = now.Add(4 * time.Second)
		tell(i+1, 7)
	}
	if want := "3 of 7 runs, about 16s left\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestTheDocumentedWorkload: what docs/operations.md shows is a workload.
func TestTheDocumentedWorkload(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(text), "A mix of your own is a file:\n\n```yaml\n")
	shown, _, _ = strings.Cut(shown, "```")
	if w, err := lab.ParseWorkload("mine", []byte(shown)); err != nil || len(w.Kinds) != 2 || w.Bursts.Ratio != 5 {
		t.Errorf("got %+v, %v", w, err)
	}
}

// TestLabFault: it is told of in the report, and in the command that prints it again.
func TestLabFault(t *testing.T) {
	code, stdout, stderr := sluice("lab", "--workload", "balanced", "--load", "0.5", "--policy", "sluice", "--fault", "slow-12B")
	const command = "Printed by: sluice lab --workload balanced --policy sluice --load 0.5 --fault slow-12B\n"
	if code != exitOK || !strings.Contains(stdout, "there is a fault, slow 12B") || !strings.Contains(stdout, command) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := sluice("lab", "--fault", "flood"); code != exitUsage || !strings.Contains(stderr, `there is no fault "flood"; use one of slow 27B, `) {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
}
