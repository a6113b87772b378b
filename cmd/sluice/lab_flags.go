package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sluice/router/lab"
)

// labFlags is the command line of lab.
type labFlags struct {
	named     []string // workloads
	all       bool
	policies  []string
	loads     []float64
	fault     string
	format    string
	out       string
	find      bool
	file      string
	own       string // the workload of file
	yardstick string
}

func (f *labFlags) define(fs *flag.FlagSet) {
	fs.Func("workload", "`name` of a workload; may be given several times (default balanced, classification and generation)", func(name string) error {
		f.named = append(f.named, name)
		return nil
	})
	fs.BoolVar(&f.all, "all", false, "all workloads: under 30 minutes")
	fs.Func("policy", "`name` of a policy to run; may be given several times (default all: "+strings.Join(lab.Compared(), ", ")+")", f.policy)
	fs.Func("load", "`load` in units of capacity; may be given several times (default "+strings.Trim(fmt.Sprint(lab.Loads()), "[]")+")", f.load)
	fs.Func("fault", "`name` of a fault in each run: "+strings.Join(lab.Faults(), ", "), f.spoil)
	fs.StringVar(&f.format, "format", "text", "what is printed: text, json or html")
	fs.StringVar(&f.out, "out", "", "`directory` to write lab.txt, lab.json, lab.html and a plot of each workload to")
	fs.BoolVar(&f.find, "find", false, "search the best static splits anew, and print them as router/lab/yardstick.yaml has them: many minutes for each workload")
	fs.StringVar(&f.file, "file", "", "an own workload's `file`")
	fs.StringVar(&f.yardstick, "yardstick", "", "`file` that --find has printed, instead of what is committed")
}

func (f *labFlags) policy(name string) error {
	name = strings.ReplaceAll(name, "-", " ")
	if !slices.Contains(lab.Compared(), name) {
		return fmt.Errorf("there is no policy %q; use one of %s", name, strings.Join(lab.Compared(), ", "))
	}
	f.policies = append(f.policies, name)
	return nil
}

func (f *labFlags) spoil(name string) error {
	f.fault = strings.ReplaceAll(name, "-", " ")
	if !slices.Contains(lab.Faults(), f.fault) {
		return fmt.Errorf("there is no fault %q; use one of %s", f.fault, strings.Join(lab.Faults(), ", "))
	}
	return nil
}

// mostLoad bounds --load: beyond it a run holds more requests than it tells.
const mostLoad = 10

func (f *labFlags) load(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x > 0 && x <= mostLoad) {
		return fmt.Errorf("want a number above 0, at most %d", mostLoad)
	}
	f.loads = append(f.loads, x)
	return nil
}

// check judges what the flags say together, and fills in what they leave open.
func (f *labFlags) check() error {
	switch {
	case formats()[f.format] == nil:
		return fmt.Errorf("--format is %q, want text, json or html", f.format)
	case f.all && len(f.named) > 0:
		return errors.New("--all is every workload: leave out --workload")
	case f.find && (len(f.policies) > 0 || len(f.loads) > 0 || f.fault != "" || f.out != "" || f.format != "text"):
		return errors.New("--find prints what it has found: leave out --policy, --load, --fault, --out and --format")
	}
	if len(f.policies) == 0 {
		f.policies = lab.Compared()
	}
	if len(f.loads) == 0 {
		f.loads = lab.Loads()
	}
	slices.SortFunc(f.policies, func(a, b string) int {
		return cmp.Compare(slices.Index(lab.Compared(), a), slices.Index(lab.Compared(), b))
	})
	slices.Sort(f.loads)
	f.policies, f.loads = slices.Compact(f.policies), slices.Compact(f.loads)
	if !f.all && len(f.named) == 0 && f.file == "" {
		f.named = []string{"balanced", "classification", "generation"}
	}
	return nil
}

// workloads are those that the flags name.
func (f *labFlags) workloads() ([]*lab.Workload, error) {
	known, err := lab.Workloads()
	if err != nil {
		return nil, err
	}
	chosen, err := f.choose(known)
	if err != nil {
		return nil, err
	}
	if f.file != "" {
		w, err := f.read()
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(chosen, func(c *lab.Workload) bool { return c.Name == w.Name }) {
			return nil, usageError{"lab", fmt.Sprintf("--file %s: there is a workload %s already; rename the file", f.file, w.Name)}
		}
		chosen = append(chosen, w)
	}
	return chosen, f.measured(chosen)
}

// choose picks the workloads of --all and --workload, in the order of known.
func (f *labFlags) choose(known []*lab.Workload) ([]*lab.Workload, error) {
	if f.all {
		return known, nil
	}
	var names []string
	var chosen []*lab.Workload
	for _, w := range known {
		names = append(names, w.Name)
		if slices.Contains(f.named, w.Name) {
			chosen = append(chosen, w)
		}
	}
	for _, name := range f.named {
		if !slices.Contains(names, name) {
			return nil, usageError{"lab", fmt.Sprintf("there is no workload %q; use one of %s", name, strings.Join(names, ", "))}
		}
	}
	return chosen, nil
}

// read reads the own workload. Its name is the file's.
func (f *labFlags) read() (*lab.Workload, error) {
	text, err := os.ReadFile(f.file)
	if err != nil {
		return nil, configError{fmt.Errorf("read the workload: %w", err)}
	}
	f.own = strings.TrimSuffix(filepath.Base(f.file), filepath.Ext(f.file))
	w, err := lab.ParseWorkload(f.own, text)
	if err != nil {
		return nil, configError{fmt.Errorf("%s: %w", f.file, err)}
	}
	return w, nil
}

// measured gives workloads the yardsticks of --yardstick, which has one at least.
func (f *labFlags) measured(workloads []*lab.Workload) error {
	if f.yardstick == "" {
		return nil
	}
	text, err := os.ReadFile(f.yardstick)
	if err != nil {
		return configError{fmt.Errorf("read the yardsticks: %w", err)}
	}
	all, err := lab.ParseYardsticks(text)
	if err != nil {
		return configError{fmt.Errorf("%s: %w", f.yardstick, err)}
	}
	given := 0
	for _, w := range workloads {
		if y, known := all[w.Name]; known {
			w.Yardstick = y
			given++
		}
	}
	if given == 0 {
		return configError{fmt.Errorf("%s: it has no yardstick of the workloads that are run, only of %s", f.yardstick, strings.Join(slices.Sorted(maps.Keys(all)), ", "))}
	}
	return nil
}

// command is what prints the same report again.
func (f *labFlags) command() string {
	words := []string{"sluice lab"}
	add := func(name, value string) {
		if strings.Contains(value, " ") {
			value = strconv.Quote(value)
		}
		words = append(words, name, value)
	}
	if f.all {
		words = append(words, "--all")
	}
	for _, name := range f.named {
		add("--workload", name)
	}
	for _, path := range [][2]string{{"--file", f.file}, {"--yardstick", f.yardstick}} {
		if path[1] != "" {
			add(path[0], filepath.Base(path[1]))
		}
	}
	if !slices.Equal(f.policies, lab.Compared()) {
		for _, name := range f.policies {
			add("--policy", strings.ReplaceAll(name, " ", "-"))
		}
	}
	if !slices.Equal(f.loads, lab.Loads()) {
		for _, load := range f.loads {
			add("--load", fmt.Sprint(load))
		}
	}
	if f.fault != "" {
		add("--fault", strings.ReplaceAll(f.fault, " ", "-"))
	}
	return strings.Join(words, " ")
}
