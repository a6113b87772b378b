package lab

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
)

// element is what tests want to know of a picture's or a page's element.
type element struct {
	name  string
	attrs map[string]string
	text  string
}

// elements reads well-formed XML; anything else fails the test.
func elements(t *testing.T, text string) []element {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	var all []element
	var open []int
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{token.Name.Local, map[string]string{}, ""}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			open, all = append(open, len(all)), append(all, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				all[open[len(open)-1]].text += string(token)
			}
		}
	}
}

func svgOf(t *testing.T, table *Table) []element {
	t.Helper()
	var b strings.Builder
	if err := table.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
		t.Errorf("a place that is no number in\n%s", b.String())
	}
	return elements(t, b.String())
}

func TestPlot(t *testing.T) {
	report := sample()
	all := svgOf(t, &report.Tables[0])
	texts := ""
	for _, e := range all {
		texts += e.text + "\n"
		if e.name == "image" || e.name == "script" || e.name == "style" || e.attrs["href"] != "" {
			t.Errorf("the picture needs or runs something else: %v", e)
		}
	}
	for _, want := range []string{"mixed", "<half> each & no more", "sluice  0.88", "best split  0.90", "round robin  0.00", "round robin at load 2: 0.000", "modelled"} {
		if !strings.Contains(texts, want) {
			t.Errorf("no %q in the picture's texts:\n%s", want, texts)
		}
	}
	lines := map[string]string{}
	for _, e := range all {
		if e.name == "path" && e.attrs["stroke-linejoin"] != "" {
			lines[e.attrs["stroke"]] = e.attrs["stroke-width"] + e.attrs["stroke-dasharray"]
		}
	}
	if want := fmt.Sprint(map[string]string{"#0053d6": "4", "#111": "2.27 4", "#8a5a00": "1.6"}); fmt.Sprint(lines) != want {
		t.Errorf("lines by colour: %v, want %v", lines, want)
	}
}

// TestPlotLabels: all lines end at one place, and yet no name covers another.
func TestPlotLabels(t *testing.T) {
	for _, value := range []float64{0, 0.5, 1} {
		table := Table{Workload: "w", Capacity: 1}
		for _, policy := range Compared() {
			table.Curves = append(table.Curves, Curve{policy, []Point{{Load: 1, Value: value}}})
		}
		var at []float64
		for _, e := range svgOf(t, &table) {
			if x, _ := strconv.ParseFloat(e.attrs["x"], 64); e.name == "text" && x == labelLeft {
				y, _ := strconv.ParseFloat(e.attrs["y"], 64)
				at = append(at, y)
			}
		}
		if len(at) != len(Compared()) {
			t.Fatalf("%d labels, want %d", len(at), len(Compared()))
		}
		for i := range at {
			if at[i] < planeTop || at[i] > plotHigh || i > 0 && at[i]-at[i-1] < labelHigh-0.1 {
				t.Errorf("value %v: labels at %v", value, at)
			}
		}
	}
}

func TestNice(t *testing.T) {
	for _, c := range []struct{ in, end, step float64 }{
		{0, 1, 0.2}, {0.98, 1, 0.2}, {1.0001, 1.2, 0.2}, {0.31, 0.35, 0.05}, {1.3, 1.4, 0.2}, {2.2, 2.5, 0.5}, {14, 14, 2}, {95, 100, 20},
	} {
		if end, step := nice(c.in); fmt.Sprintf("%.6g %.6g", end, step) != fmt.Sprintf("%.6g %.6g", c.end, c.step) {
			t.Errorf("nice(%v) = %v, %v, want %v, %v", c.in, end, step, c.end, c.step)
		}
	}
}
