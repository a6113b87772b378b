package router

import "time"

// State is a snapshot of the router, for people and gauges. Lists are sorted by
// name, so that two snapshots can be compared.
type State struct {
	At          time.Time     `json:"at"`           // of the last event
	W           float64       `json:"w"`            // prompt tokens that cost as much as one generated token
	RetriesLeft int           `json:"retries_left"` // of the retry budget
	Pools       []PoolReport  `json:"pools"`
	Queues      []QueueReport `json:"queues"`
	Routes      []RouteReport `json:"routes"`
}

// PoolReport is a pool and its replicas.
type PoolReport struct {
	Name     string          `json:"name"`
	Replicas []ReplicaReport `json:"replicas"`
}

// ReplicaReport is what one replica holds.
type ReplicaReport struct {
	Address string       `json:"address"`
	State   ReplicaState `json:"state"`
	Listed  bool         `json:"listed"`  // false: gone from the fleet, its last leases still run
	Cap     int          `json:"cap"`     // sequences it may hold; a lowered cap counts down as leases come back
	Admits  int          `json:"admits"`  // sequences up to which it gets new work now: the cap, 1 on trial, else 0
	Active  Counts       `json:"active"`  // sequences of running requests
	Closing Counts       `json:"closing"` // sequences cancelled, not yet known to be gone
	Work    int64        `json:"work"`    // outstanding, in prompt tokens
	Granted uint64       `json:"granted"` // requests since it was first listed
	Busy    bool         `json:"busy"`    // said so within the last second
	Load    Load         `json:"load"`    // its own metrics, as last read
}

// Counts is sequences by class.
type Counts struct {
	Prefill int `json:"prefill"`
	Decode  int `json:"decode"`
}

// Total is the sequences of both classes.
func (c Counts) Total() int { return c.Prefill + c.Decode }

// QueueReport is one queue. Route is empty where the queue belongs to a pool's
// own name; then Pool is set.
type QueueReport struct {
	Route   string        `json:"route,omitempty"`
	Pool    string        `json:"pool,omitempty"`
	Class   Class         `json:"class"`
	Waiting int           `json:"waiting"` // requests
	Bytes   int64         `json:"bytes"`   // of their bodies
	Oldest  time.Duration `json:"oldest"`  // nanoseconds that the oldest has waited
	Rate    float64       `json:"rate"`    // requests per second that leave it for a replica; 0: not measured
}

// RouteReport is what the router has learned of a route and class.
type RouteReport struct {
	Route     string        `json:"route,omitempty"`
	Pool      string        `json:"pool,omitempty"`
	Class     Class         `json:"class"`
	TokensOut float64       `json:"tokens_out"` // mean of one sequence without a bound
	Service   time.Duration `json:"service"`    // nanoseconds, mean; 0: not measured
}
