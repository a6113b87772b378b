package lab

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// Yardstick is what policies are measured by in one workload. Modelled; found by
// Find.
type Yardstick struct {
	// Capacity is the arrivals per second of which the best static split still
	// serves 95 % within their SLO: load 1.
	Capacity float64 `yaml:"capacity"`
	// Solo is the requests per second that the fleet can serve of each class alone.
	Solo map[string]float64 `yaml:"solo"`
	// Best is the best static split for each load.
	Best []Mark `yaml:"best"`
	// Rough says that the search was quick: a better split may well exist.
	Rough bool `yaml:"rough,omitempty"`
}

// Mark is the best static split for one load.
type Mark struct {
	Load  float64   `yaml:"load"`  // × Capacity
	Value float64   `yaml:"value"` // its normalised value goodput, mean of Runs
	Each  []float64 `yaml:"each,flow"`
	Split Split     `yaml:"split"`
}

// Loads are the loads that are compared, in units of Capacity.
func Loads() []float64 { return []float64{0.5, 0.8, 1, 1.25, 1.5, 2, 3} }

//go:embed yardstick.yaml
var yardsticks []byte

// readYardsticks is the committed ones, by workload.
func readYardsticks() (map[string]Yardstick, error) {
	all, err := ParseYardsticks(yardsticks)
	if err != nil {
		return nil, fmt.Errorf("yardstick.yaml: %w", err)
	}
	return all, nil
}

// ParseYardsticks reads yardsticks by workload, as FormatYardstick writes them. The
// error names the line that is wrong, not the file.
func ParseYardsticks(text []byte) (map[string]Yardstick, error) {
	var all map[string]Yardstick
	return all, decode(text, &all)
}

// FormatYardstick writes a workload's yardstick as yardstick.yaml has it.
func FormatYardstick(name string, y Yardstick) ([]byte, error) {
	return yaml.Marshal(map[string]Yardstick{name: y})
}

// mark is the best static split for a load, if it is known.
func (y *Yardstick) mark(load float64) (Mark, bool) {
	i := slices.IndexFunc(y.Best, func(m Mark) bool { return m.Load == load })
	if i < 0 {
		return Mark{}, false
	}
	return y.Best[i], true
}

// runLasts is how long runs last; the first and the last minute don't count.
const runLasts = 5 * time.Minute

// Runs are the runs that a load is judged by: three seeds, each with constants of
// its own for the engines. Policies share the arrivals.
func (w *Workload) Runs(load float64) []Run {
	var runs []Run
	for i := range uint64(3) {
		runs = append(runs, Run{Workload: w, Rate: load * w.Capacity, Lasts: runLasts, Seed: i + 1, Draw: i})
	}
	return runs
}

// Find searches a workload's yardstick for some loads anew. It takes minutes; tell
// is told how far it is. What is committed is where the search starts. From 400
// evaluations on it is thorough; with fewer than 100 it is quick, and what it finds a
// lower bound.
func Find(w *Workload, loads []float64, evaluations int, tell func(string, ...any)) Yardstick {
	w = w.urgent() // priority batch is not what the split is for
	y := Yardstick{Solo: map[string]float64{}, Rough: evaluations < thorough}
	for _, class := range classes(w) {
		y.Solo[class] = round(Capacity(w.only(class), 4*time.Minute, evaluations/4))
		tell("%s: of %s alone %.1f requests a second", w.Name, class, y.Solo[class])
	}
	y.Capacity = round(Capacity(w, 4*time.Minute, evaluations/4))
	tell("%s: capacity %.1f requests a second", w.Name, y.Capacity)
	var known []Split
	for _, m := range w.Best {
		known = append(known, m.Split)
	}
	found := *w
	found.Yardstick = y
	for _, load := range loads {
		m := found.best(load, evaluations, known)
		tell("%s: load %.2f: %.3f by %+v", w.Name, load, m.Value, m.Split)
		known = append(known, m.Split)
		y.Best = append(y.Best, m)
	}
	return y
}

func (w *Workload) best(load float64, evaluations int, known []Split) Mark {
	return w.value(load, BestSplit(w.Runs(load), evaluations, known...).Split)
}

// value is what a split achieves at a load.
func (w *Workload) value(load float64, split Split) Mark {
	runs := w.Runs(load)
	m := Mark{Load: load, Split: split}
	for i := range runs {
		s, err := runs[i].Split(split)
		if err != nil {
			panic("BUG: " + err.Error()) // the same fleet has run before
		}
		m.Each = append(m.Each, round(s.Normalised))
		m.Value += s.Normalised / float64(len(runs))
	}
	m.Value = round(m.Value)
	return m
}

// classes are the true classes of a workload's kinds.
func classes(w *Workload) []string {
	all := map[string]bool{}
	for _, k := range w.Kinds {
		all[k.Class] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// only is the workload with one class alone, steady.
func (w *Workload) only(class string) *Workload {
	o := *w
	o.Bursts = Bursts{}
	o.Kinds = slices.DeleteFunc(slices.Clone(w.Kinds), func(k Kind) bool { return k.Class != class })
	return &o
}

// round keeps four digits, more than the search is good for.
func round(x float64) float64 { return float64(int(x*1e4+0.5)) / 1e4 }
