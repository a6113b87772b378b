package lab

import (
	"slices"
	"time"

	"sluice/router"
)

// edge is how much of a run's start and end doesn't count.
const edge = 60 * time.Second

// Score is how a policy did in one run, or the mean of several. Rates are
// requests per second that arrived within the window.
type Score struct {
	Normalised float64               // value goodput, each class ÷ what the fleet can serve of it alone, summed
	Classes    map[string]ClassScore // priority batch apart, under its own name: it doesn't count above
	Tenants    map[string]float64    // tokens per second of goodput
	Seconds    float64               // of the window
}

// ClassScore is a class's part.
type ClassScore struct {
	Offered float64 // arrivals
	Good    float64 // served within the SLO
	Value   float64 // Good, each weighed with what its pool is worth
	Late    float64 // served, but not within the SLO
	Refused float64
	Lost    float64
	TTFT    float64 // p99, seconds, of those served
	TPOT    float64
	E2E     float64
}

// values is what the first and the second pool of an order are worth.
var values = [...]float64{1, 0.8}

// worth is the value of serving a class from a pool: prefill is worth most on the
// first pool, decode on the second.
func worth(class router.Class, pool int) float64 {
	if class == router.Prefill {
		return values[pool]
	}
	return values[1-pool]
}

// good says whether a request was served within its SLO.
func (r *request) good() bool {
	if r.fate != served {
		return false
	}
	if r.kind.batch() {
		return true // nothing is promised
	}
	limit := r.kind.slo().Limit(r.prompt)
	if r.class == router.Prefill {
		return r.ended-r.arrival <= limit
	}
	return r.first-r.arrival <= limit && (r.kind.TPOT == 0 || r.tpot() <= r.kind.TPOT)
}

// tpot is the mean time between its tokens.
func (r *request) tpot() time.Duration {
	if r.answer < 2 {
		return 0
	}
	return (r.ended - r.first) / time.Duration(r.answer-1)
}

// score judges a run.
func (w *world) score(of *Workload) Score {
	s := Score{Classes: map[string]ClassScore{}, Tenants: map[string]float64{}, Seconds: (w.lasts - 2*edge).Seconds()}
	times := map[string]*[3][]time.Duration{}
	for _, r := range w.requests {
		if r.arrival < edge || r.arrival > w.lasts-edge {
			continue
		}
		name := r.kind.counted()
		c := s.Classes[name]
		c.Offered++
		switch {
		case r.good() && (!r.kind.batch() || r.ended <= w.lasts): // what is done while nobody else comes shows nothing
			c.Good++
			c.Value += worth(r.class, w.machines[r.replica].pool)
			if !r.kind.batch() {
				s.Tenants[r.kind.Tenant] += float64(r.prompt + r.answer)
			}
		case r.fate == served:
			c.Late++
		case r.fate == refused:
			c.Refused++
		default:
			c.Lost++
		}
		s.Classes[name] = c
		if r.fate != served {
			continue
		}
		t := times[name]
		if t == nil {
			t = new([3][]time.Duration)
			times[name] = t
		}
		t[0], t[1], t[2] = append(t[0], r.first-r.arrival), append(t[1], r.tpot()), append(t[2], r.ended-r.arrival)
	}
	for name, t := range times {
		c := s.Classes[name]
		c.TTFT, c.TPOT, c.E2E = p99(t[0]), p99(t[1]), p99(t[2])
		s.Classes[name] = c
	}
	s.rates(of)
	return s
}

// rates turns counts into rates, and sums them up.
func (s *Score) rates(of *Workload) {
	for name, c := range s.Classes {
		for _, n := range []*float64{&c.Offered, &c.Good, &c.Value, &c.Late, &c.Refused, &c.Lost} {
			*n /= s.Seconds
		}
		s.Classes[name] = c
		if solo := of.Solo[name]; solo > 0 {
			s.Normalised += c.Value / solo
		}
	}
	for tenant := range s.Tenants {
		s.Tenants[tenant] /= s.Seconds
	}
}

// p99 is in seconds.
func p99(times []time.Duration) float64 {
	slices.Sort(times)
	return times[(len(times)-1)*99/100].Seconds()
}

// meanScore is the mean of runs of the same workload and load; times are the mean
// of the runs that served any.
func meanScore(all []Score) Score {
	sum := Score{Classes: map[string]ClassScore{}, Tenants: map[string]float64{}}
	n, served := float64(len(all)), map[string]float64{}
	for _, s := range all {
		sum.Normalised += s.Normalised / n
		sum.Seconds += s.Seconds
		for name, c := range s.Classes {
			m := sum.Classes[name]
			for _, f := range [][2]*float64{{&m.Offered, &c.Offered}, {&m.Good, &c.Good}, {&m.Value, &c.Value}, {&m.Late, &c.Late},
				{&m.Refused, &c.Refused}, {&m.Lost, &c.Lost}} {
				*f[0] += *f[1] / n
			}
			m.TTFT, m.TPOT, m.E2E = m.TTFT+c.TTFT, m.TPOT+c.TPOT, m.E2E+c.E2E
			if c.E2E > 0 {
				served[name]++
			}
			sum.Classes[name] = m
		}
		for tenant, x := range s.Tenants {
			sum.Tenants[tenant] += x / n
		}
	}
	for name, n := range served {
		m := sum.Classes[name]
		m.TTFT, m.TPOT, m.E2E = m.TTFT/n, m.TPOT/n, m.E2E/n
		sum.Classes[name] = m
	}
	return sum
}
