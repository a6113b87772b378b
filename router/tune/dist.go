package tune

import (
	"maps"
	"math"
	"slices"
	"sort"
)

// Dist is a distribution of tokens, as a histogram has it.
type Dist struct {
	Bounds []float64 // upper bounds, rising
	Counts []float64 // of each bucket by itself
	Sum    float64   // of all values
}

// distOf makes one of cumulative counts by upper bound.
func distOf(cumulative map[float64]float64, sum float64) Dist {
	d := Dist{Sum: sum}
	before := 0.0
	for _, bound := range slices.Sorted(maps.Keys(cumulative)) {
		d.Bounds = append(d.Bounds, bound)
		d.Counts = append(d.Counts, max(cumulative[bound]-before, 0))
		before = max(before, cumulative[bound])
	}
	return d
}

// add adds another's values. Buckets that only one has stay as they are.
func (d *Dist) add(o Dist) {
	counts := map[float64]float64{}
	for _, x := range []Dist{*d, o} {
		for i, bound := range x.Bounds {
			counts[bound] += x.Counts[i]
		}
	}
	d.Bounds, d.Counts = slices.Sorted(maps.Keys(counts)), nil
	for _, bound := range d.Bounds {
		d.Counts = append(d.Counts, counts[bound])
	}
	d.Sum += o.Sum
}

// Point is a value and how often it was seen.
type Point struct{ Value, Weight float64 }

// Points is a distribution as its values, rising.
type Points []Point

// perBucket is how many values stand for a bucket's.
const perBucket = 32

// Points spreads each bucket's values over the bucket: evenly, if their sum is
// then what the histogram says; else more to one end, all buckets alike.
func (d Dist) Points() Points {
	low, high := -400.0, 400.0 // how steep: e^x from one end of a bucket to the other
	for range 60 {
		if middle := (low + high) / 2; d.spread(middle).sum() < d.Sum {
			low = middle
		} else {
			high = middle
		}
	}
	return d.spread(low)
}

func (d Dist) spread(steep float64) Points {
	var all Points
	before := 0.0
	for i, bound := range d.Bounds {
		if n := d.Counts[i]; n > 0 {
			width := bound - before
			if math.IsInf(bound, 1) {
				width = max(before, 1) // nobody knows how far beyond the last bound
			}
			for j := range perBucket {
				at := place(steep, (float64(j)+.5)/perBucket)
				all = append(all, Point{before + width*at, n / perBucket})
			}
		}
		before = bound
	}
	return all
}

// place is the quantile q of a density on [0, 1] that grows as e^(steep·x).
func place(steep, q float64) float64 {
	if math.Abs(steep) < 1e-6 {
		return q
	}
	if steep > 0 { // mirrored, so that nothing overflows
		return 1 - place(-steep, 1-q)
	}
	return math.Log1p(q*math.Expm1(steep)) / steep
}

func (p Points) sum() float64 {
	total := 0.0
	for _, x := range p {
		total += x.Value * x.Weight
	}
	return total
}

// Count is how many values there are.
func (p Points) Count() float64 {
	total := 0.0
	for _, x := range p {
		total += x.Weight
	}
	return total
}

// Mean is 0 of nothing.
func (p Points) Mean() float64 {
	if n := p.Count(); n > 0 {
		return p.sum() / n
	}
	return 0
}

// Quantile is the value below which the share q lies; 0 of nothing.
func (p Points) Quantile(q float64) float64 {
	left := q * p.Count()
	for _, x := range p {
		if left -= x.Weight; left < 0 {
			return x.Value
		}
	}
	if len(p) == 0 {
		return 0
	}
	return p[len(p)-1].Value
}

// split parts the values: so many of the lowest, and the others.
func (p Points) split(count float64) (lower, upper Points) {
	for _, x := range p {
		take := min(max(count, 0), x.Weight)
		count -= take
		if take > 0 {
			lower = append(lower, Point{x.Value, take})
		}
		if x.Weight > take {
			upper = append(upper, Point{x.Value, x.Weight - take})
		}
	}
	return lower, upper
}

// table is for drawing many quantiles of the same points.
type table struct {
	points Points
	below  []float64 // weight up to and with each point
}

func tableOf(p Points) table {
	t := table{points: p}
	total := 0.0
	for _, x := range p {
		total += x.Weight
		t.below = append(t.below, total)
	}
	return t
}

// at is the quantile q in [0, 1), a whole number of at least 1.
func (t table) at(q float64) int {
	if len(t.points) == 0 {
		return 1
	}
	i := sort.SearchFloat64s(t.below, q*t.below[len(t.below)-1])
	return max(int(math.Round(t.points[min(i, len(t.points)-1)].Value)), 1)
}
