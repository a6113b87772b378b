package tune

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Metrics is one reading of a /metrics, in Prometheus' text format.
type Metrics struct {
	byName map[string][]sample
}

// sample is one line.
type sample struct {
	labels map[string]string
	value  float64
}

// ParseMetrics reads a text of metrics. The error names the first line that is
// none, or says that there is no metric at all.
func ParseMetrics(text string) (*Metrics, error) {
	m := &Metrics{byName: map[string][]sample{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, s, ok := parseSample(line)
		if !ok {
			return nil, fmt.Errorf("line %d is no metric: %.60q", n, line)
		}
		m.byName[name] = append(m.byName[name], s)
	}
	if len(m.byName) == 0 {
		return nil, fmt.Errorf("there is no metric in its %d lines", n)
	}
	return m, nil
}

// parseSample reads name{labels} value; what follows (a time, an exemplar) is
// skipped.
func parseSample(line string) (name string, s sample, ok bool) {
	end := strings.IndexAny(line, "{ \t")
	if end < 1 {
		return "", s, false
	}
	name, rest := line[:end], line[end:]
	if rest[0] == '{' {
		if s.labels, rest, ok = parseLabels(rest[1:]); !ok {
			return "", s, false
		}
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return "", s, false
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	s.value = v
	return name, s, err == nil
}

// parseLabels reads what follows an opening brace, and gives what follows the
// closing one.
func parseLabels(text string) (labels map[string]string, rest string, ok bool) {
	labels = map[string]string{}
	for {
		text = strings.TrimLeft(text, ", \t")
		if strings.HasPrefix(text, "}") {
			return labels, text[1:], true
		}
		name, after, found := strings.Cut(text, "=")
		after = strings.TrimLeft(after, " \t")
		if !found {
			return nil, "", false
		}
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil || quoted[0] != '"' {
			return nil, "", false
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, "", false
		}
		labels[strings.TrimSpace(name)] = value
		text = after[len(quoted):]
	}
}

// with says which series are meant: those that have all these labels.
type with map[string]string

func (w with) match(s sample) bool {
	for name, value := range w {
		if s.labels[name] != value {
			return false
		}
	}
	return true
}

// sum adds up all series of a name that have the labels. What is no number, or
// negative, doesn't count.
func (m *Metrics) sum(name string, w with) float64 {
	total := 0.0
	for _, s := range m.byName[name] {
		if w.match(s) && s.value > 0 && !math.IsInf(s.value, 0) {
			total += s.value
		}
	}
	return total
}

// dist adds up the histograms of a name that have the labels.
func (m *Metrics) dist(name string, w with) Dist {
	cumulative := map[float64]float64{}
	for _, s := range m.byName[name+"_bucket"] {
		bound, err := strconv.ParseFloat(s.labels["le"], 64)
		if err == nil && !math.IsNaN(bound) && w.match(s) && s.value >= 0 {
			cumulative[bound] += s.value
		}
	}
	return distOf(cumulative, m.sum(name+"_sum", w))
}

// Served is the models that the metrics are of: vLLM's label model_name.
func (m *Metrics) Served() []string {
	var names []string
	for _, s := range m.byName["vllm:num_requests_running"] {
		names = append(names, s.labels["model_name"])
	}
	return names
}
