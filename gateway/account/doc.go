// Package account is where an outcome is counted, logged and learned from: the
// ledger, the metrics, the access log. Nothing else imports Prometheus.
//
// # A request's line
//
// Begin opens an Entry when a request's headers have arrived, Set moves it from
// state to state, Finish closes it once with a Record. An Entry that nobody
// finishes stays in flight for ever, and one that is finished twice is a panic:
// both are bugs that would otherwise make requests vanish from the books.
//
// # The ledger
//
//	sluice_requests_received_total = Σ sluice_requests_finished_total + Σ sluice_requests_in_flight
//
// holds in every scrape and not only on average, because one collector reads all
// three under the lock that Begin, Set and Finish take. Three independent
// counters would disagree within a scrape, and an alert on the difference would
// be noise.
//
// # Labels
//
// A label's value is a name of the configuration (Reconfigure says which are in
// force) or a word of a closed list. Any other name becomes "none", so strangers
// can't mint series. What described a route or pool that a reload removed goes
// with it, except the route's finished requests: the ledger would no longer
// balance without them, and folding them into another series would look like a
// burst of traffic. They stand still until the next start.
//
// # What a latency means
//
//	request_duration     arrival to the last byte; completed requests only
//	time_to_first_token  arrival to the first token-bearing event of a stream,
//	                     whatever became of the stream afterwards
//	time_per_output_token  (last token − first token) / (tokens − 1) of one
//	                     sequence; streams whose usage is known, 2 tokens or more
//	queue_wait           in the gateway's queue: every request that got a
//	                     replica (0 included), and those that waited in vain
//
// A failure has no duration in the histogram: one that fails in 5 ms would make
// a broken replica look like a fast one, and scaling down is the wrong answer to
// it. So the histograms are to be read beside the outcomes; under overload the
// slowest requests end as wait_expired or client_gone and show only there. A
// refusal at once has no queue wait for the same reason. An answer that isn't
// streamed has no first token. Calls that generate nothing (class other) have no
// queue.
//
// Each latency is a classic and a native histogram in one (bucket factor 1.1).
// Durations resolve to 600 s; thresholds of SLOs should be bucket bounds.
//
// # Access log
//
// One line for each finished request, never with prompts, answers, keys or
// bodies. What a client chose (its request id) is cut to 128 bytes; the JSON
// handler escapes the rest. Lines gather for 0.1 s and are written together, on a
// goroutine of their own, so that a full disk or a stuck pipe holds no request up:
// what it can't take is dropped and counted in access_log_lines_lost_total.
package account
