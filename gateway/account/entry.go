package account

import (
	"time"

	"sluice/router"
)

// State says what an open request is doing.
type State uint8

// The states of a request in flight, in the order in which they come.
const (
	Reading   State = iota // its body is being read and judged
	Queued                 // it waits for a replica
	Waiting                // it is at a replica, which hasn't sent an event yet
	Streaming              // its answer is on the way to the client

	states // how many there are
)

var stateNames = [states]string{Reading: "reading", Queued: "queued", Waiting: "waiting", Streaming: "streaming"}

// String is the state's metric label.
func (s State) String() string { return stateNames[s] }

// Entry is one request's line in the ledger, from Begin to Finish. It isn't
// pooled: a stale pointer to a line that has become another request's would be
// the very bug that the ledger is there to find.
type Entry struct {
	account  *Account
	endpoint string
	arrival  time.Time
	state    State // guarded by account.mu
	finished bool  // guarded by account.mu
}

// Record is all that is known of a request at its end. Zero values mean that
// the request didn't come so far.
type Record struct {
	Route       string // a configured name; any other is counted as "none"
	Class       router.Class
	ClassReason router.ClassReason
	Outcome     router.Outcome // must be decided
	Pool        string         // that served it, or was tried last
	Replica     string         // address
	BrokenAt    string         // address of the replica whose answer this one went on with; "": none
	Tenant      string         // a configured name
	RequestID   string         // the client's or our own
	Stream      bool           // the client asked for a stream
	Status      int            // that the client saw; 0: it left before
	Detail      string         // of a failure or a refusal; never a part of a body

	TokensInEstimate int  // at arrival
	TokensInExact    bool // the estimate was a count
	UsageKnown       bool // the replica told the three below
	TokensIn         int
	TokensCached     int // of TokensIn, found in the replica's prefix cache
	TokensOut        int // of all sequences together
	Sequences        int
	BodyBytes        int

	Queue      time.Duration // waited in the gateway's queue
	FirstToken time.Time     // first token-bearing event of a stream
	LastToken  time.Time     // last one
	Attempts   int           // replicas tried
}

// Begin opens a request's line. The caller ends it with Finish, exactly once.
func (a *Account) Begin(endpoint string, now time.Time) *Entry {
	e := &Entry{account: a, arrival: now}
	a.mu.Lock()
	e.endpoint = a.ledger.begin(endpoint)
	a.mu.Unlock()
	return e
}

// Set says what the request is doing now.
func (e *Entry) Set(s State) {
	a := e.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.finished {
		panic("BUG: a finished request changed its state to " + s.String())
	}
	a.ledger.move(e.state, s)
	e.state = s
}

// Finish closes the request's line: now is when its last byte was sent or its
// end was known. It counts the outcome, observes the latencies, writes the
// access log.
func (e *Entry) Finish(now time.Time, r Record) {
	if r.Outcome == router.Undecided {
		panic("BUG: a request was finished without an outcome")
	}
	e.account.observe(e.close(&r), e.arrival, now, &r)
	e.account.log(e, now, &r)
}

// close counts the outcome and finds the histograms to observe.
func (e *Entry) close(r *Record) *latencies {
	a := e.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.finished {
		panic("BUG: a request was finished twice, now as " + r.Outcome.String())
	}
	e.finished = true
	r.Route, r.Pool = a.ledger.finish(e.state, r)
	return a.latencies(labels{r.Route, r.Class, r.Pool})
}
