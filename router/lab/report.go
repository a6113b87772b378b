package lab

import (
	"encoding/json"
	"io"
	"slices"
)

// Ours and BestStatic are the policies that reports set off against the others.
const (
	Ours       = "sluice"
	BestStatic = "best split"
)

// Compared lists the policies of a report: Policies, and before ours the best
// static split.
func Compared() []string {
	return append(slices.DeleteFunc(Policies(), func(name string) bool { return name == Ours }), BestStatic, Ours)
}

// modelled is said wherever figures are shown.
const modelled = "All figures are modelled, none was measured on a TPU: the router and the other policies ran in virtual time against a roofline model of the engine with assumed efficiencies."

// Report is what policies achieved in workloads: the JSON of the laboratory. The
// same plan gives the same report, to the byte.
type Report struct {
	Note    string  `json:"note"`    // that all is modelled, and which fault there was
	Command string  `json:"command"` // it prints the report again
	Tables  []Table `json:"tables"`  // a workload each
}

// Table is the report of one workload.
type Table struct {
	Workload string `json:"workload"`
	About    string `json:"about"` // one sentence

	// Missing says why the table, or its best split for some loads, is empty;
	// "": nothing is missing.
	Missing string `json:"missing,omitempty"`

	Capacity float64            `json:"capacity"`        // requests per second at load 1
	Solo     map[string]float64 `json:"solo"`            // by class: requests per second that the fleet can serve of it alone
	Rough    bool               `json:"rough,omitempty"` // the best split was searched quickly: a better one may well exist
	Runs     int                `json:"runs"`            // whose mean each point is; all policies see the same arrivals and engines
	Curves   []Curve            `json:"curves"`          // a policy each, ours last
}

// Curve is what one policy achieved.
type Curve struct {
	Policy string  `json:"policy"`
	Points []Point `json:"points"` // in order of load
}

// Point is what one policy achieved at one load.
type Point struct {
	Load  float64   `json:"load"`  // × Capacity
	Value float64   `json:"value"` // normalised value goodput: each class's ÷ its Solo, summed; mean of the runs
	Each  []float64 `json:"each"`  // the runs' values

	// OfBest is Value ÷ that of the best static split, and Worst the same of the
	// run in which it is least; 0: no such split is known, or it wasn't run.
	OfBest float64 `json:"of_best,omitempty"`
	Worst  float64 `json:"worst,omitempty"`

	Classes map[string]ClassPoint `json:"classes"`
	Tenants map[string]float64    `json:"tenants,omitempty"` // tokens per second within the SLO, where tenants have names
}

// ClassPoint is a class's part of a point. Rates are requests per second that
// arrived; Offered is the sum of the others.
type ClassPoint struct {
	Offered float64 `json:"offered"`
	Good    float64 `json:"good"`               // served within the SLO: plain goodput
	Late    float64 `json:"late"`               // served, but not within the SLO
	Refused float64 `json:"refused"`            // by the policy
	Lost    float64 `json:"lost"`               // with their replica
	TTFT    float64 `json:"ttft_p99,omitempty"` // seconds, of those served; 0: none was
	TPOT    float64 `json:"tpot_p99,omitempty"`
	E2E     float64 `json:"e2e_p99,omitempty"`
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// curve is a policy's; nil: it wasn't run.
func (t *Table) curve(policy string) *Curve {
	i := slices.IndexFunc(t.Curves, func(c Curve) bool { return c.Policy == policy })
	if i < 0 {
		return nil
	}
	return &t.Curves[i]
}

// at is the point of a load; nil: there is none.
func (c *Curve) at(load float64) *Point {
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(c.Points, func(p Point) bool { return p.Load == load })
	if i < 0 {
		return nil
	}
	return &c.Points[i]
}

// loads are those of any curve.
func (t *Table) loads() []float64 {
	var all []float64
	for _, c := range t.Curves {
		for _, p := range c.Points {
			all = append(all, p.Load)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// arrived is what came of each class at a load, by any curve: all saw the same.
func (t *Table) arrived(load float64) map[string]ClassPoint {
	for i := range t.Curves {
		if p := t.Curves[i].at(load); p != nil {
			return p.Classes
		}
	}
	return nil
}
