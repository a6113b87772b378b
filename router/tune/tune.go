package tune

import (
	"fmt"
	"strings"

	"sluice/config"
	"sluice/router/tpu"
)

// Report is what is proposed for a pool.
type Report struct {
	Pool      string     `json:"pool"`
	Seen      string     `json:"seen"`              // the traffic, in words
	Problem   string     `json:"problem,omitempty"` // why nothing can be proposed
	Notes     []string   `json:"notes,omitempty"`   // what doesn't fit together
	Proposals []Proposal `json:"proposals"`
}

// leastSeen is the fewest requests that anything is proposed from.
const leastSeen = 50

// Pool tunes a pool of the configuration to its traffic. Gateways is how many
// share the replicas, each with the caps of this file; at least 1.
func Pool(cfg *config.Config, name string, t Traffic, gateways int) Report {
	rep := Report{Pool: name, Seen: t.words(), Proposals: []Proposal{}}
	if n := t.requests(); n < leastSeen {
		rep.Problem = fmt.Sprintf("only %.0f requests were seen, %d are needed to propose anything", n, leastSeen)
		return rep
	}
	r, err := replicaOf(cfg, name, &t)
	if err != nil {
		rep.Problem = err.Error()
		return rep
	}
	if page := r.setup.Replica().Page; t.Page > 0 && t.Page != page {
		rep.Notes = append(rep.Notes, fmt.Sprintf("the replicas' pages have %d tokens, but max_model_len=%d and max_num_seqs=%d make %d: pools.%s.engine doesn't say what they were started with",
			t.Page, r.setup.MaxModelLen, r.setup.MaxNumSeqs, page, name))
	}
	r.held *= gateways
	gap := r.gap(name)
	r = r.with(func(s *tpu.Setup) { s.Gap = gap.To })
	chunk := r.chunk(name)
	r = r.chunked(chunk.To)
	c := caps{r: r, pool: name, cap: cfg.Pools[name].Cap, gateways: gateways}
	seqs := c.sequences()
	rep.Proposals = append([]Proposal{gap, chunk, seqs}, c.all()...)
	return rep
}

// words says what traffic was seen.
func (t *Traffic) words() string {
	var parts []string
	for _, c := range []struct {
		name string
		s    *Sizes
	}{{"prefill", &t.Prefill}, {"decode", &t.Decode}} {
		if n := c.s.count(); n > 0 {
			parts = append(parts, fmt.Sprintf("%.0f %s (prompt %.0f tokens on average, 90 %% below %.0f; answer %.0f, %.0f)",
				n, c.name, c.s.Prompts.Mean(), c.s.Prompts.Quantile(0.9), c.s.Answers.Mean(), c.s.Answers.Quantile(0.9)))
		}
	}
	if len(parts) == 0 {
		return "no requests"
	}
	text := strings.Join(parts, ", ")
	if t.Guessed {
		text += "; classes guessed by the length of answers"
	}
	if n := t.Iterations.Count(); n > 0 {
		text += fmt.Sprintf("; %.0f steps of %.0f tokens on average, %.0f sequences decoding", n, t.Iterations.Mean(), t.InStep)
	}
	if t.Finished > 0 {
		text += fmt.Sprintf("; %.0f preemptions", t.Preemptions)
	}
	if t.Hits >= 0.005 {
		text += fmt.Sprintf("; %.0f %% of the prompts' tokens from the prefix cache", 100*t.Hits)
	}
	return text
}
