package lab

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

//go:embed testdata
var golden embed.FS

// sample is a report of two workloads: one with all that a table can have, one
// that isn't measured. Its figures mean nothing.
func sample() *Report {
	point := func(load, value float64, each ...float64) Point {
		return Point{Load: load, Value: value, Each: each, Classes: map[string]ClassPoint{
			"prefill": {Offered: 10 * load, Good: 10 * value, Refused: 10 * (load - value), TTFT: 0.5 * load, TPOT: 0.1, E2E: 1.2 * load},
			"decode":  {Offered: 5 * load, Good: 4 * value, Late: 5*load - 4*value, TTFT: 1, TPOT: 0.0444, E2E: 50},
		}, Tenants: map[string]float64{"loud": 40000 * value, "second": 12345}}
	}
	nothing := Point{Load: 2, Each: []float64{0, 0}, Classes: map[string]ClassPoint{
		"prefill": {Offered: 20, Refused: 20}, "decode": {Offered: 10, Lost: 10},
	}}
	t := Table{
		Workload: "mixed", About: "both classes, <half> each & no more", Missing: "no best split is known at load 2",
		Capacity: 15, Solo: map[string]float64{"prefill": 20, "decode": 10}, Runs: 2,
		Curves: []Curve{
			{"round robin", []Point{point(0.5, 0.4, 0.3, 0.5), nothing}},
			{BestStatic, []Point{point(0.5, 0.5, 0.5, 0.5), point(1, 0.9, 0.8, 1)}},
			{Ours, []Point{point(0.5, 0.5, 0.5, 0.5), point(1, 0.85, 0.8, 0.9), point(2, 0.875, 0.85, 0.9)}},
		},
	}
	t.compare()
	return &Report{Note: modelled, Command: "sluice lab --workload mixed", Tables: []Table{t, {Workload: "later", About: "not yet", Missing: "not measured"}}}
}

func TestReportText(t *testing.T) {
	var got strings.Builder
	if err := sample().WriteText(&got); err != nil {
		t.Fatal(err)
	}
	want, err := golden.ReadFile("testdata/report.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("testdata/report.txt differs; got\n%s", got.String())
	}
	for _, line := range strings.Split(got.String(), "\n") {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("line of %d characters: %q", n, line)
		}
	}
}

func TestReportJSON(t *testing.T) {
	var text bytes.Buffer
	if err := sample().WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var back Report
	d := json.NewDecoder(&text)
	d.DisallowUnknownFields()
	if err := d.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if p := back.Tables[0].curve(Ours).at(1); p.OfBest != 0.9444 || p.Worst != 0.9 {
		t.Errorf("ours ÷ best is %v, in the worst run %v, want 0.9444 and 0.9", p.OfBest, p.Worst)
	}
	if p := back.Tables[0].curve(Ours).at(2); p.OfBest != 0 {
		t.Errorf("without a best split the ratio is %v, want 0", p.OfBest)
	}
}

// shortPlan is small enough for a test: some policies at two loads, with a split
// that nobody has searched.
func shortPlan(t *testing.T) *Plan {
	t.Helper()
	w := named(t, "balanced")
	w.Yardstick = Yardstick{Capacity: 16.5, Solo: map[string]float64{"prefill": 52, "decode": 8.9}, Best: []Mark{{Load: 1.5, Split: strict}}}
	return &Plan{Workloads: []*Workload{w}, Policies: []string{choices, strictSplit, BestStatic, Ours}, Loads: []float64{1, 1.5}, Command: "sluice lab"}
}

// TestReportIsTheSame: to the byte, however the runs are spread on processors.
func TestReportIsTheSame(t *testing.T) {
	var texts [2]bytes.Buffer
	for i := range texts {
		told := 0
		report, err := shortPlan(t).Report(t.Context(), func(done, of int) {
			if told++; done != told || of != 21 {
				t.Errorf("told %d of %d after %d runs, want %d of 21", done, of, told, told)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := report.WriteJSON(&texts[i]); err != nil {
			t.Fatal(err)
		}
		judge(t, &report.Tables[0])
	}
	if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		t.Error("the same plan gave two reports")
	}
}

// judge checks what must hold in any table.
func judge(t *testing.T, table *Table) {
	t.Helper()
	if !strings.Contains(table.Missing, "at load 1:") {
		t.Errorf("missing: %q, want that no best split is known at load 1", table.Missing)
	}
	for _, c := range table.Curves {
		for _, p := range c.Points {
			for name, part := range p.Classes {
				if sum := part.Good + part.Late + part.Refused + part.Lost; math.Abs(sum-part.Offered) > 0.001 {
					t.Errorf("%s at %v: %v of %v %s have an outcome", c.Policy, p.Load, sum, part.Offered, name)
				}
			}
		}
	}
	if p := table.curve("strict split").at(1.5); p.OfBest != 1 || p.Worst != 1 {
		t.Errorf("strict split is %v of itself, in the worst run %v, want 1", p.OfBest, p.Worst)
	}
}

func TestReportOfWhatIsNotMeasured(t *testing.T) {
	p := shortPlan(t)
	p.Workloads[0].Yardstick = Yardstick{}
	report, err := p.Report(t.Context(), func(int, int) { t.Error("something was run") })
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return report.WriteText(b) },
		func(b *bytes.Buffer) error { return report.WriteJSON(b) },
		func(b *bytes.Buffer) error { return report.WriteHTML(b) },
		func(b *bytes.Buffer) error { return report.Tables[0].WriteSVG(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil || !strings.Contains(b.String(), "not measured") || strings.Contains(b.String(), "NaN") {
			t.Errorf("error %v, text %s", err, b.String())
		}
	}
}

func TestReportStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := shortPlan(t).Report(ctx, func(int, int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want that it was cancelled", err)
	}
}
