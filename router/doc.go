// Package router decides, and only decides: which class a request is, which
// replica serves it, whether it waits or is refused. It does no I/O, starts no
// goroutine, and reads no clock: events come in with their time, decisions go
// out. The same events give the same decisions, so that any of them can be
// explained and replayed; where two choices are equal, the least recently used
// replica is taken, then the first by address.
//
// # What becomes of a request
//
// Offer asks, in this order:
//
//  1. Which class? (route.classify)
//  2. Can it ever be served? Longer than every context, or larger than every
//     cap: refused. Perhaps longer than some: then only those pools are left
//     that surely hold it and its answer, if there are any (claim.fits).
//  3. Is any replica of its pools up? None: refused with NoReplica. Are all known to
//     be too slow for its SLO, and does the operator want it refused then (miss.go)?
//     WaitExpired.
//  4. Which replica? The first pool in the route's order that has a willing
//     replica (Router.prospect says who is); there the one with the least
//     outstanding work, counted in prompt tokens: those in that it hasn't computed
//     before, and w for each token expected out.
//  5. None: may it wait? The queue of its route and class is bounded by count and
//     bytes (QueueFull), and by time: one that would have to wait too long is
//     refused at once (WaitExpired).
//
// A request of class Other takes no slot and never waits: steps 4 and 5 are
// any ready replica, or NoReplica.
//
// Every event but Offer and Learn ends in the same way (Router.settle): what is due is
// done, and then the waiter that came first, of those that fit, gets its slots,
// until none fits. So no new offer can overtake a waiter that fits; one that would,
// since time alone has made room, waits behind it. A waiter that needs several
// sequences may be passed by smaller ones; after 8 times room is held for it.
//
// # Tenants and priorities
//
// In each queue the tenants share by weight, in work: tokens in, and w for each
// out, as expected at the grant and corrected when the answer is known. The turn
// that its first waiter has won goes to the tenant that has used least (fairest);
// a tenant that is ahead leaves room on a replica while another lacks some
// (yield); and in a full queue a newcomer takes the place of the loudest tenant's
// youngest waiter (crowding). A tenant that was away starts with the others.
//
// Requests of priority Batch stand in queues of their own. They come after all
// others, and get only what a replica has to spare (spare): no SLO is promised to
// them, nor are they demand that others make way for.
//
// # What becomes of a replica
//
// One that gets work again after a state in which it got none, or that wasn't
// there before, is taken to be a new process. What was learned of its speed and
// of the prompts that it has computed is forgotten; what it still holds counts on.
// It starts slowly: 8 sequences until its first answer has begun, then twice as
// many for each that has, up to its cap. So a process that still compiles its
// programs, or answers nothing, has few waiting on it. While nothing has been
// answered anywhere, the router is what is new, and nobody starts slowly.
//
// # What is learned
//
// Nothing of a replica's speed is configured or looked up. Learn and First tell
// how long answers are (lengths), and how fast each replica is: time per token
// as a function of what it holds, time to the first token as a function of what
// lies ahead, and for short answers the rate at which work in flight becomes
// done work (pace). Prospects are predictions from these. What is predicted
// from a quantity that the router itself keeps steady must not be found by
// regression on it: such a fit drifts until nothing is admitted any more. So
// the last of the three is a ratio of means, and an idle replica always takes
// what it could serve in time.
//
// # The callers' side of the contract
//
// One lock around a Router. Every Grant is given back exactly once, with
// Release, Elsewhere, or Continue (of an answer that has begun). Every Queued ends
// in a Grant or a *Refusal that a later event returns, whichever event that is, or
// in Cancel. After any event Next may have moved: Tick is called at that time.
// Times never run backwards.
//
// Explain decides as Offer does, by the same code, without effect, and tells why
// in a Record; Replay makes the record's choice from the record alone.
//
// # Where things are
//
// Router holds the rest by a few maps. A claim is a request inside the router;
// a waiter is a claim in a queue, in a lane with those that need the same; a
// lease is a claim on a replica. Whatever becomes due is a timer in one heap
// (timer.go). The policy is in classify.go (class), prospect.go (who is willing),
// precedence.go (which class comes first), fair.go, crowd.go and priority.go (which
// tenant, what can wait), pick.go (which replica, whose turn), late.go (best effort)
// and refuse.go (no). What it rests on is learned in length.go and kin (answers),
// pace.go (a replica's speed; fit.go is the arithmetic), kv.go and prefix.go (its
// memory), start.go and stall.go (a new process, one that hangs), and told by first.go
// and learn.go; finding.go is what a replica's metrics show that no answer tells.
// presume.go stands in for first tokens that nobody sees. Records are in record.go and kin; state.go and target.go are for people and gauges.
package router
