package lab

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// grid is one table of figures, as text and HTML show it.
type grid struct {
	Title string
	Spans []span // over Head; none: Head stands alone
	Head  []string
	Rows  []row
}

// span is a heading over several columns.
type span struct {
	Text    string
	Columns int
}

type row struct {
	Name  string
	Cells []string
	Ours  bool
}

// empty is the cell of what isn't known.
const empty = "-"

// WriteText writes the report for a terminal or a code block, 80 columns wide.
func (r *Report) WriteText(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s\nPrinted by: %s\n", wrap(r.Note, 80), r.Command)
	for i := range r.Tables {
		t := &r.Tables[i]
		fmt.Fprintf(b, "\n\n%s\n%s\n", strings.ToUpper(t.Workload), wrap(t.About, 80))
		for _, line := range t.notes() {
			fmt.Fprintln(b, wrap(line, 80))
		}
		for _, g := range t.grids() {
			g.text(b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// notes is what to know before reading a table.
func (t *Table) notes() []string {
	var notes []string
	if t.Capacity > 0 {
		alone := make([]string, 0, len(t.Solo))
		for _, class := range slices.Sorted(maps.Keys(t.Solo)) {
			alone = append(alone, fmt.Sprintf("%.1f of %s alone", t.Solo[class], class))
		}
		notes = append(notes, fmt.Sprintf("Load 1 is %.1f requests/s; the fleet can serve %s. Means of %d runs.", t.Capacity, strings.Join(alone, ", "), t.Runs))
	}
	if t.Rough {
		notes = append(notes, "The best split was searched quickly: a better one may well exist.")
	}
	if t.Missing != "" {
		notes = append(notes, t.Missing)
	}
	return notes
}

// grids are a table's figures, the most important first.
func (t *Table) grids() []grid {
	loads := t.loads()
	if len(loads) == 0 {
		return nil
	}
	all := []grid{t.values(loads)}
	classes := slices.Sorted(maps.Keys(t.arrived(loads[0])))
	slices.Reverse(classes) // prefill first, as everywhere
	for _, class := range classes {
		all = append(all, t.goodput(loads, class))
	}
	for _, class := range classes {
		all = append(all, t.failed(loads, class))
	}
	for _, class := range classes {
		all = append(all, t.latencies(shown(loads), class))
	}
	if names := t.tenants(); len(names) > 0 {
		all = append(all, t.shares(shown(loads), names))
	}
	return all
}

// shown are the loads whose latencies are printed: 1 and 2, or else the first.
func shown(loads []float64) []float64 {
	some := slices.DeleteFunc(slices.Clone(loads), func(x float64) bool { return x != 1 && x != 2 })
	if len(some) == 0 {
		return loads[:1]
	}
	return some
}

// byLoad is a grid with a column for each load and a row for each policy.
func (t *Table) byLoad(title string, loads []float64, cell func(*Point) string) grid {
	g := grid{Title: title}
	for _, load := range loads {
		g.Head = append(g.Head, number(load))
	}
	for i := range t.Curves {
		g.Rows = append(g.Rows, across(t.Curves[i].Policy, &t.Curves[i], loads, cell))
	}
	return g
}

// across is a curve's row.
func across(name string, c *Curve, loads []float64, cell func(*Point) string) row {
	r := row{Name: name, Ours: c.Policy == Ours}
	for _, load := range loads {
		text := empty
		if p := c.at(load); p != nil {
			text = cell(p)
		}
		r.Cells = append(r.Cells, text)
	}
	return r
}

func (t *Table) values(loads []float64) grid {
	g := t.byLoad("Normalised value goodput, by load", loads, func(p *Point) string { return fmt.Sprintf("%.3f", p.Value) })
	ours := t.curve(Ours)
	if ours == nil || t.curve(BestStatic) == nil {
		return g
	}
	ratio := func(x float64) string {
		if x == 0 {
			return empty
		}
		return fmt.Sprintf("%.2f", x)
	}
	return g.with(
		across(Ours+" ÷ best split", ours, loads, func(p *Point) string { return ratio(p.OfBest) }),
		across("  in its worst run", ours, loads, func(p *Point) string { return ratio(p.Worst) }))
}

func (g grid) with(rows ...row) grid {
	g.Rows = append(g.Rows, rows...)
	return g
}

func (t *Table) goodput(loads []float64, class string) grid {
	g := t.byLoad(class+": requests/s within the SLO, by load", loads, func(p *Point) string { return fmt.Sprintf("%.1f", p.Classes[class].Good) })
	offered := row{Name: "(arrivals)"}
	for _, load := range loads {
		offered.Cells = append(offered.Cells, fmt.Sprintf("%.1f", t.arrived(load)[class].Offered))
	}
	g.Rows = slices.Insert(g.Rows, 0, offered)
	return g
}

func (t *Table) failed(loads []float64, class string) grid {
	return t.byLoad(class+": refused + served late (or lost), % of arrivals, by load", loads, func(p *Point) string {
		c := p.Classes[class]
		if c.Offered == 0 {
			return empty
		}
		return fmt.Sprintf("%.0f+%.0f", 100*c.Refused/c.Offered, 100*(c.Late+c.Lost)/c.Offered)
	})
}

// latencies has a row for each policy, and three columns for each load.
func (t *Table) latencies(loads []float64, class string) grid {
	g := grid{Title: class + ": p99 of those served; TTFT and E2E in s, TPOT in ms"}
	for _, load := range loads {
		g.Spans = append(g.Spans, span{"load " + number(load), 3})
		g.Head = append(g.Head, "TTFT", "TPOT", "E2E")
	}
	for i := range t.Curves {
		c := &t.Curves[i]
		r := row{Name: c.Policy, Ours: c.Policy == Ours}
		for _, load := range loads {
			r.Cells = append(r.Cells, p99s(c.at(load), class)...)
		}
		g.Rows = append(g.Rows, r)
	}
	return g
}

// p99s are three cells.
func p99s(p *Point, class string) []string {
	if p == nil || p.Classes[class].E2E == 0 {
		return []string{empty, empty, empty}
	}
	c := p.Classes[class]
	return []string{fmt.Sprintf("%.2f", c.TTFT), fmt.Sprintf("%.0f", 1000*c.TPOT), fmt.Sprintf("%.2f", c.E2E)}
}

// tenants are the names of those who have one.
func (t *Table) tenants() []string {
	all := map[string]bool{}
	for _, c := range t.Curves {
		for _, p := range c.Points {
			for name := range p.Tenants {
				all[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// shares says how tenants fare.
func (t *Table) shares(loads []float64, names []string) grid {
	g := grid{Title: "tenants: 1,000 tokens/s within the SLO"}
	for _, load := range loads {
		g.Spans = append(g.Spans, span{"load " + number(load), len(names)})
		g.Head = append(g.Head, names...)
	}
	for i := range t.Curves {
		r := row{Name: t.Curves[i].Policy, Ours: t.Curves[i].Policy == Ours}
		for _, load := range loads {
			for _, name := range names {
				text := empty
				if p := t.Curves[i].at(load); p != nil {
					text = fmt.Sprintf("%.1f", p.Tenants[name]/1000)
				}
				r.Cells = append(r.Cells, text)
			}
		}
		g.Rows = append(g.Rows, r)
	}
	return g
}

// nameWide and cellWide are the columns of text.
const (
	nameWide = 22
	cellWide = 8
)

func (g *grid) text(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n", g.Title)
	if len(g.Spans) > 0 {
		fmt.Fprintf(w, "%*s", nameWide, "")
		for _, s := range g.Spans {
			fmt.Fprintf(w, "%*s", cellWide*s.Columns, s.Text)
		}
		fmt.Fprintln(w)
	}
	line(w, "", g.Head)
	for _, r := range g.Rows {
		line(w, r.Name, r.Cells)
	}
}

func line(w io.Writer, name string, cells []string) {
	fmt.Fprintf(w, "%-*s", nameWide, "  "+name)
	for _, c := range cells {
		fmt.Fprintf(w, "%*s", cellWide, c)
	}
	fmt.Fprintln(w)
}

// number is a load, as short as it can be.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// wrap breaks text into lines of at most so many characters, where words allow.
func wrap(text string, wide int) string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && len([]rune(lines[n-1]))+1+len([]rune(word)) <= wide {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return strings.Join(lines, "\n")
}
