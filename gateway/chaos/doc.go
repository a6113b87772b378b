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
// several), a replica refuses connections, hangs, crashes, says that it is leaving
// or fails its health checks, or is well again; a reload changes caps, takes a
// replica or a whole pool away, or brings it back. Clients leave after any byte
// that they sent or received, by FIN, by reset, or half; others read slowly.
// Replicas answer well, slowly, late, with 429, 503, 500 or 400, not at all, with a
// reset after any byte, with an end that isn't one, with [DONE] and no finish
// reason, with an abort, an error event, or silence.
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
//  4. nobody waits while a willing replica has room, and nobody who has left waits;
//  5. an answer that looks whole to the client was whole at the replica, and one
//     that was whole there is whole here;
//  6. the client's body reaches the replica, and the replica's bytes the client,
//     unchanged, unmixed and at once;
//  7. a decision that a client asks about is the one that was carried out (that it
//     replays is shown by the router's own seeds);
//  8. no label of a metric comes from a client.
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
