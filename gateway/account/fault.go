package account

import "sluice/router"

// Fault is a way in which a replica's failure hides: under a 200, as a proper
// end, or as silence. A relay that only copies bytes would have passed it on as
// success, or would still be waiting.
type Fault uint8

// The faults. Those above noDone are counted by Finish, from the outcome; the
// rest end in other outcomes too, and are counted where they are seen.
const (
	faultTruncated Fault = iota // the answer ended incomplete
	faultAborted                // finish reason abort
	faultError                  // an error inside a 200
	faultSilent                 // accepted, then nothing
	faultStalled                // began, then nothing

	NoDone           // a whole stream without its [DONE]
	EmptyAnswer      // 200 without a body
	NoToken          // a whole answer in which nothing is said
	UsageContradicts // a whole answer that can't have the tokens it is said to have
	Standing         // an engine makes no step though it holds work
	Orphans          // sequences run on after their client has left

	faults // how many there are
)

var faultNames = [faults]string{
	faultTruncated: "truncated", faultAborted: "aborted", faultError: "error_event",
	faultSilent: "silent", faultStalled: "stalled",
	NoDone: "no_done", EmptyAnswer: "empty_answer", NoToken: "no_token", UsageContradicts: "usage_contradicts",
	Standing: "standing", Orphans: "orphans",
}

// String is the fault's metric label.
func (f Fault) String() string { return faultNames[f] }

var faultOf = map[router.Outcome]Fault{
	router.Truncated:  faultTruncated,
	router.Aborted:    faultAborted,
	router.ErrorEvent: faultError,
	router.Silent:     faultSilent,
	router.Stalled:    faultStalled,
}

// Fault counts a hidden failure.
func (a *Account) Fault(f Fault) { a.metrics.silent.WithLabelValues(f.String()).Inc() }
