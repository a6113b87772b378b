package router

import "time"

// Record is one decision with all that it was made from: what the request is, how
// its class was found, what each replica would have done for it, and the choice.
// Replay makes the same choice from it. As JSON it is part of the product's
// interface (docs/api.md); times are seconds where they aren't dates.
type Record struct {
	At         time.Time   `json:"at"`
	Words      string      `json:"words"`          // the whole in one sentence
	Then       string      `json:"then,omitempty"` // what became of it after a wait or a second attempt, in words
	Request    Facts       `json:"request"`
	Foreseen   Foreseen    `json:"foreseen"`
	Class      Classified  `json:"class"`
	Candidates []Candidate `json:"candidates"` // every replica of its pools, in the order in which they are asked
	Choice     Choice      `json:"choice"`
	Won        string      `json:"won,omitempty"`     // why the chosen replica, in words
	Queue      *Line       `json:"queue,omitempty"`   // nil: it was refused before any replica was asked, or never waits
	Wait       *Wait       `json:"wait,omitempty"`    // nil: it doesn't
	Refusal    *Reason     `json:"refusal,omitempty"` // nil: it isn't refused
}

// Facts is a Request as a record shows it.
type Facts struct {
	Route     string   `json:"route,omitempty"`
	Pool      string   `json:"pool,omitempty"` // it is pinned to
	Tenant    string   `json:"tenant,omitempty"`
	TokensIn  int      `json:"tokens_in"`
	LongestIn int      `json:"longest_in"`      // what the longest prompt surely has
	AtMost    int      `json:"longest_at_most"` // what it surely doesn't exceed
	Bound     int      `json:"bound"`           // on the output tokens of a sequence; -1: none
	Sequences int      `json:"sequences"`
	Bytes     int      `json:"bytes"`
	Class     Class    `json:"class,omitempty"`    // asked for
	Priority  Priority `json:"priority"`           // what it asked for, or its tenant's, whichever is lower
	MaxWait   float64  `json:"max_wait,omitempty"` // asked for
}

// Foreseen is how long the answer will probably be, and what the request will
// probably cost.
type Foreseen struct {
	Mean      float64 `json:"mean"` // tokens of one sequence
	P50       int     `json:"p50"`  // half of the answers are at most as long
	P90       int     `json:"p90"`  // nine of ten are
	Samples   float64 `json:"samples"`
	TokensOut int     `json:"tokens_out"` // of all sequences
	Work      int64   `json:"work"`       // in prompt tokens
	W         float64 `json:"w"`          // prompt tokens that cost as much as one generated token
}

// Classified is how a class was found.
type Classified struct {
	Class   Class       `json:"class"`
	Why     ClassReason `json:"why"`
	Rule    int         `json:"rule,omitempty"`    // ByRule: its position in classification.rules, from 1
	Prompt  float64     `json:"prompt,omitempty"`  // by ratio or conversation: prefill if this is above Answer
	Answer  float64     `json:"answer,omitempty"`  // w × tokens out
	Before  Class       `json:"before,omitempty"`  // what its kind was before; that side counts 1.25 times
	Earlier Class       `json:"earlier,omitempty"` // what its conversation was in the turn before; that side counts 4 times, and Before not
}

// Candidate is a replica at the moment of the decision, and what it would do.
type Candidate struct {
	Address  string       `json:"address"`
	Pool     string       `json:"pool"`
	Choice   int          `json:"choice"` // position of the pool in the order of preference, from 1
	Value    float64      `json:"value"`  // of serving from that pool
	State    ReplicaState `json:"state"`
	Active   Counts       `json:"active"`  // sequences that run
	Closing  Counts       `json:"closing"` // sequences cancelled, not known to be gone
	Cap      int          `json:"cap"`
	ClassCap int          `json:"class_cap"` // for the request's class
	Room     int          `json:"room"`      // sequences of the class that it would take; what is held for a waiter is taken
	Work     int64        `json:"work"`      // outstanding, in prompt tokens
	Used     uint64       `json:"used"`      // when it last got a request, in grants of the router
	Prospect
}

// Choice is what was decided: a replica, or to wait, or a refusal.
type Choice struct {
	Replica string  `json:"replica,omitempty"`
	Pool    string  `json:"pool,omitempty"`
	Waits   bool    `json:"waits,omitempty"`
	Refused Outcome `json:"refused,omitempty"`
}

// Line is the queue that the request would wait in.
type Line struct {
	Path       string  `json:"path"` // of its settings
	Waiting    int     `json:"waiting"`
	MaxWaiting int     `json:"max_waiting"`
	Bytes      int64   `json:"bytes"`            // of the bodies that wait
	MaxBytes   int64   `json:"max_bytes"`        // 0: no limit
	Expected   float64 `json:"expected"`         // wait of one more; 0: not known
	Allowed    float64 `json:"allowed"`          // the longest wait
	Beside     int     `json:"beside,omitempty"` // its tenant is ahead of others who lack room: so many like it must fit beside it
	Behind     bool    `json:"behind,omitempty"` // a waiter has come into the room that it would take
	Crowds     bool    `json:"crowds,omitempty"` // the queue is full, and a waiter of a louder tenant gives its place
}

// Wait is what a request that waits can count on.
type Wait struct {
	Deadline time.Time `json:"deadline"`
	Ahead    int       `json:"ahead"`
	Expected float64   `json:"expected"` // 0: not known
}

// Reason is a Refusal as a record shows it.
type Reason struct {
	Outcome    Outcome `json:"outcome"`
	Param      string  `json:"param,omitempty"` // the request's field at fault
	Detail     string  `json:"detail"`          // what happened, which limit and setting, what to change
	RetryAfter float64 `json:"retry_after,omitempty"`
}

// Replay decides again, from a record alone. It shows that nothing else had a say.
func Replay(rec *Record) Choice {
	if rec.Refusal != nil && rec.Queue == nil {
		return Choice{Refused: rec.Refusal.Outcome}
	}
	best, waits := rec.best(), rec.waits()
	if best != nil && (rec.Queue == nil || !rec.Queue.Behind || !waits.Waits) {
		return Choice{Replica: best.Address, Pool: best.Pool}
	}
	return waits
}

// waits tells whether it may wait.
func (rec *Record) waits() Choice {
	q := rec.Queue
	if q == nil {
		return Choice{}
	}
	bytes := q.Bytes + int64(rec.Request.Bytes)
	full := q.Waiting >= q.MaxWaiting || q.MaxBytes > 0 && bytes > q.MaxBytes
	switch {
	case full && !q.Crowds:
		return Choice{Refused: QueueFull}
	case q.Expected > q.Allowed:
		return Choice{Refused: WaitExpired}
	}
	return Choice{Waits: true}
}

// best is the willing candidate of the first pool that has one, there the one with
// the least work, then the least recently used, then the first. Nil: none is willing.
func (rec *Record) best() *Candidate {
	var best *Candidate
	for i := range rec.Candidates {
		c := &rec.Candidates[i]
		if c.Verdict == Willing && (best == nil || c.Choice == best.Choice && c.before(best)) {
			best = c
		}
	}
	return best
}

func (c *Candidate) before(other *Candidate) bool {
	return c.ahead(other) || !other.ahead(c) && c.Used < other.Used
}

// ahead tells whether a candidate has less work than another, the request's own
// included: what it has computed of the prompt before is saved.
func (c *Candidate) ahead(other *Candidate) bool {
	return c.Work-int64(c.Known-other.Known) < other.Work
}
