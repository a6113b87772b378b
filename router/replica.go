package router

import "time"

// busyPause is how long a replica that said it is busy gets nothing new. It is
// a load signal, not a fault: long enough for a step or two to end, short
// enough not to idle a replica.
const busyPause = time.Second

// replica is what the router holds on one vLLM server.
type replica struct {
	address  string
	pool     *pool
	state    ReplicaState
	listed   bool    // by the fleet's last list
	busy     bool    // said so; cleared by busyEnds
	active   Counts  // sequences of running requests
	closing  Counts  // sequences cancelled, not known to be gone
	lower    Counts  // of both, those of priority Batch
	peak     float64 // sequences of others that decoded at once, at peakAt
	peakAt   time.Time
	leases   int   // active and closing, those without sequences too
	work     int64 // of its leases, in prompt tokens
	granted  uint64
	used     uint64   // when it last got a request, in grants of the router
	closings []*lease // in the order of their cancellation
	hold     *waiter  // that its room is held for; nil: nobody
	busyEnds timer
	life     int // which process it is: counts its returns
	own      int // sequences of this process, active and closing
	begun    int // answers of this process that have begun
	load     Load
	readings readings
	pace     pace
	kv       kv
	memory   memory               // of prompts it has computed
	slow     map[string]time.Time // by path of a policy: when a request with nothing in its way last took more than its SLO
}

// hardCap is the hard limit, in sequences. After it was lowered it counts down as
// leases come back: what runs is never cut off.
func (rep *replica) hardCap() int { return max(rep.pool.cfg.Cap.Total, rep.held()) }

// capNow is the sequences up to which it gets new work in its present state,
// a busy pause aside.
func (rep *replica) capNow() int { return rep.capHolding(rep.held()) }

// capHolding is capNow of a replica that held so many sequences. On trial an idle one
// takes one request, of any size: where all have several sequences, none could begin
// the trial else, and the breaker would stay half open for good.
func (rep *replica) capHolding(held int) int {
	switch {
	case !rep.listed:
		return 0
	case rep.state == Ready || rep.state == Trial && held == 0:
		return rep.pool.cfg.Cap.Total
	case rep.state == Trial:
		return min(1, rep.pool.cfg.Cap.Total)
	}
	return 0
}

// admits is capNow, less while it starts, and nothing while it pauses.
func (rep *replica) admits() int {
	if rep.busy {
		return 0
	}
	return rep.slowed()
}

// held is the sequences that count against the cap.
func (rep *replica) held() int { return rep.active.Total() + rep.closing.Total() }

// heldOf is those of one class.
func (rep *replica) heldOf(c Class) int { return rep.active.of(c) + rep.closing.of(c) }

// room is how many sequences of a class it would take now. Room held for a
// waiter counts as taken by it, for everyone but that waiter (nil: for everyone).
// It is below 1 where there is none.
func (rep *replica) room(c Class, w *waiter) int {
	total, class := rep.admits()-rep.held(), rep.pool.capOf(c)-rep.heldOf(c)
	if h := rep.hold; h != nil && h != w {
		total -= h.seqs
		if h.class == c {
			class -= h.seqs
		}
	}
	return min(total, class)
}

// couldHold tells whether it could ever take a claim in its present state, once
// enough of what it holds has gone.
func (rep *replica) couldHold(c *claim) bool {
	return rep.address != c.tried && c.seqs <= rep.capHolding(0) && c.seqs <= rep.pool.capOf(c.class)
}

// before orders replicas for a choice: less work, the request's own included, then
// least recently used. Ahead is how many more prompt tokens of the request it has
// computed before than the other: a known beginning counts as much as it saves.
func (rep *replica) before(other *replica, ahead float64) bool {
	if mine := rep.work - int64(ahead); mine != other.work {
		return mine < other.work
	}
	return rep.used < other.used
}

// of is the sequences of one class.
func (c *Counts) of(class Class) int { return *c.at(class) }

// add counts n sequences more.
func (c *Counts) add(class Class, n int) { *c.at(class) += n }

func (c *Counts) at(class Class) *int {
	if class == Decode {
		return &c.Decode
	}
	return &c.Prefill
}

// pause keeps new work from a replica that said it is busy.
func (r *Router) pause(rep *replica) {
	rep.busy = true
	r.timers.start(&rep.busyEnds, r.now.Add(busyPause))
}

// expire ends the pause.
func (rep *replica) expire(_ *Router, out []Decision) []Decision {
	rep.busy = false
	return out
}
