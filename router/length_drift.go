package router

import "math"

// drift notices that lengths are no longer what they were. Each length is
// looked up in the distribution that was known before: if that still holds, its
// rank is as likely in one place as in another, of mean ½ and variance 1/12. A
// bin holds a range of ranks, and an answer that was cut all from there on up;
// of a range the mean of each measure is taken, which keeps both unbiased.
//
// What comes in at one instant is summed first, in whole numbers, so that its
// order doesn't matter.
type drift struct {
	shift, spread       float64 // moving means: of the rank less ½, of its square about ½ less 1/12
	shiftSum, spreadSum int64   // of the present instant, in driftUnits
	samples             int     // of the present instant
}

const (
	driftUnit    = 1 << 32
	driftMemory  = 32.0 // samples of the moving means
	driftCertain = 4.0  // standard deviations: of chance, once in some 100,000 samples
)

// observe takes in a length whose rank lies between low and high, in [0, 1].
func (d *drift) observe(low, high float64) {
	a, b := low-0.5, high-0.5
	d.shiftSum += int64((a + b) / 2 * driftUnit)
	d.spreadSum += int64(((a*a+a*b+b*b)/3 - 1.0/12) * driftUnit)
	d.samples++
}

// drifted ends an instant and tells whether the lengths have changed, given how
// many samples the distribution stands on: its own error counts too.
func (d *drift) drifted(weight float64) bool {
	if d.samples == 0 {
		return false
	}
	n := float64(d.samples)
	keep := 1 - 1/driftMemory
	if d.samples > 1 {
		keep = math.Pow(keep, n)
	}
	d.shift = keep*d.shift + (1-keep)*float64(d.shiftSum)/driftUnit/n
	d.spread = keep*d.spread + (1-keep)*float64(d.spreadSum)/driftUnit/n
	d.shiftSum, d.spreadSum, d.samples = 0, 0, 0
	noise := driftCertain * driftCertain * (1/(2*driftMemory-1) + 1/max(weight, 1))
	return d.shift*d.shift > noise/12 || d.spread*d.spread > noise/180
}
