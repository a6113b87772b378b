package field

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/router"
)

// reading is what one scrape showed.
type reading struct {
	window                                               int
	inFlight, waiting, goroutines, descriptors, resident float64
}

// account checks that each request has one line in the log, which says what its
// client heard. Of one that left there may be none: it may never have got in.
func (s *soak) account() {
	s.t.Helper()
	lines := map[string]line{}
	outcomes := map[string]float64{}
	for _, l := range s.lines() {
		if _, twice := lines[l.ID]; twice {
			s.t.Errorf("%s has two lines in the log", l.ID)
		}
		lines[l.ID] = l
		outcomes[l.Outcome]++
	}
	m := s.metrics()
	for _, o := range router.Outcomes() {
		if n := m.sum("sluice_requests_finished_total", `outcome="`+o.String()+`"`); n != outcomes[o.String()] {
			s.t.Errorf("%v requests ended as %s by the ledger, %v by the log", n, o, outcomes[o.String()])
		}
	}
	for n, h := range s.crowd.heard {
		l, logged := lines[soakID(n)]
		if !h.left && (!logged || h.whole != (l.Outcome == router.Completed.String())) {
			s.t.Errorf("%s: the client heard %+v, the log says %+v", soakID(n), h, l)
		}
	}
	if good, bad := m[`sluice_config_reloads_total{result="success"}`], m[`sluice_config_reloads_total{result="failure"}`]; int(good) < s.reloads || bad > 0 {
		s.t.Errorf("%v reloads, %v of them failed; the file changed %d times", good+bad, bad, s.reloads)
	}
}

// filling is what tables of bounded size may take while they fill: that of classes of
// turns has 3 MB when it has seen some ten thousand. A hundred bytes kept of each
// request would be more, in an hour.
const filling = 6 << 20

// judge compares the second window with the last, and the latencies of the first
// with those of the last. The margins are wide: others may be using the machine.
func (s *soak) judge() {
	s.t.Helper()
	last := s.seen[len(s.seen)-1].window
	before, after := s.median(1), s.median(last)
	for _, g := range []struct {
		name                string
		before, after, most float64
	}{
		{"goroutines", before.goroutines, after.goroutines, before.goroutines*1.5 + 30},
		{"descriptors", before.descriptors, after.descriptors, before.descriptors*1.5 + 30},
		{"resident memory", before.resident, after.resident, before.resident*1.25 + 4*memorySlack},
		{"memory in use", s.heaps[1], s.heaps[last], s.heaps[1]*1.25 + filling},
	} {
		if g.after > g.most {
			s.t.Errorf("%s: %v in the second window, %v in the last, at most %v may be", g.name, g.before, g.after, g.most)
		}
	}
	for _, decode := range []bool{false, true} {
		a, b := s.crowd.figures(0, decode), s.crowd.figures(last, decode)
		if b.whole == 0 || at(b.last, .5) > 4*at(a.last, .5)+time.Second || b.whole*2 < a.whole {
			s.t.Errorf("decode %t: median %v and %d whole answers in the first window, %v and %d in the last", decode, at(a.last, .5), a.whole, at(b.last, .5), b.whole)
		}
	}
}

// median is that of each gauge in a window.
func (s *soak) median(window int) reading {
	of := func(gauge func(reading) float64) float64 {
		var all []float64
		for _, x := range s.seen {
			if x.window == window {
				all = append(all, gauge(x))
			}
		}
		slices.Sort(all)
		return at(all, .5)
	}
	return reading{window: window,
		inFlight: of(func(x reading) float64 { return x.inFlight }), waiting: of(func(x reading) float64 { return x.waiting }),
		goroutines: of(func(x reading) float64 { return x.goroutines }), descriptors: of(func(x reading) float64 { return x.descriptors }),
		resident: of(func(x reading) float64 { return x.resident })}
}

// at is a quantile of values in order; the zero value where there are none.
func at[T any](sorted []T, q float64) (v T) {
	if len(sorted) == 0 {
		return v
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// table is what was measured, a line a window, and the sums.
func (s *soak) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "window\tprompts\twhole\trefused\tfailed\tleft\tp50\tp95\tstories\twhole\trefused\tfailed\tleft\tfirst p50\tp95\tin flight\twaiting\tgoroutines\tdescriptors\tresident MiB\tin use MiB\t")
	ms := func(d time.Duration) string { return fmt.Sprint(d.Milliseconds(), " ms") }
	for window := range s.seen[len(s.seen)-1].window + 1 {
		p, d, g := s.crowd.figures(window, false), s.crowd.figures(window, true), s.median(window)
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%v\t%v\t%v\t%v\t%.1f\t%.1f\t\n", window+1,
			p.came, p.whole, p.refused, p.failed, p.left, ms(at(p.last, .5)), ms(at(p.last, .95)),
			d.came, d.whole, d.refused, d.failed, d.left, ms(at(d.first, .5)), ms(at(d.first, .95)),
			g.inFlight, g.waiting, g.goroutines, g.descriptors, g.resident/(1<<20), s.heaps[window]/(1<<20))
	}
	w.Flush()
	m := s.metrics()
	fmt.Fprintf(&b, "%d requests in %d windows of %v, at most %d at once; %d scrapes, %d reloads\n", len(s.crowd.heard), s.seen[len(s.seen)-1].window+1, s.window, s.crowd.most, len(s.seen), s.reloads)
	for _, o := range router.Outcomes() {
		if n := m.sum("sluice_requests_finished_total", `outcome="`+o.String()+`"`); n > 0 {
			fmt.Fprintf(&b, "  %s %v", o, n)
		}
	}
	for id, n := range m {
		if labels, is := strings.CutPrefix(id, "sluice_broken_answers_total"); is && n > 0 {
			fmt.Fprintf(&b, "  broken answers %s %v", labels, n)
		}
	}
	for _, at := range s.fleet.stations() {
		fmt.Fprintf(&b, "\n%s: %d lives, at most %d sequences at once by its own count, cap %d", at.options.Model, at.lives, at.peak, at.most)
	}
	return "\n" + b.String()
}
