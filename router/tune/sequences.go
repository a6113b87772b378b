package tune

import (
	"fmt"

	"sluice/router"
	"sluice/router/tpu"
)

// sequences proposes max_num_seqs, and leaves c.r with it. Fewer make smaller
// pages, of which sequences waste less; more are needed where a higher cap pays.
func (c *caps) sequences() Proposal {
	from := c.r.setup.MaxNumSeqs
	p := Proposal{Pool: c.pool, Setting: "engine.max_num_seqs", From: from, To: from}
	p.rests(c.r.traffic, c.r.traffic.requests(), "requests")
	mode, _ := c.mode()
	p.Table = c.pages(mode)
	now := c.r.knee(mode)
	if now.at.held > from && c.wants() && clear(c.r.hold(from, mode).Goodput(), now.at.goodput) {
		p.To = whole(now.at.held)
		p.Reason = fmt.Sprintf("goodput still rises at %d sequences, up to %d", from, now.at.held)
		p.Effect = c.set(p.To, mode) + fmt.Sprintf("; goodput of a replica %s requests/s (modelled)", gained(c.r.hold(from, mode).Goodput(), now.at.goodput))
	} else if fewer := whole(c.held(c.cap.Total)); fewer < from {
		c.fewer(&p, fewer, mode, now.at.goodput)
	} else {
		p.Reason = fmt.Sprintf("the caps need %d, and goodput is at its best with %d held (modelled)", c.held(c.cap.Total), now.at.held)
		if now.at.held > from && !c.wants() {
			p.Reason += fmt.Sprintf("; but nobody waits for more: %.1f %% of the requests waited in the gateway or were refused", 100*c.r.traffic.Late)
		}
	}
	if p.Changes() {
		p.Flag = fmt.Sprintf("--max-num-seqs %d", p.To)
		c.r = c.seqs(p.To)
	}
	return p
}

// fewer fills in whether to lower max_num_seqs to what the caps need.
func (c *caps) fewer(p *Proposal, fewer int, mode router.Class, goodput float64) {
	other := c.seqs(fewer)
	page, smaller := c.r.setup.Replica().Page, other.setup.Replica().Page
	holds, more := c.r.holds(mode), other.holds(mode)
	then := other.knee(mode).at.goodput
	short := c.preempts() && float64(more) >= float64(holds)*(1+Clear)
	switch {
	case smaller == page:
		p.Reason = fmt.Sprintf("the caps need %d, but with those a page has %d tokens as well: nothing is gained", fewer, page)
		return
	case !short && !clear(goodput, then):
		p.Reason = fmt.Sprintf("the caps need %d; with those a page has %d tokens instead of %d and the KV cache holds %d sequences of the sizes seen instead of %d, which gains nothing clear here",
			fewer, smaller, page, more, holds)
		return
	}
	p.To = fewer
	p.Reason = fmt.Sprintf("the caps need %d; %d force pages of %d tokens (%d sequences × %d tokens of context in half of scalar memory), of which each sequence wastes a part",
		fewer, p.From, page, p.From, c.r.setup.MaxModelLen)
	p.Effect = c.set(fewer, mode) + fmt.Sprintf("; goodput of a replica at its knee %s requests/s (modelled)", gained(goodput, then))
}

// set says what a number of sequences makes of the KV cache.
func (c *caps) set(n int, mode router.Class) string {
	other := c.seqs(n)
	return fmt.Sprintf("pages of %d tokens instead of %d, room for %d sequences of the sizes seen instead of %d",
		other.setup.Replica().Page, c.r.setup.Replica().Page, other.holds(mode), c.r.holds(mode))
}

func (c *caps) seqs(n int) *replica {
	return c.r.with(func(s *tpu.Setup) { s.MaxNumSeqs = n })
}

// pages is what the KV cache holds by the length of a sequence.
func (c *caps) pages(mode router.Class) []string {
	kv := c.r.setup.Replica()
	all := kv.Pages(c.r.setup.Utilisation, c.r.setup.Overhead)
	lines := []string{fmt.Sprintf("%d pages of %d tokens hold %d sequences of the sizes seen", all, kv.Page, c.r.holds(mode))}
	for _, class := range []router.Class{router.Prefill, router.Decode} {
		s := c.r.traffic.Of(class)
		if s.count() < seldom*c.r.traffic.requests() {
			continue
		}
		before := 0
		for _, q := range []float64{0.5, 0.9, 0.99} {
			tokens := int(s.Prompts.Quantile(q) + s.Answers.Quantile(q))
			if tokens == before {
				continue
			}
			before = tokens
			need := kv.PagesNeeded(max(tokens, 1))
			lines = append(lines, fmt.Sprintf("%s p%.0f: %d tokens need %d pages, %d such sequences fit", class, 100*q, tokens, need, all/need))
		}
	}
	return lines
}
