package tpu

// cache is the KV pages of a replica, and what the free ones still hold.
//
// A block is what one span of Replica.Page tokens takes in one kind of layers:
// a page in the global group, or a page in each of the local groups. A block
// with a number that Sequence.Blocks gave can be shared. One that nobody uses
// any more is idle: it counts as free, but keeps its content until its pages
// are needed, longest unused first.
type cache struct {
	total   int
	empty   int // pages that hold nothing of use
	idle    int // pages of idle blocks
	locals  int // pages of a local block: one for each local group; 0: there are none
	known   map[blockKey]*block
	unused  block // ring of idle blocks; next is the longest unused
	replica Replica
}

type blockKey struct {
	content uint64
	local   bool
}

// block is shared content.
type block struct {
	key        blockKey
	pages      int
	users      int
	prev, next *block // while idle
}

func newCache(r Replica, pages int) *cache {
	c := &cache{total: pages, empty: pages, locals: r.localGroups(), known: map[blockKey]*block{}, replica: r}
	c.unused.prev, c.unused.next = &c.unused, &c.unused
	return c
}

// free is how many pages can be had.
func (c *cache) free() int { return c.empty + c.idle }

// used is the share of the pages in use, 0 … 1.
func (c *cache) used() float64 { return 1 - float64(c.free())/float64(c.total) }

// take makes n pages, of the c.free() there are, a sequence's own. Content
// that has been unused for longest is lost first.
func (c *cache) take(n int) {
	for c.empty < n {
		b := c.unused.next
		c.leave(b)
		c.empty += b.pages
		delete(c.known, b.key)
	}
	c.empty -= n
}

// share makes n own pages a shared block; nil, and they stay the sequence's
// own, when there is such a block already.
func (c *cache) share(key blockKey, n int) *block {
	if _, ok := c.known[key]; ok {
		return nil
	}
	b := &block{key: key, pages: n, users: 1}
	c.known[key] = b
	return b
}

// use holds a shared block.
func (c *cache) use(b *block) {
	if b.users == 0 {
		c.leave(b)
	}
	b.users++
}

// release gives back a block; nil is n pages of the sequence's own.
func (c *cache) release(b *block, n int) {
	if b == nil {
		c.empty += n
		return
	}
	if b.users--; b.users > 0 {
		return
	}
	c.idle += b.pages
	b.prev, b.next = c.unused.prev, &c.unused
	b.prev.next, b.next.prev = b, b
}

// leave takes a block out of the ring of idle ones.
func (c *cache) leave(b *block) {
	c.idle -= b.pages
	b.prev.next, b.next.prev = b.next, b.prev
	b.prev, b.next = nil, nil
}

// hit is how many of the blocks can be reused: the longest run from the start
// whose global blocks are known, and whose local blocks are as far as the window
// reaches back from its end. At most limit.
func (c *cache) hit(blocks []uint64, limit int) int {
	n, limit := 0, min(limit, len(blocks))
	for n < limit && c.known[blockKey{content: blocks[n]}] != nil {
		n++
	}
	if c.locals == 0 {
		return n
	}
	window := c.reach()
	for end := n; end > 0; {
		i := end - 1
		for i >= max(end-window, 0) && c.known[blockKey{blocks[i], true}] != nil {
			i--
		}
		if i < max(end-window, 0) {
			return end
		}
		end = i // every end up to here but this has the unknown block in its window
	}
	return 0
}

// reach is how many blocks behind a token its window may touch.
func (c *cache) reach() int { return c.replica.windowPages() - 1 }
