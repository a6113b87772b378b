package tokens

// A merge's two pieces and its rank stand in one word.
const (
	idBits   = 21 // of a piece: two million of them
	rankBits = 64 - 2*idBits
	noRank   = 1<<rankBits - 1 // of a pair that doesn't merge
)

// mergeTable finds the rank of the merge of two pieces: an open hash table that is
// at most half full, since nearly all look-ups are for pairs that it doesn't have.
type mergeTable struct {
	slots  []uint64 // left piece, right piece, rank; ^0: empty
	shift  int
	result []int32 // by rank: the piece that the merge makes
}

const emptySlot = ^uint64(0)

func newMergeTable() (m mergeTable) {
	m.resize(10)
	return m
}

// resize gives the table 1<<log slots.
func (m *mergeTable) resize(log int) {
	old := m.slots
	m.slots, m.shift = make([]uint64, 1<<log), 64-log
	for i := range m.slots {
		m.slots[i] = emptySlot
	}
	for _, s := range old {
		if s != emptySlot {
			m.slots[m.find(s>>rankBits)] = s
		}
	}
}

// find is the slot of a pair, or the empty one where it belongs.
func (m *mergeTable) find(pair uint64) int {
	i := int(pair * 0x9e3779b97f4a7c15 >> m.shift)
	for m.slots[i] != emptySlot && m.slots[i]>>rankBits != pair {
		i = (i + 1) & (len(m.slots) - 1)
	}
	return i
}

// add gives the pair the next rank. It is false when the pair has one, or when there
// are no more.
func (m *mergeTable) add(left, right, result int32) bool {
	rank := len(m.result)
	if 2*rank >= len(m.slots) {
		m.resize(65 - m.shift)
	}
	pair := uint64(left)<<idBits | uint64(right)
	i := m.find(pair)
	if m.slots[i] != emptySlot || rank >= noRank {
		return false
	}
	m.slots[i] = pair<<rankBits | uint64(rank)
	m.result = append(m.result, result)
	return true
}

// rank is that of the merge of two pieces, noRank if there is none.
func (m *mergeTable) rank(left, right int32) uint32 {
	// An empty slot reads as noRank.
	return uint32(m.slots[m.find(uint64(left)<<idBits|uint64(right))] & noRank)
}

// shortPart is the most pieces that are merged by looking at all ranks for each
// merge. Beyond it a heap is faster.
const shortPart = 48

// workspace is what merging needs, kept from part to part of one text.
type workspace struct {
	room  [shortPart]int32
	ranks [shortPart]uint32
	ids   []int32
	queue mergeQueue
}

// merge does the merges of a part. The result holds until the next call.
func (t *Tokenizer) merge(part []byte, w *workspace) []int32 {
	if w.ids == nil {
		w.ids = w.room[:0]
	}
	w.ids = t.pieces(w.ids[:0], part)
	if len(w.ids) > shortPart {
		return w.queue.merge(&t.merges, w.ids)
	}
	return t.merges.short(w.ids, &w.ranks)
}

// pieces cuts a part into its characters and, for those without a piece, bytes.
func (t *Tokenizer) pieces(dst []int32, part []byte) []int32 {
	for len(part) > 0 {
		r, size := t.char(part)
		if id := t.chars.id(r); id != noToken {
			dst = append(dst, id)
		} else {
			for _, b := range part[:size] {
				dst = append(dst, t.bytes[b])
			}
		}
		part = part[size:]
	}
	return dst
}

// short merges in place, by looking for the lowest rank again and again.
func (m *mergeTable) short(ids []int32, ranks *[shortPart]uint32) []int32 {
	for i := 0; i+1 < len(ids); i++ {
		ranks[i] = m.rank(ids[i], ids[i+1])
	}
	for len(ids) > 1 {
		pairs := len(ids) - 1
		at, lowest := 0, uint32(noRank)
		for i, rank := range ranks[:pairs] {
			if rank < lowest {
				at, lowest = i, rank
			}
		}
		if lowest == noRank {
			break
		}
		ids[at] = m.result[lowest]
		ids = append(ids[:at+1], ids[at+2:]...)
		copy(ranks[at:pairs], ranks[at+1:pairs])
		if at > 0 {
			ranks[at-1] = m.rank(ids[at-1], ids[at])
		}
		if at+1 < len(ids) {
			ranks[at] = m.rank(ids[at], ids[at+1])
		}
	}
	return ids
}
