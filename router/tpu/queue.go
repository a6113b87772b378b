package tpu

import "slices"

// queue is the waiting sequences in order. Its front is cheap to take and to
// put back, however many wait.
type queue struct {
	items []*Sequence
	head  int // of items; those before it have been taken
}

func (q *queue) len() int          { return len(q.items) - q.head }
func (q *queue) front() *Sequence  { return q.items[q.head] }
func (q *queue) push(s *Sequence)  { q.items = append(q.items, s) }
func (q *queue) list() []*Sequence { return q.items[q.head:] }

// pop takes the front; nil when it is empty.
func (q *queue) pop() *Sequence {
	if q.len() == 0 {
		return nil
	}
	s := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	if q.head*2 > len(q.items) {
		q.items = slices.Delete(q.items, 0, q.head)
		q.head = 0
	}
	return s
}

// putBack makes s the front.
func (q *queue) putBack(s *Sequence) {
	if q.head == 0 {
		q.items = slices.Insert(q.items, 0, s)
		return
	}
	q.head--
	q.items[q.head] = s
}

// drop takes out those that gone says have left.
func (q *queue) drop(gone func(*Sequence) bool) {
	q.items = slices.DeleteFunc(slices.Delete(q.items, 0, q.head), gone)
	q.head = 0
}
