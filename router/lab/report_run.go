package lab

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Plan is what a report is made of: each workload at each load under each policy.
type Plan struct {
	Workloads []*Workload
	Policies  []string  // of Compared
	Loads     []float64 // × capacity, more than 0
	Fault     string    // one of Faults; "": nothing goes wrong
	Command   string    // for the report: what prints it again
}

// job is the runs of one point.
type job struct {
	policy string
	split  Split // of the best static split
	runs   []Run
	scores []Score
}

// Report runs the plan on all processors. It tells how many runs are done, one
// call at a time, and stops early when ctx ends: then the error is ctx's.
func (p *Plan) Report(ctx context.Context, tell func(done, of int)) (*Report, error) {
	report := &Report{Note: p.note(), Command: p.Command}
	var all []*job
	jobs := make([][][]*job, len(p.Workloads)) // by workload, policy, load
	for i, w := range p.Workloads {
		jobs[i] = p.jobs(w)
		for _, row := range jobs[i] {
			all = append(all, row...)
		}
	}
	if err := play(ctx, all, tell); err != nil {
		return nil, err
	}
	for i, w := range p.Workloads {
		report.Tables = append(report.Tables, p.table(w, jobs[i]))
	}
	return report, nil
}

// note is what must be known of all figures.
func (p *Plan) note() string {
	if p.Fault == "" {
		return modelled
	}
	return fmt.Sprintf("%s In each run there is a fault, %s: %s. The best split was found without it.", modelled, p.Fault, aboutFault(p.Fault))
}

// jobs are a workload's, by policy and load; nil where there is nothing to run.
func (p *Plan) jobs(w *Workload) [][]*job {
	rows := make([][]*job, len(p.Policies))
	for i, policy := range p.Policies {
		rows[i] = make([]*job, len(p.Loads))
		for k, load := range p.Loads {
			m, known := w.mark(load)
			if w.Capacity == 0 || policy == BestStatic && !known {
				continue
			}
			runs := w.Runs(load)
			for n := range runs {
				runs[n].Fault = p.Fault
			}
			rows[i][k] = &job{policy, m.Split, runs, make([]Score, len(runs))}
		}
	}
	return rows
}

// play makes the runs of all jobs.
func play(ctx context.Context, jobs []*job, tell func(done, of int)) error {
	jobs = slices.DeleteFunc(jobs, func(j *job) bool { return j == nil })
	total, done := 0, 0
	for _, j := range jobs {
		total += len(j.runs)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var mu sync.Mutex // guards done and tell
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, j := range jobs {
		for i := range j.runs {
			slots <- struct{}{}
			if ctx.Err() != nil {
				break
			}
			wg.Go(func() {
				defer func() { <-slots }()
				if err := j.play(i); err != nil {
					fail(err)
				}
				mu.Lock()
				defer mu.Unlock()
				done++
				tell(done, total)
			})
		}
		if ctx.Err() != nil {
			break
		}
	}
	wg.Wait()
	return context.Cause(ctx)
}

// play makes one run.
func (j *job) play(i int) (err error) {
	if j.policy == BestStatic {
		j.scores[i], err = j.runs[i].Split(j.split)
	} else {
		j.scores[i], err = j.runs[i].Under(j.policy)
	}
	return err
}

// table sums the runs up.
func (p *Plan) table(w *Workload, jobs [][]*job) Table {
	t := Table{Workload: w.Name, About: w.About, Capacity: w.Capacity, Solo: w.Solo, Rough: w.Rough, Runs: len(w.Runs(1))}
	if w.Capacity == 0 {
		t.Missing = fmt.Sprintf("not measured: no yardstick of %s is committed; sluice lab --find --workload %s prints one, for --yardstick", w.Name, w.Name)
		return t
	}
	for i, policy := range p.Policies {
		c := Curve{Policy: policy}
		for k, j := range jobs[i] {
			if j != nil {
				c.Points = append(c.Points, pointOf(p.Loads[k], j.scores))
			}
		}
		if len(c.Points) > 0 {
			t.Curves = append(t.Curves, c)
		}
	}
	t.Missing = p.unknown(w)
	t.compare()
	return t
}

// unknown says for which loads no best static split is committed.
func (p *Plan) unknown(w *Workload) string {
	var loads []string
	for _, load := range p.Loads {
		if _, known := w.mark(load); !known {
			loads = append(loads, number(load))
		}
	}
	if len(loads) == 0 || !slices.Contains(p.Policies, BestStatic) {
		return ""
	}
	return fmt.Sprintf("no best split is known at load %s: sluice lab --find searches those of loads %v", strings.Join(loads, ", "), Loads())
}

// pointOf is the mean of runs at a load.
func pointOf(load float64, scores []Score) Point {
	s := meanScore(scores)
	p := Point{Load: load, Value: round(s.Normalised), Classes: map[string]ClassPoint{}}
	for _, one := range scores {
		p.Each = append(p.Each, round(one.Normalised))
	}
	for name, c := range s.Classes {
		p.Classes[name] = ClassPoint{round(c.Offered), round(c.Good), round(c.Late), round(c.Refused), round(c.Lost), round(c.TTFT), round(c.TPOT), round(c.E2E)}
	}
	for tenant, tokens := range s.Tenants {
		if tenant == "" {
			continue
		}
		if p.Tenants == nil {
			p.Tenants = map[string]float64{}
		}
		p.Tenants[tenant] = round(tokens)
	}
	return p
}

// compare sets each point's part of the best static split's value.
func (t *Table) compare() {
	best := t.curve(BestStatic)
	for i := range t.Curves {
		for k := range t.Curves[i].Points {
			p := &t.Curves[i].Points[k]
			b := best.at(p.Load)
			if b == nil || b.Value == 0 {
				continue
			}
			p.OfBest, p.Worst = round(p.Value/b.Value), worst(p.Each, b.Each)
		}
	}
}

// worst is the least of the ratios of runs with the same arrivals and engines.
func worst(each, best []float64) float64 {
	least := 0.0
	for i := range each {
		if best[i] == 0 {
			continue
		}
		if r := round(each[i] / best[i]); least == 0 || r < least {
			least = r
		}
	}
	return least
}
