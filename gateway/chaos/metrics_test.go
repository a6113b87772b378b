package chaos

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// metrics is one scrape: series, as written, to value.
type metrics map[string]float64

func (w *world) scrape() (metrics, bool) {
	text, err := scrape(w.ops, "/metrics")
	m := metrics{}
	for line := range strings.Lines(text) {
		name, value, ok := cutLast(strings.TrimSpace(line))
		if !ok || !strings.HasPrefix(line, "sluice_") || strings.Contains(name, "_bucket{") {
			continue
		}
		if m[name], err = strconv.ParseFloat(value, 64); err != nil {
			err = fmt.Errorf("line %q: %w", line, err)
			break
		}
	}
	if err != nil {
		w.fault("the metrics can't be read: %v", err)
	}
	return m, err == nil
}

func cutLast(line string) (name, value string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", "", false
	}
	return line[:i], line[i+1:], true
}

// sum adds up the series of a name whose labels contain each part.
func (m metrics) sum(name string, parts ...string) (total float64) {
next:
	for series, v := range m {
		if series != name && !strings.HasPrefix(series, name+"{") {
			continue
		}
		for _, part := range parts {
			if !strings.Contains(series, part) {
				continue next
			}
		}
		total += v
	}
	return total
}

// checkLabels: promise 8.
func (w *world) checkLabels(m metrics) {
	for series := range m {
		if chosen.MatchString(series) {
			w.fault("a client minted the series %s", series)
		}
	}
}

// chosen is what only clients say: request ids, and models that nobody serves.
var chosen = regexp.MustCompile(`"(r[0-9]+(-[0-9]+)?|[^"]*ghost[^"]*)"`)

// checkLedger: promise 3. Nothing that is counted is below 0.
func (w *world) checkLedger(m metrics) {
	received, finished, flying := m.sum("sluice_requests_received_total"), m.sum("sluice_requests_finished_total"), m.sum("sluice_requests_in_flight")
	if received != finished+flying {
		w.fault("the ledger does not balance: received %v, finished %v, in flight %v", received, finished, flying)
	}
	for series, v := range m {
		if v < 0 && !strings.HasPrefix(series, "sluice_token_estimate_error") { // which may be too low
			w.fault("%s is %v", series, v)
		}
	}
}

var openBreaker = regexp.MustCompile(`^sluice_breaker_state\{.*replica="([^"]*)",state="open"\}$`)

// openBreakers are the replicas whose breaker is open.
func (w *world) openBreakers() map[string]bool {
	open := map[string]bool{}
	m, _ := w.scrape()
	for series, v := range m {
		if !strings.HasPrefix(series, "sluice_breaker_state") {
			continue
		}
		if found := openBreaker.FindStringSubmatch(series); found != nil && v == 1 {
			open[found[1]] = true
		}
	}
	return open
}
