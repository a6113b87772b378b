package router

import "time"

// Request is the facts a decision may use, by value. Nothing else of what the
// client sent may influence a decision.
type Request struct {
	Route         string        // a key of the configuration's routes; "" when Pool is set
	Pool          string        // pinned to this pool (an implicit route); "" otherwise
	Tenant        string        // a key of the configuration's tenants; "" when open
	TokensIn      int           // prompt tokens of all prompts, estimated or exact
	LongestIn     int           // prompt tokens the longest prompt surely has: exact, or the estimate less its documented error
	LongestAtMost int           // prompt tokens that it surely doesn't exceed: exact, or the estimate and its documented error; 0: as LongestIn
	OutBound      int           // hard bound on the output tokens of one sequence; -1: none
	Sequences     int           // slots it needs; 0 for class Other
	Bytes         int           // of the body, held while it waits
	Class         Class         // asked for by the client, or Other; ClassNone: decide
	MaxWait       time.Duration // the client's own limit on waiting; 0: the policy's alone
	Priority      Priority      // asked for by the client; PriorityNone: its tenant's
	Prefixes      Prefixes      // how its prompt begins
	Whole         bool          // its answer isn't streamed: nobody will see its first token
}

// Ticket names a request in the router from Offer to its end. Never reused.
type Ticket uint64

// Lease is the held slots of one replica for one request. It is taken by a
// Grant and given back once, by Release or Elsewhere. A request that is tried
// again keeps its Ticket and gets a new Lease.
type Lease struct {
	id uint64 // from 1, never reused: a second release is always seen
}

// Decision is what becomes of a request: Grant, Queued or *Refusal.
type Decision interface{ decision() }

// Grant gives a request its slots on one replica.
type Grant struct {
	Ticket     Ticket
	Lease      Lease
	Replica    string        // address, a base URL of the configuration
	Pool       string        // the replica's pool
	Class      Class         // decided
	Why        ClassReason   // what decided the class
	TokensIn   int           // prompt tokens, all prompts together
	TokensOut  int           // expected output tokens, all sequences together: the mean of what was learned
	LongestOut int           // tokens that nine of ten of its sequences will not exceed
	W          float64       // prompt tokens that cost as much as one generated token, at the decision
	Sequences  int           // slots held; 0 for class Other
	Choice     int           // position of Pool in the order of preference; above 0: spilled
	Choices    int           // pools that the request was allowed
	Work       int64         // outstanding work of the replica before this request, in prompt tokens
	Waited     time.Duration // in the queue, over all attempts
	Retried    bool          // after Elsewhere
}

// Queued says that the request waits. A later event returns its Grant or *Refusal.
type Queued struct {
	Ticket   Ticket
	Class    Class
	Why      ClassReason
	Deadline time.Time // when it is refused
	Ahead    int       // requests of its queue before it
}

// Refusal is the router's no. It is also an error whose text helps the client.
type Refusal struct {
	Ticket     Ticket
	Outcome    Outcome
	Class      Class
	Waited     time.Duration // in the queue
	RetryAfter time.Duration // whole seconds, at least 1 s, where trying again can help; else 0
	Param      string        // the request's field at fault, "" if none
	Detail     string        // what happened, which limit, what to change
}

func (Grant) decision()    {}
func (Queued) decision()   {}
func (*Refusal) decision() {}

// Error is the detail, for the client and the log.
func (r *Refusal) Error() string { return r.Detail }

// ClassReason says what decided a class.
type ClassReason uint8

// The reasons, in the order in which they are asked.
const (
	ByNothing      ClassReason = iota
	ByEndpoint                 // generates nothing
	ByClient                   // x-sluice-class
	ByRoute                    // routes.NAME.class
	ByRule                     // classification.rules
	ByBound                    // a hard bound of at most 16 output tokens; 0 (pooling) included
	ByConversation             // keeps the class that the conversation's turn before had
	ByRatio                    // tokens in against w × tokens out
)

var reasonNames = [...]string{
	ByNothing: "none", ByEndpoint: "endpoint", ByClient: "client", ByRoute: "route",
	ByRule: "rule", ByBound: "bound", ByConversation: "conversation", ByRatio: "ratio",
}

// String is the reason's name in logs and headers.
func (r ClassReason) String() string { return reasonNames[r] }

// MarshalText is String, for JSON.
func (r ClassReason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Replica is what the fleet knows of one replica.
type Replica struct {
	Address string // identity
	Pool    string
	State   ReplicaState
}

// ReplicaState says whether a replica may get work. The zero value is not willing.
type ReplicaState uint8

// The states.
const (
	Warming ReplicaState = iota // not yet healthy, or refusing connections
	Ready                       // gets work
	Trial                       // breaker half open: one request until it succeeds, if it holds nothing
	Leaving                     // says it is going: finishes what it holds
	Open                        // breaker open: nothing
	Unwell                      // health checks fail and no answers flow
)

var stateNames = [...]string{
	Warming: "warming", Ready: "ready", Trial: "trial", Leaving: "draining", Open: "open", Unwell: "unhealthy",
}

// String is the state's metric label.
func (s ReplicaState) String() string { return stateNames[s] }

// MarshalText is String, for JSON.
func (s ReplicaState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Load is what a replica's own metrics say. At is when they were read: work
// cancelled later can't be judged by them.
type Load struct {
	At      time.Time `json:"at"`
	Running int       `json:"running"`  // sequences
	Waiting int       `json:"waiting"`  // sequences
	KVUsage float64   `json:"kv_usage"` // [0, 1]

	// What tells an engine at work from one that stands.
	TellsSteps bool    `json:"tells_steps"`
	Steps      float64 `json:"steps"`  // that brought tokens, since the process began
	Tokens     float64 `json:"tokens"` // read and generated since then
	KVSum      float64 `json:"kv_sum"` // the KV usage of all its engines; KVUsage is that of the fullest
}

// Answer is what a finished request teaches.
type Answer struct {
	Lease     Lease         // while it is active: Release comes after
	TokensOut int           // of one sequence
	Service   time.Duration // dispatch to first token for Decode, to the end for Prefill
}
