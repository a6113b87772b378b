package tpu

import (
	"math/rand/v2"
	"testing"
)

// chain names the pages of a prompt: a shared part, then one's own.
func chain(shared, own, content int) []uint64 {
	var blocks []uint64
	last := uint64(0)
	for i := range shared + own {
		page := uint64(i)
		if i >= shared {
			page += uint64(content) << 32
		}
		last = Chain(last, page)
		blocks = append(blocks, last)
	}
	return blocks
}

// prompts runs prompts one after the other and gives the hits of the last.
func prompts(w *world, list ...*Sequence) int {
	before := 0
	for _, s := range list {
		before = w.engine.Counters().PrefixHits
		w.engine.Add(w.now, s)
		w.drain()
	}
	return w.engine.Counters().PrefixHits - before
}

func TestPrefixHits(t *testing.T) {
	f := func(want int, list ...*Sequence) {
		t.Helper()
		w := newWorld(t, "", Options{Setup: small(t, 300, nil)})
		if got := prompts(w, list...); got != want {
			t.Errorf("got %d tokens from the cache, want %d", got, want)
		}
		if free := w.engine.cache.free(); free != 300 {
			t.Errorf("%d of 300 pages free afterwards", free)
		}
	}
	s := func(prompt int, blocks []uint64) *Sequence {
		return &Sequence{Prompt: prompt, Answer: 5, Blocks: blocks}
	}
	// Pages hold 16 tokens.
	f(0, s(15, nil), s(15, nil))                                     // shorter than a page
	f(16, s(20, chain(1, 0, 1)), s(20, chain(1, 0, 2)))              // one page in common
	f(0, s(16, chain(1, 0, 1)), s(16, chain(1, 0, 1)))               // the last token is always computed
	f(32, s(48, chain(3, 0, 1)), s(48, chain(3, 0, 1)))              // so are the last page's others
	f(64, s(100, chain(4, 2, 1)), s(100, chain(4, 2, 2)))            // a shared beginning
	f(160, s(161, chain(10, 0, 1)), s(165, chain(10, 0, 1)))         // all of the first
	f(0, s(100, chain(0, 6, 1)), s(100, chain(0, 6, 2)))             // nothing in common
	f(0, s(100, nil), s(100, nil))                                   // unnamed
	f(160, s(161, chain(10, 0, 1)), s(250, chain(10, 5, 1)))         // a conversation that went on
	f(64, s(200, chain(4, 8, 1)), s(100, chain(4, 2, 2)))            // the windows at the branch are idle, not lost
	f(16, s(12, chain(1, 0, 1)), s(20, chain(1, 0, 1)))              // a page that the answer filled
	f(64, s(100, chain(4, 2, 1)), s(70, nil), s(90, chain(4, 1, 3))) // others in between
}

// What has been unused for longest goes first when pages run out.
func TestIdleBlocksAreEvicted(t *testing.T) {
	f := func(pages, want int) {
		t.Helper()
		w := newWorld(t, "", Options{Setup: small(t, pages, nil)})
		first := &Sequence{Prompt: 100, Answer: 1, Blocks: chain(6, 0, 1)}
		again := &Sequence{Prompt: 100, Answer: 1, Blocks: chain(6, 0, 1)}
		if got := prompts(w, first, &Sequence{Prompt: 200, Answer: 1}, again); got != want {
			t.Errorf("%d pages: got %d tokens from the cache, want %d", pages, got, want)
		}
	}
	f(200, 96)
	f(31, 0)
}

// A running sequence and one that comes after it hold the same pages once.
func TestRunningSequencesShare(t *testing.T) {
	w := newWorld(t, "", Options{Setup: small(t, 300, nil)})
	for i := range 2 {
		w.engine.Add(0, &Sequence{Prompt: 33, Answer: 10, Blocks: chain(2, 0, i)})
		w.step()
	}
	w.step()
	// Each alone has 3 pages of 6 groups; 2 spans are common.
	if used := 300 - w.engine.cache.free(); used != 18+6 {
		t.Errorf("%d pages in use, want 24", used)
	}
	w.drain()
	if c := w.engine.Counters(); c.PrefixHits != 32 || c.PrefixQueries != 66 {
		t.Errorf("got %+v", c)
	}
}

