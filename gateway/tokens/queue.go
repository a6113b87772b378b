package tokens

// mergeQueue merges long parts: a list of pieces, and a heap of the merges that are
// possible, the lowest rank first and of equal ones the leftmost.
type mergeQueue struct {
	heap []uint64 // rank, and the place of the left piece
	next []int32  // place of the piece to the right; the number of places: none
	prev []int32  // place of the piece to the left; -1: none
}

// gone marks a place whose piece has become part of its left neighbour.
const gone = noToken

// placeBits are those of a place in the heap's words. A text is shorter than that.
const placeBits = 64 - rankBits

// merge does all merges of ids, in place, and gives what is left.
func (q *mergeQueue) merge(m *mergeTable, ids []int32) []int32 {
	q.start(m, ids)
	for len(q.heap) > 0 {
		rank, at := q.pop()
		// What was queued may have been overtaken: its pieces are others now.
		right := q.next[at]
		if ids[at] == gone || int(right) == len(ids) || m.rank(ids[at], ids[right]) != rank {
			continue
		}
		ids[at] = m.result[rank]
		ids[right] = gone
		q.next[at] = q.next[right]
		if after := q.next[at]; int(after) < len(ids) {
			q.prev[after] = at
			q.push(m.rank(ids[at], ids[after]), at)
		}
		if before := q.prev[at]; before >= 0 {
			q.push(m.rank(ids[before], ids[at]), before)
		}
	}
	left := ids[:0]
	for _, id := range ids {
		if id != gone {
			left = append(left, id)
		}
	}
	return left
}

// start lists the pieces, and queues the merges that are possible at first.
func (q *mergeQueue) start(m *mergeTable, ids []int32) {
	q.heap, q.next, q.prev = q.heap[:0], q.next[:0], q.prev[:0]
	for i := range ids {
		q.next = append(q.next, int32(i+1))
		q.prev = append(q.prev, int32(i-1))
		if i+1 < len(ids) {
			if rank := m.rank(ids[i], ids[i+1]); rank != noRank {
				q.heap = append(q.heap, uint64(rank)<<placeBits|uint64(i))
			}
		}
	}
	for i := len(q.heap)/2 - 1; i >= 0; i-- {
		q.sink(i, q.heap[i])
	}
}

func (q *mergeQueue) push(rank uint32, at int32) {
	if rank == noRank {
		return
	}
	item := uint64(rank)<<placeBits | uint64(at)
	q.heap = append(q.heap, item)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if q.heap[parent] <= item {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = item
}

func (q *mergeQueue) pop() (rank uint32, at int32) {
	top := q.heap[0]
	last := q.heap[len(q.heap)-1]
	q.heap = q.heap[:len(q.heap)-1]
	if len(q.heap) > 0 {
		q.sink(0, last)
	}
	return uint32(top >> placeBits), int32(top & (1<<placeBits - 1))
}

// sink puts an item into the hole at i, or below it.
func (q *mergeQueue) sink(i int, item uint64) {
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			break
		}
		if child+1 < len(q.heap) && q.heap[child+1] < q.heap[child] {
			child++
		}
		if item <= q.heap[child] {
			break
		}
		q.heap[i] = q.heap[child]
		i = child
	}
	q.heap[i] = item
}
