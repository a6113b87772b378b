package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sluice/router/lab"
)

const labHelp = `Usage: sluice lab [flags]

Plays workloads against modelled replicas (two of Gemma 3 27B and two of 12B on TPU
v6e 2x2) in virtual time, under this router and others, and prints what each serves
within its SLO at several loads. Load 1 is what the best static split, fitted to that
very workload with the true classes known, serves 95 % of. All is modelled: it shows
which policy is better where, not what your TPUs do.

The default is three workloads, in under 3 minutes. Results are the same each time.

An own workload is a file like those in router/lab/workloads. What it is measured by
is searched first: quickly, in some minutes. To search thoroughly, and once:

  sluice lab --file mine.yaml --find > found.yaml
  sluice lab --file mine.yaml --yardstick found.yaml

`

// ownEvaluations is how many splits are tried for each load of an own workload
// that brings no yardstick; findEvaluations for those that are kept.
const (
	ownEvaluations  = 60
	findEvaluations = 400
)

// runLab is the command sluice lab.
func runLab(p process, args []string) error {
	var f labFlags
	fs := flags("lab")
	f.define(fs)
	if err := parse(p, fs, labHelp+"Flags:\n", args); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return usageError{"lab", err.Error()}
	}
	workloads, err := f.workloads()
	if err != nil {
		return err
	}
	if f.find {
		return findAll(p, workloads)
	}
	if err := f.makeOut(); err != nil { // before minutes of work that would have nowhere to go
		return err
	}
	if err := f.measure(p, workloads); err != nil {
		return err
	}
	plan := lab.Plan{Workloads: workloads, Policies: f.policies, Loads: f.loads, Fault: f.fault, Command: f.command()}
	report, err := plan.Report(p.ctx, progress(p.stderr, time.Now))
	if err != nil {
		return stopped(p.ctx, err)
	}
	if err := formats()[f.format](report, p.stdout); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return f.save(report)
}

// stopped says that the user did it.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("stopped before the end")
	}
	return err
}

// findAll prints the yardsticks of workloads as yardstick.yaml has them, each as
// soon as it is found.
func findAll(p process, workloads []*lab.Workload) error {
	for _, w := range workloads {
		y, err := find(p, w, lab.Loads(), findEvaluations)
		if err != nil {
			return err
		}
		text, err := lab.FormatYardstick(w.Name, y)
		if err != nil {
			return fmt.Errorf("write the yardstick of %s: %w", w.Name, err)
		}
		if _, err := p.stdout.Write(text); err != nil {
			return fmt.Errorf("print the yardstick of %s: %w", w.Name, err)
		}
	}
	return nil
}

// find searches a workload's yardstick. A search can't be stopped half-way: when
// the user asks for it, the process ends under it.
func find(p process, w *lab.Workload, loads []float64, evaluations int) (lab.Yardstick, error) {
	found := make(chan lab.Yardstick, 1)
	go func() {
		found <- lab.Find(w, loads, evaluations, func(format string, args ...any) {
			fmt.Fprintf(p.stderr, format+"\n", args...)
		})
	}()
	select {
	case y := <-found:
		return y, nil
	case <-p.ctx.Done():
		return lab.Yardstick{}, stopped(p.ctx, nil)
	}
}

// measure finds the yardstick of an own workload that has none.
func (f *labFlags) measure(p process, workloads []*lab.Workload) error {
	for _, w := range workloads {
		if w.Name != f.own || w.Capacity > 0 {
			continue
		}
		fmt.Fprintf(p.stderr, "%s has no yardstick: searching one with %d splits for each load\n", w.Name, ownEvaluations)
		y, err := find(p, w, f.loads, ownEvaluations)
		if err != nil {
			return err
		}
		w.Yardstick = y
	}
	return nil
}

// progress tells how far runs are, every ten seconds.
func progress(w io.Writer, now func() time.Time) func(done, of int) {
	const every = 10 * time.Second
	began := now()
	told := began
	return func(done, of int) {
		at := now()
		if at.Sub(told) < every {
			return
		}
		told = at
		left := at.Sub(began) * time.Duration(of-done) / time.Duration(done)
		fmt.Fprintf(w, "%d of %d runs, about %v left\n", done, of, left.Round(time.Second))
	}
}

// formats are the ways to write a report.
func formats() map[string]func(*lab.Report, io.Writer) error {
	return map[string]func(*lab.Report, io.Writer) error{
		"text": (*lab.Report).WriteText, "json": (*lab.Report).WriteJSON, "html": (*lab.Report).WriteHTML,
	}
}

func (f *labFlags) makeOut() error {
	if f.out == "" {
		return nil
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return fmt.Errorf("make the directory of --out: %w", err)
	}
	return nil
}

// save writes the report in every format, and a plot for each workload.
func (f *labFlags) save(report *lab.Report) error {
	if f.out == "" {
		return nil
	}
	files := map[string]func(io.Writer) error{}
	for format, name := range map[string]string{"text": "lab.txt", "json": "lab.json", "html": "lab.html"} {
		files[name] = func(w io.Writer) error { return formats()[format](report, w) }
	}
	for i := range report.Tables {
		files[report.Tables[i].Workload+".svg"] = report.Tables[i].WriteSVG
	}
	return writeFiles(f.out, files)
}

func writeFiles(dir string, files map[string]func(io.Writer) error) error {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := writeFile(filepath.Join(dir, name), files[name]); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
