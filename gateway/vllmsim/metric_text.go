package vllmsim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// exposition is Prometheus' text format as Python's client writes it, which differs
// from Go's: labels in alphabetical order, 1.0 for 1, and beside each counter
// and histogram a gauge that says since when it counts. What they mean (HELP) is
// left out.
type exposition struct {
	dst     []byte
	common  []label   // of every series
	created time.Time // of what counts
}

// label is a name and a value.
type label struct{ name, value string }

// family appends a family of gauges or counters.
func (t *exposition) family(f family, s *snapshot) {
	name := "vllm:" + f.name
	if f.kind == "gauge" {
		t.kind(name, f.kind)
		for _, p := range f.lines {
			t.sample(name, p.value(s), p.labels...)
		}
		return
	}
	t.kind(name+"_total", f.kind)
	for _, p := range f.lines {
		t.sample(name+"_total", p.value(s), p.labels...)
	}
	t.since(name, f.lines...)
}

// histogram appends one that has a single series.
func (t *exposition) histogram(name string, p series, h *histogram) {
	t.kind(name, "histogram")
	t.buckets(name, p.labels, h)
	t.since(name, p)
}

// buckets appends a series of a histogram.
func (t *exposition) buckets(name string, labels []label, h *histogram) {
	total := 0
	for i, n := range h.counts {
		total += n
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = number(h.bounds[i])
		}
		t.sample(name+"_bucket", float64(total), append(slices.Clip(labels), label{"le", bound})...)
	}
	t.total(name, labels, total, h.sum)
}

// total appends how many observations there were, and their sum.
func (t *exposition) total(name string, labels []label, count int, sum float64) {
	t.sample(name+"_count", float64(count), labels...)
	t.sample(name+"_sum", sum, labels...)
}

// since appends when each series of a family began to count.
func (t *exposition) since(name string, lines ...series) {
	t.kind(name+"_created", "gauge")
	for _, p := range lines {
		t.sample(name+"_created", float64(t.created.UnixMicro())/1e6, p.labels...)
	}
}

func (t *exposition) kind(name, kind string) {
	t.dst = append(t.dst, "# TYPE "+name+" "+kind+"\n"...)
}

func (t *exposition) sample(name string, value float64, labels ...label) {
	t.dst = append(t.dst, name...)
	if labels = append(slices.Clip(labels), t.common...); len(labels) > 0 {
		slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
		between := byte('{')
		for _, l := range labels {
			t.dst = append(append(t.dst, between), l.name...)
			t.dst = strconv.AppendQuote(append(t.dst, '='), l.value)
			between = ','
		}
		t.dst = append(t.dst, '}')
	}
	t.dst = append(append(append(t.dst, ' '), number(value)...), '\n')
}

// number is a number as Python's client writes it.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if strings.ContainsAny(s, ".e") {
		return s
	}
	return s + ".0"
}
