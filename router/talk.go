package router

// talks remembers in which class the turns of conversations were served, so that
// a conversation doesn't change models half-way because it has grown. A turn is
// known by its whole prompt (Prefixes.Turn), and found again by the one turn that
// continues it (Prefixes.Before): instructions that many requests begin with join
// none of them.
type talks struct{ young, old map[turn]Class }

// turn is one turn of a conversation. What a tenant says moves no other's requests.
type turn struct {
	tenant, route string
	hash          uint64
}

// talkLimit is how many turns make a generation; two are remembered, in
// less than 4 MB. At 20 turns a second the user of a chat has 14 minutes to answer.
const talkLimit = 1 << 14

// classOf is the class that a turn was served in; ClassNone: not known.
func (t *talks) classOf(key turn) Class {
	if class, ok := t.young[key]; ok {
		return class
	}
	return t.old[key]
}

// learn remembers the class that a claim is served in. A label asked for about a
// conversation is no turn of it: nothing continues that.
func (t *talks) learn(c *claim) {
	if c.Prefixes.Turn == 0 || c.queue == nil || c.why == ByBound {
		return
	}
	if t.young == nil || len(t.young) >= talkLimit {
		t.young, t.old = map[turn]Class{}, t.young
	}
	t.young[turn{c.Tenant, c.route.key, c.Prefixes.Turn}] = c.class
}

// earlier is the class that a claim's conversation had in the turn before;
// ClassNone where it has none, or where no pool of that class can serve the claim
// any more: too long for their contexts, too large for their caps, or none is up.
func (r *Router) earlier(c *claim) Class {
	if c.Prefixes.Before == 0 {
		return ClassNone
	}
	class := r.talks.classOf(turn{c.Tenant, c.route.key, c.Prefixes.Before})
	if !c.route.serves(class) {
		return ClassNone
	}
	kept := *c
	kept.class, kept.queue, kept.seqs = class, c.route.queueOf(class), max(c.Sequences, 1)
	if r.refuseNever(&kept) != nil || r.refuseDown(&kept) != nil {
		return ClassNone
	}
	return class
}
