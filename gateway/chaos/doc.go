// Package chaos runs whole gateways in virtual time and breaks what they depend
// on. It holds tests only.
//
// Everything is in one process and nothing waits for a clock: the gateway, its
// clients and its replicas talk over connections in memory, inside a
// testing/synctest bubble, where time passes when all goroutines have nothing left
// to do at the moment. A minute of faults takes some hundredths of a second.
//
// # A seed
//
// A seed draws a schedule: a configuration with small caps and short limits, a
// few dozen steps, and for each request what it asks, how its client behaves and
// what each replica that gets it does. A step lets a little time pass and then one
// thing happens: requests arrive (every endpoint, streams and not, one sequence or
// several, some more than any cap), a replica refuses connections, hangs, crashes,
// says that it is leaving or fails its health checks, or is well again; a reload
// changes caps, takes a replica or a whole pool away, or brings it back, or switches
// on or off that broken answers are gone on with. Clients leave after any byte
// that they sent or received, by FIN, by reset, or half; others send in pieces, or
// slower than they may, read slowly, stop reading for a while or for good, speak
// HTTP/1.0, send their requests one after the other on one connection, or all at
// once. Replicas answer well, slowly, late, with 429, 503, 500 or 400, not at all,
// with a reset after any byte, with an end that isn't one, with [DONE] and no finish
// reason, with an abort, an error event, or silence.
//
// What all replicas would answer to a plain request are the same words. One that is
// asked for the rest of a broken answer begins where the text ends that it was given,
// and may break too: a word that is lost or comes twice at the seam shows, and so do
// tokens that are counted wrongly (plain_test.go).
//
// TLS isn't drawn. It lies between the HTTP library and package conn, which sees
// connections and departures below it; what an answer, a lease or a queue does isn't
// another with it, and handshakes would take more time than all the rest. Tests on
// real sockets have it.
//
// The same seed draws the same schedule. Which goroutine runs first at the same
// moment isn't ours to say, so that a rerun may differ there; the seeds of the
// router's core (package router, world tests) replay exactly.
//
// # What is checked
//
// After each step, when everything has come to rest at that moment, and at the end
// (checks_test.go), the eight promises:
//
//  1. no replica holds more than its cap, by its own count and by the gateway's;
//  2. what the gateway holds is what clients wait for and replicas work on, each
//     lease once: nothing for clients that left, nothing at the end;
//  3. each request has one outcome, which is what its client saw; the ledger
//     balances in every scrape, and the access log has a line for each;
//  4. nobody waits while a willing replica has room, and nobody who has left waits
//     (more below);
//  5. an answer that looks whole to the client was whole at the replica, and one
//     that was whole there is whole here;
//  6. the client's body reaches the replica, and the replica's bytes the client,
//     unchanged, unmixed and at once; an answer that another replica went on with is
//     one answer: nothing is lost or comes twice, the usage is right, and it is one
//     request of two attempts;
//  7. a decision that a client asks about is the one that was carried out (that it
//     replays is shown by the router's own seeds);
//  8. no label of a metric comes from a client.
//
// What must happen in some seed, or nothing of this would be tested, is listed in
// reach_test.go: 300 seeds reach all of it.
//
// # Promise 4, and what is checked where
//
// From outside a gateway some of it can be said exactly, whatever the router has
// learned (waiting_test.go, turns_test.go):
//
//   - where caps alone decide, nobody waits whom a replica surely has room for;
//   - where an SLO decides, nobody waits beside a replica that holds nothing, unless
//     answers would be too slow there beside the prompts that came lately;
//   - priority batch doesn't either where caps alone decide, once nobody else has
//     waited for five seconds; under an SLO it is served in the end;
//   - nobody waits longer than allowed, nobody who has left waits at all, and one
//     request that is larger than every cap is refused in the moment in which it came;
//   - without an SLO, of one queue nobody has a slot before one who came earlier and
//     needs no more sequences.
//
// The rest depends on what only the router knows: who would take whom under an SLO,
// who of those that wait is the head, how often it was passed, for whom room is held.
// Package router says it of every event of its own seeds: TestRandomEvents and
// TestRandomEventsWhereSLOsDecide (nobody waits beside the willing, and nobody beside
// the empty; room is held for a head that was passed eight times), and
// TestAHeadIsPassedAtMostEightTimes.
//
// # Running it
//
//	go test ./gateway/chaos -v -seed 17     one seed, and its schedule
//	make seeds                              1,000 of them, a part of make verify
//	make night SEEDS=100000                 as many as the night takes
//	make mutants                            planted bugs, each to be found by a seed
//
// The planted bugs are patches in testdata/mutants. Checks that found none of them
// would prove nothing by being silent. A patch that no longer fits the tree is made
// anew: make the change that its first line tells of, and keep git diff -U2.
package chaos
