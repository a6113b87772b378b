package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// look is how a policy's line is drawn.
type look struct {
	colour string
	wide   float64
	dashes string
	bold   string // of its label
}

// lookOf is a policy's look. Colours are told apart with any sight, and dark
// enough for text on white; ours is the widest line.
func lookOf(policy string) look {
	switch policy {
	case Ours:
		return look{"#0053d6", 4, "", ` font-weight="bold"`}
	case BestStatic:
		return look{"#111", 2.2, ` stroke-dasharray="7 4"`, ""}
	case robin:
		return look{"#8a5a00", 1.6, "", ""}
	case connections:
		return look{"#7b3fb5", 1.6, "", ""}
	case choices:
		return look{"#c0267a", 1.6, "", ""}
	case strictSplit:
		return look{"#c2410c", 1.6, "", ""}
	case scoring:
		return look{"#0f766e", 1.6, "", ""}
	}
	return look{"#555", 1.6, "", ""}
}

// curves draws the lines and their labels, ours over the others.
func (p *plot) curves() {
	all := slices.Clone(p.table.Curves)
	slices.SortStableFunc(all, func(a, b Curve) int { return cmp.Compare(lookOf(a.Policy).wide, lookOf(b.Policy).wide) })
	for i := range all {
		p.line(&all[i])
	}
	for _, l := range p.labels() {
		p.label(l)
	}
}

func (p *plot) line(c *Curve) {
	k := lookOf(c.Policy)
	var path strings.Builder
	for i, point := range c.Points {
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], p.x(point.Load), p.y(point.Value))
	}
	p.printf(`<path d="%s" fill="none" stroke="%s" stroke-width="%g" stroke-linejoin="round"%s/>`+"\n", path.String(), k.colour, k.wide, k.dashes)
	for _, point := range c.Points {
		p.printf(`<circle cx="%.1f" cy="%.1f" r="%g" fill="%s"><title>%s at load %s: %.3f</title></circle>`+"\n",
			p.x(point.Load), p.y(point.Value), 1.4+k.wide/2, k.colour, escape(c.Policy), number(point.Load), point.Value)
	}
}

// label is the name of a line, where the line ends and where the name stands.
type label struct {
	policy string
	last   Point
	at, y  float64
}

// labels places the names beside the ends of their lines, in the lines' order and
// none over another.
func (p *plot) labels() []label {
	var all []label
	for _, c := range p.table.Curves {
		last := c.Points[len(c.Points)-1]
		all = append(all, label{c.Policy, last, p.y(last.Value), p.y(last.Value)})
	}
	// Of lines that end at one place, the one that was higher before comes first.
	slices.SortStableFunc(all, func(a, b label) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(p.sum(b.policy), p.sum(a.policy)))
	})
	spread(all, planeTop, planeBottom+labelHigh)
	return all
}

func (p *plot) sum(policy string) float64 {
	total := 0.0
	for _, point := range p.table.curve(policy).Points {
		total += point.Value
	}
	return total
}

// spread moves labels, which are in order, apart: first each down from the one
// above, then, from the bottom, each up as far as it must.
func spread(all []label, top, bottom float64) {
	for i := range all {
		if i == 0 {
			all[i].y = max(all[i].y, top)
			continue
		}
		all[i].y = max(all[i].y, all[i-1].y+labelHigh)
	}
	for i, limit := len(all)-1, bottom; i >= 0; i, limit = i-1, limit-labelHigh {
		all[i].y = min(all[i].y, limit)
	}
}

func (p *plot) label(l label) {
	k := lookOf(l.policy)
	x := p.x(l.last.Load)
	p.printf(`<path d="M%.1f %.1fL%.1f %.1fH%.1f" fill="none" stroke="%s" stroke-width="0.8"/>`+"\n", x+6, l.at, labelLeft-10, l.y, labelLeft-3, k.colour)
	p.text(labelLeft, l.y+4.5, fmt.Sprintf(` fill="%s"%s`, k.colour, k.bold), fmt.Sprintf("%s  %.2f", l.policy, l.last.Value))
}
