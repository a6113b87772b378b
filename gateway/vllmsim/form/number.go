package form

import (
	"math"
	"strconv"
)

// numbers is what a number must keep to.
type numbers struct {
	low, high         float64
	lowOpen, highOpen bool
	step              float64 // 0: none
}

func newNumbers(o object) numbers {
	s := numbers{low: asNumber(o.get("minimum"), math.Inf(-1)), high: asNumber(o.get("maximum"), math.Inf(1)), step: asNumber(o.get("multipleOf"), 0)}
	if above := asNumber(o.get("exclusiveMinimum"), math.Inf(-1)); above >= s.low {
		s.low, s.lowOpen = above, !math.IsInf(above, -1)
	}
	if below := asNumber(o.get("exclusiveMaximum"), math.Inf(1)); below <= s.high {
		s.high, s.highOpen = below, !math.IsInf(below, 1)
	}
	return s
}

// allows says whether a number keeps to it.
func (s numbers) allows(v float64) bool {
	if v < s.low || v > s.high || s.lowOpen && v == s.low || s.highOpen && v == s.high {
		return false
	}
	return s.step == 0 || math.Mod(v, s.step) == 0
}

// scale is how far numbers spread where nothing bounds them.
const scale = 100

// window is the bounds, or what stands for those that aren't there.
func (s numbers) window() (low, high float64) {
	low, high = s.low, s.high
	switch {
	case math.IsInf(low, -1) && math.IsInf(high, 1):
		return 0, scale
	case math.IsInf(low, -1):
		low = high - scale*max(1, s.step)
	case math.IsInf(high, 1):
		high = low + scale*max(1, s.step)
	}
	return low, high
}

// candidates are some numbers that keep to it, from its low end on.
func (s numbers) candidates(whole bool) []float64 {
	low, high := s.window()
	step := s.step
	if step == 0 {
		step = 1
		if !whole {
			step = max((high-low)/scale, math.SmallestNonzeroFloat64)
		}
	}
	var all []float64
	first := low
	if whole || s.step > 0 {
		first = math.Ceil(low/step) * step
	}
	for k := range 10 * scale {
		v := first + float64(k)*step
		if v > high || len(all) == scale {
			break
		}
		if rounded := math.Round(v*100) / 100; !whole && s.step == 0 && s.allows(rounded) {
			v = rounded
		}
		if s.allows(v) && (!whole || v == math.Trunc(v)) {
			all = append(all, v)
		}
	}
	return all
}

// asNumber is a number, or what stands for none.
func asNumber(v any, none float64) float64 {
	if s, is := v.(interface{ Float64() (float64, error) }); is {
		if n, err := s.Float64(); err == nil {
			return n
		}
	}
	return none
}

// unlimited stands for a bound that isn't there.
const unlimited = math.MaxInt32

// count reads a bound that counts something.
func count(o object, name string, none int) int {
	return int(min(max(asNumber(o.get(name), float64(none)), 0), unlimited))
}

// decimal writes a number as JSON, never in exponents.
func decimal(v float64) string {
	return strconv.FormatFloat(v+0, 'f', -1, 64)
}
