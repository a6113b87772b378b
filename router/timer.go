package router

import (
	"container/heap"
	"time"
)

// timer is something that becomes due: a waiter's deadline, or when it becomes best
// effort; the end of a closing lease, or of a busy pause; a presumed first token; the
// next look at the waiters. It is part of its owner.
type timer struct {
	at    time.Time
	owner expirer
	place int // in the heap, from 1; 0: not started
}

// expirer does what its timer was for, and appends what that decided.
type expirer interface {
	expire(r *Router, out []Decision) []Decision
}

// timers is a heap: the earliest first.
type timers struct{ heap timerHeap }

// start sets a timer, or moves one that runs.
func (ts *timers) start(t *timer, at time.Time) {
	t.at = at
	if t.place > 0 {
		heap.Fix(&ts.heap, t.place-1)
		return
	}
	heap.Push(&ts.heap, t)
}

// stop forgets a timer; one that doesn't run stays so.
func (ts *timers) stop(t *timer) {
	if t.place > 0 {
		heap.Remove(&ts.heap, t.place-1)
	}
}

// due takes out the earliest timer that is due; nil: none.
func (ts *timers) due(now time.Time) *timer {
	if len(ts.heap) == 0 || ts.heap[0].at.After(now) {
		return nil
	}
	return heap.Pop(&ts.heap).(*timer)
}

// next is when the earliest is due; zero: never.
func (ts *timers) next() time.Time {
	if len(ts.heap) == 0 {
		return time.Time{}
	}
	return ts.heap[0].at
}

// timerHeap implements heap.Interface.
type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

// Push is for container/heap.
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	*h = append(*h, t)
	t.place = len(*h)
}

// Pop is for container/heap.
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.place = 0
	return t
}
