package chaos

import (
	"sluice/router"
)

// tooMany sequences are more than any cap of a seed.
const tooMany = 9

// checkTurns: promise 4, when all is known: first come, first served. Of one queue
// nobody has a slot before one who came earlier and needs no more. Where an SLO
// decides, what a request needs is more than can be said from outside.
func (w *world) checkTurns(lines map[string][]entry) {
	if w.policy.promises {
		return
	}
	queues := map[string][]*visit{}
	for _, v := range w.visits {
		if list := lines[v.o.id()]; len(list) == 1 && len(v.jobs) > 0 && v.o.at.slots {
			key := v.o.model + list[0].Class + map[bool]string{true: "batch"}[v.o.batch]
			queues[key] = append(queues[key], v)
		}
	}
	for _, list := range queues {
		for _, first := range list {
			if lines[first.o.id()][0].Attempts > 1 || first.behind {
				continue // when it had its first slot, or when it was read, isn't known
			}
			for _, other := range list {
				w.checkTurn(first, other)
			}
		}
	}
}

func (w *world) checkTurn(first, other *visit) {
	if !first.sent.Before(other.sent) || first.o.sequences > other.o.sequences {
		return
	}
	a, b := first.jobs[0], other.jobs[0]
	if a.came.After(other.sent) {
		w.reach("a request that came while another waited, and waited behind it")
	}
	if a.came.After(b.came) {
		w.fault("%s was sent at %v and served at %v, after %s of its queue: %v, %v", first.o.id(), first.sent, a.came, other.o.id(), other.sent, b.came)
	}
}

// checkTooLarge: one that is larger than every cap is refused at once, for that or
// because its model, every replica or the gateway has just gone.
func (w *world) checkTooLarge(v *visit, line entry) {
	if v.o.sequences < tooMany || !v.o.valid {
		return
	}
	switch line.Outcome {
	case router.Unsupported.String():
		w.reach("a request larger than every cap")
	case router.Invalid.String(), router.NoReplica.String(), router.Draining.String():
	default:
		w.fault("%s of %d sequences is %s", v.o.id(), v.o.sequences, line.Outcome)
	}
	slow := v.o.reads > 0 || v.o.holds > 0 || v.o.pieces > 1 || v.behind
	if len(v.jobs) > 0 || !slow && !v.answered.Equal(v.sent) {
		w.fault("%s of %d sequences was sent at %v, answered at %v, after %d jobs", v.o.id(), v.o.sequences, v.sent, v.answered, len(v.jobs))
	}
}
