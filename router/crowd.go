package router

import "fmt"

// full says which limit of a queue a claim would exceed by waiting in it; "": none.
func (q *queue) full(c *claim, waiting int, bytes int64) string {
	switch bytes += int64(c.Bytes); {
	case waiting >= q.limits.MaxWaiting:
		return fmt.Sprintf("%d requests of class %s wait, limit %s.max_waiting=%d", waiting, q.class, q.path, q.limits.MaxWaiting)
	case q.limits.MaxBytes > 0 && bytes > int64(q.limits.MaxBytes):
		return fmt.Sprintf("the bodies of %d waiting requests of class %s and this one have %d bytes, limit %s.max_bytes=%s",
			waiting, q.class, bytes, q.path, q.limits.MaxBytes)
	}
	return ""
}

// taken is how much of a queue's places a tenant takes that has so many, by count
// or by bytes, whichever is more, ÷ its weight.
func (q *queue) taken(s *share, waiting int, bytes int64) float64 {
	part := float64(waiting) / float64(max(q.limits.MaxWaiting, 1))
	if q.limits.MaxBytes > 0 {
		part = max(part, float64(bytes)/float64(q.limits.MaxBytes))
	}
	return part / s.weight
}

// crowding finds who has to go so that a claim may wait in a full queue: the
// youngest waiters of the tenant that holds most of the places for its weight, as
// long as that is more than the claim's tenant will hold then. So a tenant that
// sends without measure can't keep the others out. Nil: nobody has to.
func (q *queue) crowding(c *claim) []*waiter {
	loud := q.loudest()
	if loud == nil || loud.tenant == c.Tenant {
		return nil
	}
	own := q.taken(c.share, c.share.waiting+1, c.share.bytes+int64(c.Bytes))
	waiting, bytes := 0, int64(0)
	var gone []*waiter
	for _, w := range q.youngestOf(loud) {
		if q.taken(loud, loud.waiting-waiting, loud.bytes-bytes) <= own {
			return nil
		}
		gone = append(gone, w)
		waiting, bytes = waiting+1, bytes+int64(w.Bytes)
		if q.full(c, q.waiting-waiting, q.bytes-bytes) == "" {
			return gone
		}
	}
	return nil
}

// loudest is the tenant that holds most of the places for its weight.
func (q *queue) loudest() *share {
	var loud *share
	most := 0.0
	for _, s := range q.shares.active {
		if part := q.taken(s, s.waiting, s.bytes); part > most {
			loud, most = s, part
		}
	}
	return loud
}

// crowdOut takes a waiter's place away. Its refusal comes with the next event,
// which is due at once: an offer has no decision but its own.
func (r *Router) crowdOut(w *waiter) {
	r.unqueue(w)
	w.crowded = true
	r.timers.start(&w.timer, r.now)
}
