package lab

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"testing"
	"time"

	"sluice/router"
)

// sight is how requests of one sort were foreseen.
type sight struct {
	all, below, within int // answers; shorter than their predicted 90th percentile; at most as long
	flips              int // class other than that of the one before
	last               router.Class
}

// TestAnswersAreForeseen: on each workload at load 1 the predicted 90th percentile of
// an answer's length covers 85 to 95 % of the answers: that many at least are no
// longer, and no more are shorter (between the two lie those of just that length, as
// where a bound cuts). And requests of one kind and size of prompt hardly ever change
// their class from one to the next.
func TestAnswersAreForeseen(t *testing.T) {
	all, err := Workloads()
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range all {
		t.Run(of.Name, func(t *testing.T) {
			t.Parallel()
			testForeseen(t, measured(of))
		})
	}
}

func testForeseen(t *testing.T, of *Workload) {
	t.Helper()
	sights, runs := map[string]*sight{}, of.Runs(1)
	if testing.Short() {
		runs = runs[:1]
	}
	for _, r := range runs {
		if changes(of) {
			r.Lasts = shiftLasts
		}
		w := under(t, r, nil)
		settled := 2 * generation([]*world{w})
		for _, q := range w.requests {
			if _, ok := q.own.(held); ok && counts(w, of, q, settled) {
				see(sights, q)
			}
		}
	}
	var sum sight
	for _, name := range slices.Sorted(maps.Keys(sights)) {
		s := sights[name]
		sum.all, sum.below, sum.within, sum.flips = sum.all+s.all, sum.below+s.below, sum.within+s.within, sum.flips+s.flips
		if s.all >= 100 && s.share(s.flips) >= 0.01 {
			t.Errorf("%s: %d of %d change their class", name, s.flips, s.all)
		}
	}
	below, within := sum.share(sum.below), sum.share(sum.within)
	t.Logf("of %d answers %.3f are shorter than foreseen, %.3f at most as long; %.4f change their class", sum.all, below, within, sum.share(sum.flips))
	if below > 0.95 || within < 0.85 || sum.share(sum.flips) >= 0.01 {
		t.Error("want at most 0.95, at least 0.85, less than 0.01")
	}
}

// changes tells whether the lengths of a workload's answers change half-way.
func changes(of *Workload) bool {
	return slices.ContainsFunc(of.Kinds, func(k Kind) bool { return k.Shifted.Median > 0 })
}

// counts tells whether a request arrived in the time that counts. After answers have
// changed their length nobody can know it before the first of the new ones have
// ended: twice their time is left out, as long as goodput has to be back.
func counts(w *world, of *Workload, q *request, settled time.Duration) bool {
	if q.arrival < edge || q.arrival > w.lasts-edge {
		return false
	}
	since := q.arrival - w.lasts/2
	return !changes(of) || since < 0 || since > settled
}

// see books a request.
func see(sights map[string]*sight, q *request) {
	g := q.own.(held).grant
	name := fmt.Sprintf("%s %s, prompts below %d", q.kind.Tenant, q.kind.Name, 1<<bits.Len(uint(q.prompt)))
	s := sights[name]
	if s == nil {
		s = &sight{last: g.Class}
		sights[name] = s
	}
	s.all++
	if q.answer < g.LongestOut {
		s.below++
	}
	if q.answer <= g.LongestOut {
		s.within++
	}
	if g.Class != s.last {
		s.flips++
	}
	s.last = g.Class
}

func (s *sight) share(n int) float64 { return float64(n) / float64(max(s.all, 1)) }
