package lab

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
)

// The plot's measures, in pixels. Labels of lines stand right of the plane.
const (
	plotWide    = 860.0
	plotHigh    = 440.0
	planeLeft   = 68.0
	planeRight  = 640.0
	planeTop    = 84.0
	planeBottom = 376.0
	labelLeft   = planeRight + 34
	labelHigh   = 17.0 // of a label's line
)

// plot is one picture under way.
type plot struct {
	strings.Builder
	table    *Table
	maxLoad  float64
	maxValue float64
	step     float64 // between marks of the value
}

// WriteSVG draws the table: normalised value goodput against load, a line for each
// policy. It needs no font, script or file of elsewhere, and has a white ground.
func (t *Table) WriteSVG(w io.Writer) error {
	_, err := io.WriteString(w, t.svg())
	return err
}

func (t *Table) svg() string {
	p := &plot{table: t}
	p.scale()
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img" font-family="system-ui, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif" font-size="13" fill="#222">`+"\n",
		plotWide, plotHigh, plotWide, plotHigh)
	p.printf("<title>%s: normalised value goodput against offered load (modelled)</title>\n", escape(t.Workload))
	p.printf(`<rect width="100%%" height="100%%" fill="#fff"/>` + "\n")
	p.heading()
	if len(t.Curves) == 0 {
		p.text(planeLeft, planeTop+40, "", wrap(t.Missing, 90))
	} else {
		p.axes()
		p.ceiling()
		p.curves()
	}
	p.printf("</svg>\n")
	return p.String()
}

func (p *plot) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// text writes lines of text at a place.
func (p *plot) text(x, y float64, style, text string) {
	for i, line := range strings.Split(text, "\n") {
		p.printf(`<text x="%.1f" y="%.1f"%s>%s</text>`+"\n", x, y+float64(i)*16, style, escape(line))
	}
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}

// scale finds the ends of the axes.
func (p *plot) scale() {
	highest := 0.0
	for _, c := range p.table.Curves {
		for _, point := range c.Points {
			p.maxLoad, highest = max(p.maxLoad, point.Load), max(highest, point.Value)
		}
	}
	p.maxValue, p.step = nice(highest * 1.05)
}

// nice is the next end of an axis, with its step: 4 to 8 steps of 1, 2, 2.5 or 5
// times a power of ten.
func nice(x float64) (end, step float64) {
	if !(x > 0) {
		return 1, 0.2
	}
	power := math.Pow(10, math.Floor(math.Log10(x))-1)
	for _, unit := range []float64{2, 2.5, 5, 10, 20} {
		if step = unit * power; x/step <= 7 {
			break
		}
	}
	return math.Ceil(x/step) * step, step
}

func (p *plot) x(load float64) float64 {
	return planeLeft + (planeRight-planeLeft)*load/cmp.Or(p.maxLoad, 1)
}

func (p *plot) y(value float64) float64 {
	return planeBottom - (planeBottom-planeTop)*value/p.maxValue
}

func (p *plot) heading() {
	p.text(16, 28, ` font-size="18" font-weight="bold"`, p.table.Workload)
	p.text(16, 48, ` fill="#555"`, wrap(p.table.About, 118))
}

func (p *plot) axes() {
	for i := 0; float64(i)*p.step <= p.maxValue+p.step/2; i++ {
		value := float64(i) * p.step
		colour := "#e4e4e4"
		if i == 0 {
			colour = "#888"
		}
		p.printf(`<path d="M%.1f %.1fH%.1f" stroke="%s"/>`+"\n", planeLeft, p.y(value), planeRight, colour)
		p.text(planeLeft-8, p.y(value)+4, ` font-size="12" fill="#555" text-anchor="end"`, number(math.Round(value*1e6)/1e6))
	}
	for _, load := range p.table.loads() {
		p.printf(`<path d="M%.1f %.1fv5" stroke="#888"/>`+"\n", p.x(load), planeBottom)
		p.text(p.x(load), planeBottom+19, ` font-size="12" fill="#555" text-anchor="middle"`, number(load))
	}
	if p.maxLoad >= 1 {
		p.printf(`<path d="M%.1f %.1fV%.1f" stroke="#bbb" stroke-dasharray="2 3"/>`+"\n", p.x(1), planeTop, planeBottom)
	}
	p.text((planeLeft+planeRight)/2, planeBottom+42, ` fill="#555" text-anchor="middle"`,
		fmt.Sprintf("offered load; 1 = %.1f requests/s, of which the best split serves 95 %% within their SLO", p.table.Capacity))
	p.printf(`<text transform="translate(16 %.1f) rotate(-90)" fill="#555" text-anchor="middle">normalised value goodput, modelled</text>`+"\n", (planeTop+planeBottom)/2)
}

// ceiling is a thin line: what there would be if all were served by their first pool.
// Where it leaves the plane it is cut.
func (p *plot) ceiling() {
	var path strings.Builder
	fmt.Fprintf(&path, "M%.1f %.1f", p.x(0), p.y(0))
	x, y := 0.0, 0.0
	for _, load := range p.table.loads() {
		value := p.asked(load)
		if value > p.maxValue {
			x, y = x+(load-x)*(p.maxValue-y)/(value-y), p.maxValue
		} else {
			x, y = load, value
		}
		fmt.Fprintf(&path, "L%.1f %.1f", p.x(x), p.y(y))
		if y == p.maxValue {
			break
		}
	}
	p.printf(`<path d="%s" stroke="#aaa" fill="none"/>`+"\n", path.String())
	side := ""
	if x > p.maxLoad/2 { // else the text would leave the picture
		side = ` text-anchor="end"`
	}
	p.text(p.x(x)+6, p.y(y)-6, ` font-size="12" fill="#777"`+side, "if all were served by their first choice")
}

// asked is the value of all arrivals at a load, each served by its first pool.
func (p *plot) asked(load float64) float64 {
	total := 0.0
	for name, c := range p.table.arrived(load) {
		if solo := p.table.Solo[name]; solo > 0 {
			total += c.Offered / solo
		}
	}
	return total
}
