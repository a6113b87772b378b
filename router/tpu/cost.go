package tpu

import "time"

// Held is what else a replica holds while a request is served: sequences that
// decode, one token a step each.
type Held struct {
	Sequences int // below max-num-seqs and max-num-batched-tokens
	Context   int // tokens of each, on average
}

// Cost is modelled time of one request's part.
type Cost struct {
	Time  time.Duration // from its first step to the end of its last
	Extra time.Duration // how much longer those steps take because of it
}

// Prefill is the cost of computing the last tokens of a prompt (at least 1), of
// which cached tokens lie in the prefix cache, up to its first token out. The
// chunks get what the decodes leave of a step's tokens. Extra is paid by every
// sequence beside it: each waits that much longer for its next tokens.
func (c *Costs) Prefill(prompt, cached int, beside Held) Cost {
	var cost Cost
	alone := c.decodeStep(beside)
	for done := cached; done < prompt; {
		chunk := min(prompt-done, max(c.setup.MaxBatched-beside.Sequences, 1))
		done += chunk
		step := c.held(beside)
		step.Tokens += chunk
		step.add(&c.setup.Model, 1, done)
		last := c.time(step)
		cost.Time += last
		cost.Extra += last - alone
	}
	return cost
}

// Decode is the cost of one more token (not the first, which comes with the
// prefill) of a sequence that attends to context tokens.
func (c *Costs) Decode(context int, beside Held) Cost {
	step := c.held(beside)
	step.Tokens++
	step.add(&c.setup.Model, 1, context)
	last := c.time(step)
	return Cost{Time: last, Extra: last - c.decodeStep(beside)}
}

// decodeStep is a step of nothing but what is held; 0 when nothing is.
func (c *Costs) decodeStep(h Held) time.Duration {
	if h.Sequences == 0 {
		return 0
	}
	return c.time(c.held(h))
}

// held is the part of a step that decodes what is held.
func (c *Costs) held(h Held) Step {
	step := Step{Tokens: h.Sequences}
	step.add(&c.setup.Model, h.Sequences, h.Context)
	return step
}