// A preempted sequence finds what is left of its own pages.
func TestPreemptedFindsItsPages(t *testing.T) {
	f := func(named bool) int {
		w := newWorld(t, "", Options{Setup: small(t, 43, nil)})
		for i := range 3 {
			s := &Sequence{Prompt: 60, Answer: 150}
			if named {
				s.Blocks = chain(0, 13, i)
			}
			w.engine.Add(0, s)
		}
		w.drain()
		c := w.engine.Counters()
		if c.Preemptions == 0 || c.PrefixHits != 0 || c.Finished != 3 {
			t.Fatalf("got %+v", c)
		}
		return c.StepTokens
	}
	if with, without := f(true), f(false); with > without {
		t.Errorf("computed %d tokens with a prefix cache, %d without", with, without)
	}
}

// Whatever happens, no page is lost or held twice.
func TestPagesAreConserved(t *testing.T) {
	conservePages(t, small(t, 60, nil))
	conservePages(t, small(t, 25, func(s *Setup) { s.NoHybrid = true }))
}

func conservePages(t *testing.T, setup Setup) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	w := newWorld(t, "", Options{Setup: setup, Burst: 4})
	var live []*Sequence
	for range 3000 {
		if random.IntN(3) == 0 {
			n := 1 + random.IntN(200)
			s := &Sequence{Prompt: n, Answer: random.IntN(256 - n)}
			if random.IntN(2) == 0 {
				s.Blocks = chain(random.IntN(1+n/16), n/16, random.IntN(4))[:n/16]
			}
			w.engine.Add(w.now, s)
			live = append(live, s)
		}
		if len(live) > 0 && random.IntN(10) == 0 {
			w.engine.Abort(w.now, live[random.IntN(len(live))])
		}
		w.step()
		checkPages(t, w.engine)
	}
	w.drain()
	checkPages(t, w.engine)
	if c := w.engine.Counters(); w.engine.cache.free() != w.engine.cache.total || w.engine.leaving != 0 || c.Preemptions == 0 || c.PrefixHits == 0 || c.Left == 0 {
		t.Errorf("%d pages free, %d leaving, %+v", w.engine.cache.free(), w.engine.leaving, c)
	}
}

// checkPages counts all pages from what the sequences and the idle ring hold.
func checkPages(t *testing.T, e *Engine) {
	t.Helper()
	c := e.cache
	own, idle := 0, 0
	users := map[*block]int{}
	hold := func(b *block, n int) {
		if b == nil {
			own += n
			return
		}
		users[b]++
	}
	for _, s := range e.running {
		for i := range s.pages.blocks {
			hold(at(s.pages.global, i), 1)
			if i >= s.pages.localFrom {
				hold(at(s.pages.local, i), c.locals)
			}
		}
		if want := c.replica.PagesNeeded(max(s.computed, 1)); s.pages.blocks < ceilDiv(s.computed, c.replica.Page) {
			t.Fatalf("%d tokens in %d blocks, want %d pages", s.computed, s.pages.blocks, want)
		}
	}
	for b, n := range users {
		own += b.pages
		if b.users != n || c.known[b.key] != b {
			t.Fatalf("a block has %d users, counts %d", n, b.users)
		}
	}
	for b := c.unused.next; b != &c.unused; b = b.next {
		idle += b.pages
	}
	if idle != c.idle || own+idle+c.empty != c.total || c.empty < 0 {
		t.Fatalf("%d used, %d idle (counts %d), %d empty of %d pages", own, idle, c.idle, c.empty, c.total)
	}
}
