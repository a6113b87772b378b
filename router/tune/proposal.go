package tune

import (
	"fmt"
	"math"
)

// Proposal is what to do with one setting of a pool. From equals To: leave it.
type Proposal struct {
	Pool    string   `json:"pool"`
	Setting string   `json:"setting"` // below pools.POOL of the configuration, such as cap.total
	From    int      `json:"from"`    // 0 where the configuration has no limit of its own
	To      int      `json:"to"`
	Flag    string   `json:"flag,omitempty"` // how the replicas must be started for it; empty: the gateway's alone
	Reason  string   `json:"reason"`
	Effect  string   `json:"effect,omitempty"` // modelled; of a change only
	Table   []string `json:"table,omitempty"`  // what was compared, a line each; modelled
	Samples int      `json:"samples"`          // that it rests on
	Trust   string   `json:"confidence"`
}

// Changes tells whether it is a change.
func (p *Proposal) Changes() bool { return p.From != p.To }

// Path is the setting's path in the configuration.
func (p *Proposal) Path() string { return "pools." + p.Pool + "." + p.Setting }

// Clear is the gain below which nothing is changed: less is within what the
// model is good for.
const Clear = 0.03

// clear tells whether goodput gains clearly.
func clear(from, to float64) bool { return to > 0 && to >= from*(1+Clear) }

// trust puts a number of samples in a word.
func trust(samples float64) string {
	switch {
	case samples < 200:
		return "low"
	case samples < 2000:
		return "fair"
	}
	return "good"
}

// rests says on how many samples of the traffic the proposal rests.
func (p *Proposal) rests(t *Traffic, samples float64, of string) {
	p.Samples = int(math.Round(samples))
	p.Trust = fmt.Sprintf("%s: %d %s", trust(samples), p.Samples, of)
	if t.Workload != "" {
		p.Trust = "as good as the workload " + t.Workload
	}
}

// gained says how a figure changes; in percent only where that means something.
func gained(from, to float64) string {
	if to > 5*from {
		return fmt.Sprintf("%.2f → %.2f", from, to)
	}
	return fmt.Sprintf("%.2f → %.2f (%+.0f %%)", from, to, 100*(to/from-1))
}
