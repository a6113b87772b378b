package router

// Outcome is how a request ended. The list is closed; its zero value means
// "not decided" and is never reported.
type Outcome uint8

// The outcomes. Refusals are decided by the gateway before dispatch.
const (
	Undecided Outcome = iota

	Completed

	// Refusals.
	Invalid
	Unauthorized
	RateLimited
	TooLarge
	TooLong
	Unsupported
	QueueFull
	WaitExpired
	NoReplica
	Draining

	// The client left.
	ClientGoneQueued
	ClientGoneWaiting
	ClientGoneStreaming

	// The replica failed, or said no.
	Busy
	ConnectFailed
	Lost
	Silent
	Stalled
	Truncated
	Aborted
	ErrorEvent
	ReplicaError
	ClientError
	Misconfigured

	// The gateway failed: a bug of its own, caught and answered.
	Internal

	outcomes // how many there are
)

// retry says when a request that ended so may be tried on another replica.
type retry uint8

const (
	never         retry = iota
	elsewhere           // the replica can't have run it
	afterDispatch       // it may have run: only where the operator allows
)

// rule is a row of the outcome table.
type rule struct {
	label  string
	status int   // HTTP status while nothing has been sent; 0: none is sent, or the replica's own
	retry  retry // while nothing has been sent
	blame  bool  // the replica's breaker counts it
	work   bool  // the replica may still hold its sequences: the lease goes closing
	midway bool  // it can befall an answer that has begun, of which another replica may do the rest
}

// table is the one place that says what an outcome means.
var table = [outcomes]rule{
	Undecided:           {label: "undecided"},
	Completed:           {label: "completed"},
	Invalid:             {label: "invalid", status: 400},
	Unauthorized:        {label: "unauthorized", status: 401},
	RateLimited:         {label: "rate_limited", status: 429},
	TooLarge:            {label: "too_large", status: 413},
	TooLong:             {label: "too_long", status: 400},
	Unsupported:         {label: "unsupported", status: 400},
	QueueFull:           {label: "queue_full", status: 429},
	WaitExpired:         {label: "wait_expired", status: 429},
	NoReplica:           {label: "no_replica", status: 503},
	Draining:            {label: "draining", status: 503},
	ClientGoneQueued:    {label: "client_gone_queued"},
	ClientGoneWaiting:   {label: "client_gone_waiting", work: true},
	ClientGoneStreaming: {label: "client_gone_streaming", work: true},
	Busy:                {label: "busy", status: 503, retry: elsewhere},
	ConnectFailed:       {label: "connect_failed", status: 502, retry: elsewhere, blame: true},
	Lost:                {label: "lost", status: 502, retry: afterDispatch, blame: true, work: true},
	Silent:              {label: "silent", status: 504, retry: afterDispatch, blame: true, work: true},
	Stalled:             {label: "stalled", status: 504, blame: true, work: true, midway: true},
	Truncated:           {label: "truncated", status: 502, blame: true, work: true, midway: true},
	Aborted:             {label: "aborted", status: 502, retry: elsewhere, blame: true, midway: true},
	ErrorEvent:          {label: "error_event", status: 502, retry: afterDispatch, blame: true, work: true, midway: true},
	ReplicaError:        {label: "replica_error", status: 502, retry: afterDispatch, blame: true, work: true},
	ClientError:         {label: "client_error"},
	Misconfigured:       {label: "misconfigured", status: 502},
	Internal:            {label: "internal", status: 500},
}

// String is the outcome's metric label and its name in logs.
func (o Outcome) String() string { return table[o].label }

// Status is the HTTP status that a client sees when nothing has been sent yet;
// 0 where the replica's own status passes, or nobody is there to see one.
func (o Outcome) Status() int { return table[o].status }

// MayRetry tells whether another replica may be tried, if nothing has been sent
// to the client. afterDispatch is the operator's word (retry.after_dispatch)
// that a request which may have run can run again.
func (o Outcome) MayRetry(allowAfterDispatch bool) bool {
	r := table[o].retry
	return r == elsewhere || r == afterDispatch && allowAfterDispatch
}

// MayHaveRun tells whether the replica may have run the request although the
// client got no answer from it; such a failure says x-should-retry: false.
func (o Outcome) MayHaveRun() bool { return table[o].retry == afterDispatch || table[o].work }

// MayContinue tells whether another replica may go on with an answer that broke so
// after it had begun, where the operator allows that.
func (o Outcome) MayContinue() bool { return table[o].midway }

// Blames tells whether the replica's breaker counts the outcome as a failure.
func (o Outcome) Blames() bool { return table[o].blame }

// LeavesWork tells whether the replica may still be working on the request when
// its lease is released, so that the slots stay closing for a while.
func (o Outcome) LeavesWork() bool { return table[o].work }

// Outcomes lists every outcome that can be reported, for metrics and tests.
func Outcomes() []Outcome {
	all := make([]Outcome, 0, outcomes-1)
	for o := Completed; o < outcomes; o++ {
		all = append(all, o)
	}
	return all
}
