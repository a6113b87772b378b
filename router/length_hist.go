package router

import (
	"math"
	"math/bits"
)

// lengthBins is how many bins a distribution of output lengths has: one for each
// length from 1 to 7 tokens, four for each octave from 8 to 131,071, and one for
// what is longer still. So a bin is at most a quarter of its lengths wide.
const lengthBins = 64

// longestLength is the longest length, in tokens, that is told from longer ones.
const longestLength = 163_839

// binOf is the bin of a length in tokens.
func binOf(tokens int) int {
	if tokens < 8 {
		return max(tokens, 1) - 1
	}
	e := bits.Len(uint(tokens))
	return min(4*e-9+tokens>>(e-3)&3, lengthBins-1)
}

// binStart is the shortest length of a bin, in tokens; that of lengthBins ends
// the last one.
func binStart(bin int) int {
	if bin < 7 {
		return bin + 1
	}
	return (4 + (bin-7)&3) << ((bin-7)/4 + 1)
}

// curve is a distribution of lengths: of each bin its weight, and the sums of
// its lengths and of their squares, weighted likewise. The sums tell where in a
// bin the lengths lie: all answers of exactly 1,020 tokens are as well described
// as any spread over the bin.
type curve struct {
	mass, sum, square [lengthBins]float64
	all               float64 // the mass of all bins, once total has been called
}

// total adds up the mass of all bins.
func (c *curve) total() {
	c.all = 0
	for _, m := range c.mass {
		c.all += m
	}
}

// within is where in a bin its lengths lie: evenly from..to, with the mean and
// the spread of those seen. A length of n tokens fills n-½..n+½.
func (c *curve) within(bin int) (from, to float64) {
	low, high := float64(binStart(bin))-0.5, float64(binStart(bin+1))-0.5
	if c.mass[bin] <= 0 {
		return low, high
	}
	mean := c.sum[bin] / c.mass[bin]
	variance := max(0, c.square[bin]/c.mass[bin]-mean*mean)
	half := math.Sqrt(12*variance+1) / 2
	return max(mean-half, low), min(mean+half, high)
}

// tail is what of a curve is longer than a length.
type tail struct {
	*curve
	first int     // bin where it begins
	part  float64 // of that bin's mass
	from  float64 // in that bin it begins here, in tokens
	mass  float64 // of all
}

// after is the part of a curve that is longer than `emitted` tokens. Its mass is
// added up, and not what is left of all, which would be nothing but rounding
// errors far out.
func (c *curve) after(emitted int) tail {
	if emitted == 0 {
		return tail{curve: c, part: 1, mass: c.all}
	}
	t := tail{curve: c, first: binOf(emitted + 1), part: 1}
	from, to := c.within(t.first)
	t.from = from
	if edge := float64(emitted) + 0.5; edge > from {
		t.from = min(edge, to)
		t.part = max(0, to-edge) / (to - from)
	}
	t.mass = c.mass[t.first] * t.part
	for _, m := range c.mass[t.first+1:] {
		t.mass += m
	}
	return t
}

// quantile is the length in tokens that a share q of the tail doesn't exceed.
func (t *tail) quantile(q float64) int {
	target, bin := q*t.mass, t.first
	m := t.curve.mass[bin] * t.part
	for target > m && bin < lengthBins-1 {
		target -= m
		bin++
		m = t.curve.mass[bin]
	}
	from, to := t.within(bin)
	if bin == t.first {
		from = max(from, t.from)
	}
	// Kept off both ends, where rounding errors would choose the length.
	share := 0.5
	if m > 0 {
		share = min(max(target/m, 1e-6), 1-1e-6)
	}
	return int(math.Round(from + share*(to-from)))
}

// mean is the mean length in tokens of the tail's answers, were they cut at bound.
func (t *tail) mean(bound int) float64 {
	last, most := binOf(bound), float64(bound)
	m := t.curve.mass[t.first] * t.part
	all := min(t.sum[t.first], m*most)
	if t.part < 1 {
		_, to := t.within(t.first)
		all = m * min((t.from+to)/2, most)
	}
	shorter := m
	for i := t.first + 1; i < last; i++ {
		all += t.sum[i]
		shorter += t.curve.mass[i]
	}
	if last > t.first {
		all += min(t.sum[last], t.curve.mass[last]*most)
		shorter += t.curve.mass[last]
	}
	return (all + max(0, t.mass-shorter)*most) / t.mass
}

