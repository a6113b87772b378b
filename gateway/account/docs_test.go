package account

import (
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	operations = "../../docs/operations.md"
	rules      = "../../deploy/prometheus/rules.yml"
)

// The operator's page lists every metric, with its labels, and no other.
func TestOperationsPageListsTheMetrics(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `(sluice_[a-z_]+)` \\| ([a-z, ]*)\\|")
	listed := make(map[string]string)
	for _, m := range row.FindAllStringSubmatch(read(t, operations), -1) {
		listed[m[1]] = strings.TrimSpace(m[2])
	}
	if real := described(); !maps.Equal(listed, real) {
		for _, name := range slices.Sorted(maps.Keys(real)) {
			if labels, ok := listed[name]; !ok || labels != real[name] {
				t.Errorf("%s: %s has labels %q (listed: %v), want %q", operations, name, labels, ok, real[name])
			}
		}
		for name := range listed {
			if _, ok := real[name]; !ok {
				t.Errorf("%s: there is no metric %s", operations, name)
			}
		}
	}
}

// What the page and the rules say of metrics in between is of metrics that exist.
func TestNamedMetricsExist(t *testing.T) {
	part := regexp.MustCompile(`_(bucket|sum|count)$`)
	real := described()
	for _, file := range []string{operations, rules} {
		for _, name := range regexp.MustCompile(`\bsluice_[a-z_]+`).FindAllString(read(t, file), -1) {
			if _, ok := real[part.ReplaceAllString(name, "")]; !ok {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
}

// described is every metric of an account and its labels.
func described() map[string]string {
	a := newTestAccount(Options{AccessLog: io.Discard})
	descs := make(chan *prometheus.Desc, 1000)
	for _, c := range append(a.metrics.all, ledgerCollector{a}, gauges{}) {
		c.Describe(descs)
	}
	close(descs)
	all := make(map[string]string)
	said := regexp.MustCompile(`fqName: "([a-z_]+)".*variableLabels: \{([a-z,]*)\}`)
	for d := range descs {
		m := said.FindStringSubmatch(d.String())
		all[m[1]] = strings.ReplaceAll(m[2], ",", ", ")
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
