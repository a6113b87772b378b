package tpu

import "math"

// pages is what a sequence holds of the cache: the blocks of all its tokens in
// the global group, and of the last ones in the local groups.
type pages struct {
	blocks    int      // spans that have a global block
	localFrom int      // the first span with a local block; all to blocks have one
	global    []*block // of the first spans; nil: its own pages
	local     []*block // as global, from span 0 on
	enough    int      // tokens up to which nothing has to be done
}

// begin gives a sequence without pages what the prefix cache has of it, and
// returns the tokens that needn't be computed: whole pages, and never the last
// token, whose computing makes the first of the answer.
func (c *cache) begin(s *Sequence) int {
	p := &s.pages
	n := c.hit(s.Blocks, (s.Prompt+s.made-1)/c.replica.Page)
	p.blocks, p.localFrom = n, max(n-c.reach(), 0)
	if c.locals == 0 {
		p.localFrom = math.MaxInt
	}
	p.global, p.local = p.global[:0], p.local[:0]
	for i, content := range s.Blocks[:n] {
		global := c.known[blockKey{content: content}]
		c.use(global)
		p.global = append(p.global, global)
		var local *block
		if i >= p.localFrom {
			local = c.known[blockKey{content, true}]
			c.use(local)
		}
		p.local = append(p.local, local)
	}
	p.enough = 0
	return n * c.replica.Page
}

// grow gives a sequence the pages for so many tokens; false, and it keeps what
// it had, when there aren't enough.
func (c *cache) grow(s *Sequence, tokens int) bool {
	if tokens <= s.pages.enough {
		return true
	}
	p := &s.pages
	blocks := max(ceilDiv(tokens, c.replica.Page), p.blocks)
	c.slide(p, blocks)
	from := max(p.localFrom, p.blocks) // the first span that needs a local block
	need := blocks - p.blocks + (blocks-from)*c.locals
	if need > c.free() {
		return false
	}
	c.take(need)
	p.blocks = blocks
	c.publish(s, tokens/c.replica.Page)
	p.enough = c.nextChange(s)
	return true
}

// slide gives back the local blocks that the window leaves behind when the
// sequence has so many blocks.
func (c *cache) slide(p *pages, blocks int) {
	from := max(blocks-c.replica.windowPages(), p.localFrom)
	for i := p.localFrom; i < min(from, p.blocks); i++ {
		c.release(at(p.local, i), c.locals)
	}
	p.localFrom = from
}

// publish makes the blocks that this step fills known to other sequences, up to
// the block full (excluded). As in vLLM, a sequence that is scheduled later in
// the same step can use them already.
func (c *cache) publish(s *Sequence, full int) {
	p := &s.pages
	for i := len(p.global); i < min(full, len(s.Blocks)); i++ {
		key := blockKey{content: s.Blocks[i]}
		p.global = append(p.global, c.share(key, 1))
		var local *block
		if i >= p.localFrom {
			key.local = true
			local = c.share(key, c.locals)
		}
		p.local = append(p.local, local)
	}
}

// nextChange is the tokens up to which grow has nothing to do: no new block, and
// none that fills up and could be shared.
func (c *cache) nextChange(s *Sequence) int {
	p, shared := &s.pages, math.MaxInt
	if n := len(p.global); n < len(s.Blocks) {
		shared = (n+1)*c.replica.Page - 1
	}
	return min(p.blocks*c.replica.Page, shared)
}

// end gives back all that a sequence holds, its last pages first: of the idle
// blocks, the ends of prompts are lost before their beginnings.
func (c *cache) end(s *Sequence) {
	p := &s.pages
	for i := p.blocks - 1; i >= 0; i-- {
		if i >= p.localFrom {
			c.release(at(p.local, i), c.locals)
		}
		c.release(at(p.global, i), 1)
	}
	p.blocks, p.localFrom, p.enough = 0, 0, 0
	p.global, p.local = p.global[:0], p.local[:0]
}

// at is the i-th block; nil where there is none.
func at(blocks []*block, i int) *block {
	if i < len(blocks) {
		return blocks[i]
	}
	return nil
}