// histogram is the lengths seen: those of whole answers by their length, and
// the weight of those that were cut after a bin, which tell only that they were
// longer.
type histogram struct {
	curve
	cut    [lengthBins]float64
	weight float64 // of all, the cut ones included
	cuts   bool    // any were cut
}

// add takes in a whole answer.
func (h *histogram) add(tokens int, weight float64) {
	bin, x := binOf(tokens), float64(tokens)
	h.mass[bin] += weight
	h.sum[bin] += weight * x
	h.square[bin] += weight * x * x
	h.weight += weight
}

// addCut takes in an answer that was cut after so many tokens: it outlived the
// bins before, and of the bin that it was cut in the part behind it.
func (h *histogram) addCut(tokens int, weight float64) {
	bin, part := cutAt(tokens)
	h.cut[bin] += weight * part
	h.weight += weight * part
	h.cuts = true
	if bin > 0 { // what outlived nothing says nothing
		h.cut[bin-1] += weight * (1 - part)
		h.weight += weight * (1 - part)
	}
}

// cutAt is the bin in which an answer was cut after so many tokens, and which
// part of the bin it had outlived.
func cutAt(tokens int) (bin int, part float64) {
	bin = binOf(tokens)
	start := binStart(bin)
	return bin, float64(tokens+1-start) / float64(binStart(bin+1)-start)
}

// scale multiplies all weights.
func (h *histogram) scale(by float64) {
	for i := range lengthBins {
		h.mass[i] *= by
		h.sum[i] *= by
		h.square[i] *= by
		h.cut[i] *= by
	}
	h.weight *= by
}

// blend fills in the distribution that the histogram tells, after a prior that
// is worth k samples. An answer that was cut counts as longer ones do, in their
// proportions: the estimator of Kaplan and Meier, and with the prior that of
// Susarla and Van Ryzin. Where nothing was cut it is the weighted mean of both.
func (h *histogram) blend(c *curve, k float64, prior *curve) {
	for i := range lengthBins {
		c.mass[i] = h.mass[i] + k*prior.mass[i]
		c.sum[i] = h.sum[i] + k*prior.sum[i]
		c.square[i] = h.square[i] + k*prior.square[i]
	}
	if h.cuts {
		h.passOn(c)
	}
	c.total()
}

// passOn gives the weight of each cut answer to the longer ones. A bin's weight
// grows by the shares that all cuts before it give to it.
func (h *histogram) passOn(c *curve) {
	var give [lengthBins]float64
	longer := 0.0
	for i := lengthBins - 1; i >= 0; i-- {
		if h.cut[i] > 0 && longer > 0 {
			give[i] = h.cut[i] / longer
		}
		longer += c.mass[i] + h.cut[i]
	}
	grow := 1.0
	for i := range lengthBins {
		c.mass[i] *= grow
		c.sum[i] *= grow
		c.square[i] *= grow
		grow *= 1 + give[i]
	}
}

// priorLengths is how long answers are before any was seen: of 160 tokens in
// the middle, 300 on average, one in ten longer than 670; and nothing is ruled out.
func priorLengths() *curve {
	const middle, sigma, floor = 160, 1.12, 1e-6
	c, below := &curve{}, 0.0
	for i := range lengthBins {
		start, end := float64(binStart(i)), float64(binStart(i+1))
		upTo := 0.5 * math.Erfc(-math.Log((end-0.5)/middle)/(sigma*math.Sqrt2))
		m := (upTo - below + floor) / (1 + lengthBins*floor)
		mid, width := (start+end-1)/2, end-start
		c.mass[i], c.sum[i], c.square[i] = m, m*mid, m*(mid*mid+(width*width-1)/12)
		below = upTo
	}
	c.total()
	return c
}
