package lab

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed report.html
var pageHTML string

// WriteHTML writes the report as one page that needs nothing else.
func (r *Report) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Parse(pageHTML)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return t.Execute(w, shownReport{r.Note, r.Command, r.shown()})
}

// shownReport is what the page shows.
type shownReport struct {
	Note, Command string
	Tables        []shownTable
}

type shownTable struct {
	Name  string
	Notes []string
	Plot  template.HTML
	Grids []grid
}

func (r *Report) shown() []shownTable {
	var all []shownTable
	for i := range r.Tables {
		t := &r.Tables[i]
		// The plot escapes what it writes.
		all = append(all, shownTable{t.Workload, t.notes(), template.HTML(t.svg()), t.grids()})
	}
	return all
}
