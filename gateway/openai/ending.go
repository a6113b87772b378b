package openai

// Ending is what an answer has said, so far, about its own end: what to think
// if its body stopped here. The zero value means that it has said nothing; the
// others are in the order in which one outweighs another.
type Ending uint8

const (
	// EndingOpen: nothing terminal yet. A body that stops here was cut.
	EndingOpen Ending = iota
	// EndingComplete: every choice has a finish reason that is none of those
	// below, or the endpoint's own closing event came.
	EndingComplete
	// EndingFailed: a Responses answer closed itself in good order with the
	// status "failed". Its client has been told, so the body may end properly;
	// in the books it is an error all the same.
	EndingFailed
	// EndingAborted: the engine dropped at least one sequence and said so
	// (finish reason "abort"; status "cancelled" of Responses; a message
	// that stops without a stop reason).
	EndingAborted
	// EndingError: the replica reported an error inside the answer.
	EndingError
)

var endingNames = [...]string{
	EndingOpen:     "open",
	EndingComplete: "complete",
	EndingFailed:   "failed",
	EndingAborted:  "aborted",
	EndingError:    "error",
}

// String is the ending's name in logs and test failures.
func (e Ending) String() string { return endingNames[e] }

// Whole reports whether a client that has all bytes can rely on them: it either
// has a complete answer or was told in the endpoint's own words that there is
// none. After any other ending the body mustn't end as if all were well.
func (e Ending) Whole() bool { return e == EndingComplete || e == EndingFailed }
