package lab

import "time"

// Capacity is the arrivals per second of which the best split still serves 95 %
// within their SLO, to 2 %.
func Capacity(of *Workload, lasts time.Duration, evaluations int) float64 {
	low, high := 0.0, 2.0
	var known []Split
	for holds := true; holds; high *= 2 {
		if holds = serves(of, high, lasts, evaluations, &known); holds {
			low = high
		}
	}
	for high/2 > low*1.02 { // the loop has doubled high once too often
		middle := (low + high/2) / 2
		if serves(of, middle, lasts, evaluations, &known) {
			low = middle
		} else {
			high = 2 * middle
		}
	}
	return low
}

// serves tells whether some split serves 95 % of so many arrivals per second.
func serves(of *Workload, rate float64, lasts time.Duration, evaluations int, known *[]Split) bool {
	counted := *of
	counted.Solo = map[string]float64{}
	for _, k := range of.Kinds {
		counted.Solo[k.Class] = rate // so that the value counts requests
	}
	runs := []Run{{Workload: &counted, Rate: rate, Lasts: lasts, Seed: 1}, {Workload: &counted, Rate: rate, Lasts: lasts, Seed: 2}}
	for _, s := range *known {
		if share(runs, s) >= 0.95 {
			return true
		}
	}
	best := BestSplit(runs, evaluations, *known...)
	*known = append(*known, best.Split)
	return share(runs, best.Split) >= 0.95
}

// share is the part of the requests that a split serves within their SLO.
func share(runs []Run, s Split) float64 {
	good, offered := 0.0, 0.0
	for i := range runs {
		score, err := runs[i].Split(s)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		for _, c := range score.Classes {
			good, offered = good+c.Good, offered+c.Offered
		}
	}
	return good / offered
}
