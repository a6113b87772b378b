package router

import "time"

// What a replica's own metrics bring to light and no answer tells: an engine that
// makes no step though it holds work, and sequences that run on when their client has
// left. Nothing is cut for either, and no breaker opens.

const (
	standsStill   = 10 * time.Second // how long nothing must have moved until an engine stands
	standReadings = 5                // and in how many readings
	orphanedFor   = 10 * time.Second // how long load must have been there that nothing explains
	orphanedSince = 5 * time.Second  // and how soon after a cancel it must have shown
)

// Finding is what the last reading of a replica brought to light, each thing once.
type Finding struct {
	Stands  bool // the engine has made no step for 10 s though it holds work
	Moves   bool // it makes steps again, or its work is gone
	Orphans int  // sequences that have run on for 10 s, the least of them since a cancel; 0: none found
}

// readings is what the readings of one replica say together.
type readings struct {
	alike  int       // in a row, behind the first, of an engine that holds work and doesn't move
	since  time.Time // the first of them
	stands bool

	most, mostBefore int       // sequences of ours at once since the last reading, and from there to the one before
	unexplained      int       // sequences there at the last reading beyond those
	strange          time.Time // since when each reading shows some; zero: the last one shows none
	gaveUp           time.Time // when a cancelled lease was last given up that no reading had shown gone
	orphaned         bool      // that has been found

	found Finding
}

// Found is what the last reading of a replica brought to light.
func (r *Router) Found(address string) Finding {
	if rep := r.replicas[address]; rep != nil {
		return rep.readings.found
	}
	return Finding{}
}

// reads takes in a reading of a replica, after another.
func (r *Router) reads(rep *replica, before, load Load) {
	s := &rep.readings
	s.found = Finding{}
	s.watch(load.still(before) && (load.Running+load.Waiting > 0 || r.awaits(rep, before.At)), before, load)
	s.explain(load, rep.held())
}

// awaits tells whether a request of ours has waited there for its first token since
// then. An engine that hangs in the very step that takes a request in doesn't tell of
// it. No slow client can hold such a request up; an answer that has begun it can.
func (r *Router) awaits(rep *replica, then time.Time) bool {
	for _, l := range r.leases {
		if l.replica == rep && l.seqs > 0 && l.closedAt.IsZero() && l.since.Before(then) && (l.first.presumed || l.first.at.IsZero()) {
			return true
		}
	}
	return false
}

// watch counts the readings of an engine that stood still with work since the one before.
func (s *readings) watch(stood bool, before, load Load) {
	if !stood {
		s.found.Moves = s.stands
		s.alike, s.stands = 0, false
		return
	}
	if s.alike++; s.alike == 1 {
		s.since = before.At
	}
	if !s.stands && s.alike >= standReadings && load.At.Sub(s.since) >= standsStill {
		s.stands, s.found.Stands = true, true
	}
}

// still tells whether an engine has done nothing since the reading before. Steps that
// bring tokens are counted; one that only computes a part of a long prompt is not, but
// it fills the KV cache. Who doesn't tell its steps is never judged. Of several
// engines in one replica all must stand.
func (l Load) still(before Load) bool {
	before.At = l.At
	return l.TellsSteps && l == before
}

// holds notes how many sequences of ours a replica holds.
func (s *readings) holds(n int) { s.most = max(s.most, n) }

// explain compares what the engine holds with the most that it may have held for us.
// It may be a step behind with those that ended, so the time before the last reading
// counts too.
func (s *readings) explain(load Load, held int) {
	s.unexplained = max(load.Running+load.Waiting-max(s.most, s.mostBefore), 0)
	s.most, s.mostBefore = held, s.most
	switch {
	case s.unexplained == 0:
		s.strange, s.orphaned = time.Time{}, false
	case s.strange.IsZero():
		s.strange = load.At
	case !s.orphaned && load.At.Sub(s.strange) >= orphanedFor && s.strange.Sub(s.gaveUp) <= orphanedSince:
		s.orphaned, s.found.Orphans = true, s.unexplained
	}
}

// giveUp notes that a cancelled lease is given up which no reading has shown gone.
// Where others' work is there already, nobody could tell.
func (s *readings) giveUp(now time.Time) {
	if s.strange.IsZero() {
		s.gaveUp = now
	}
}

// stalled tells whether the replica shows no sign of life although it has work, by
// what it owes us or by its own metrics, if they are fresh.
func (rep *replica) stalled(now time.Time) bool {
	return rep.pace.stalled(now) || rep.readings.stands && now.Sub(rep.load.At) <= kvFresh
}
