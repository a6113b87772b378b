// Package fleet keeps the router's picture of the replicas true: which there
// are, which may get work, how loaded they say they are.
//
// # Members
//
// Apply takes the replicas from a configuration. A Member is known by its
// address and nothing else, so a reload that keeps an address keeps its health
// and its breaker; its connections too, unless the pool's CA or the timeouts
// changed. (A reload that changes health.failures_open or health.open_for starts
// all breakers anew.) A removed member leaves the published list at once, its
// leases finish, and its idle connections are closed.
//
// # Three sources, one state
//
//	health check (each health.interval)   real traffic            breaker
//	  200      → Ready                      no connection→Warming   open      → Open
//	  refused  → Warming                    an event arrives        half open → Trial
//	  503      → Leaving, if it was ready     = proof of life       closed    → Ready
//	  else     → Unwell, after 3 in a row
//	             and no proof of life for 10 s
//
// The breaker speaks only of a replica whose health is Ready. vLLM has a closed
// port until its warm-up is over, which takes minutes to an hour, so a refused
// connection means "warming" and never "dead": it is checked until it is up. A
// name that DNS doesn't have counts as refused: a Kubernetes pod that ends loses
// its name long before it closes its port, and finishes what it has meanwhile.
// vLLM's /health answers 503 when it is going down or its engine has died; both
// mean that it gets nothing new. A health check that times out proves little
// while answers flow: an event loop busy with tokenising is late with it on the
// very replica that works hardest. A connection that fails in real traffic is
// believed at once, and a health check follows within a tenth of the interval.
//
// The health check can't see a hung engine (vLLM goes on answering 200). That is
// what the breaker is for: silent, stalled and broken answers open it.
//
// # The breaker
//
// gobreaker, one for each replica, by health.failures_open failures in a row,
// for health.open_for; then one trial. Which outcome is a failure stands in the
// router's table; what a client did wrong, a busy answer and a client that left
// are neutral. Begin asks it, and the Verdict must be ended:
//
//	v, ok := member.Begin()          // false: go elsewhere
//	defer v.Ended(outcome)           // exactly once, whatever happens
//	v.Report(router.Completed)       // at the first event of the answer
//
// The verdict falls at the first event, or a trial that streams for minutes would
// keep everybody else out for minutes. A stream that breaks after it is a new
// failure. Since its first event was a success, breaks would never be "in a
// row"; so as many broken streams in a row, with no whole answer between them,
// open the breaker as well. A verdict that is never given would leave a half open
// breaker refusing for ever (gobreaker has no limit there), which is why Ended
// gives one, neutral if need be.
//
// The router learns of a half open breaker as a state, Trial: an idle replica gets
// one request, of any size.
// Begin can still refuse what the router granted, in the moment before the list
// is published.
//
// A replica that refused a health check and now passes one is a new process: it
// gets a new breaker.
//
// Breakers and health checks know nothing of each other's replicas. A fault that
// all share (the gateway's own network, a request that kills engines) can put
// all of them out of service; there is no "last one stays" rule.
//
// # Load
//
// Each second, and soon after a request was given up, the replica's /metrics is
// read: sequences running and waiting, use of the KV cache, under their names of
// before and after December 2025. A replica without /metrics is served all the
// same.
//
// Checks use connections of their own, a new one each: one that was kept alive
// would not show that the port no longer accepts any.
package fleet
