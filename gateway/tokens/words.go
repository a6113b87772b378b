package tokens

import (
	"hash/maphash"
	"sync/atomic"
)

const (
	longestWord = 32      // bytes of a part whose count is remembered
	wordSlots   = 1 << 14 // how many are: a megabyte or two
)

// wordCache remembers the counts of parts. A part has one slot, and the last that
// came there keeps it: no lock, no order, and nobody can make it grow. The hash is
// seeded, so nobody can choose words that push each other out either.
type wordCache struct {
	seed  maphash.Seed
	slots []wordSlot
}

type wordSlot struct{ p atomic.Pointer[word] }

// word is never changed once it is in a slot.
type word struct {
	text  string
	count int
}

func newWordCache() wordCache {
	return wordCache{seed: maphash.MakeSeed(), slots: make([]wordSlot, wordSlots)}
}

func (c *wordCache) slot(part []byte) *wordSlot {
	return &c.slots[maphash.Bytes(c.seed, part)%wordSlots]
}

func (s *wordSlot) count(part []byte) (n int, known bool) {
	w := s.p.Load()
	if w == nil || w.text != string(part) {
		return 0, false
	}
	return w.count, true
}

func (s *wordSlot) keep(part []byte, n int) { s.p.Store(&word{string(part), n}) }
