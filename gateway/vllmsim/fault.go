package vllmsim

import (
	"fmt"
	"strconv"
	"strings"
)

// FaultKind is what goes wrong. The zero value is nothing.
type FaultKind uint8

// The closed list of faults; FaultHelp says what each does.
const (
	NoFault FaultKind = iota
	Hang
	Slow
	Refuse
	Crash
	EngineDead
	Busy
	HalfHeader
	Garbage
	Stall
	ErrorEvent
	Abort
	Truncate
	Cut
	Reset
	Deaf
)

// scope is whom a fault hits.
type scope uint8

const (
	_        scope = iota
	replicas       // the whole replica, only
	either         // the whole replica; or, because of one request, also that
	requests       // one request
)

// kinds says of each fault its name, whom it hits, and what happens.
var kinds = [...]struct {
	name  string
	scope scope
	what  string
}{
	Hang:       {"hang", either, "the chip stops: nobody gets a token, gauges and counters freeze, /health stays green"},
	Slow:       {"slow", replicas, "steps last factor times as long"},
	Refuse:     {"refuse", replicas, "new connections are refused; open ones go on"},
	Crash:      {"crash", either, "the process is gone: every connection closes"},
	EngineDead: {"engine-dead", either, "the engine dies: running requests fail, /health is 503, and the process exits seconds later"},
	Busy:       {"busy", requests, "answered 503, or 429 with status=429"},
	HalfHeader: {"half-header", requests, "the connection closes in the middle of the answer's head"},
	Garbage:    {"garbage", requests, "bytes that are no HTTP, in place of the head or in the middle of the body"},
	Stall:      {"stall", requests, "the answer falls silent and never ends"},
	ErrorEvent: {"error-event", requests, "an error event in the stream; 500 where none is streamed"},
	Abort:      {"abort", requests, "ends with the finish reason abort, under status 200"},
	Truncate:   {"truncate", requests, "the body ends properly, but too early"},
	Cut:        {"cut", requests, "the connection closes in the middle of the body"},
	Reset:      {"reset", requests, "the connection is reset in the middle of the body"},
	Deaf:       {"deaf", requests, "the engine goes on when the client has left"},
}

// String is the name that a Fault is written with.
func (k FaultKind) String() string { return kinds[k].name }

// FaultHelp lists the faults, a line each.
func FaultHelp() string {
	var b strings.Builder
	for _, k := range kinds[1:] {
		fmt.Fprintf(&b, "  %-12s %s\n", k.name, k.what)
	}
	return b.String()
}

// Fault is one thing that goes wrong. What hits requests hits all of them, until
// Heal, unless it is limited.
type Fault struct {
	Kind   FaultKind
	After  int     // tokens of an answer that come first; a shorter answer isn't hit
	Times  int     // requests that it hits; 0: no limit
	Share  float64 // of the requests it would hit, evenly spread, 0 … 1; 0: all
	Status int     // of Busy: 429 or 503; 0: 503
	Factor float64 // of Slow; 0: 1
}

// ParseFault reads "KIND" or "KIND:NAME=VALUE,…" with the names after, times,
// share, status and factor. The error says what may be written.
func ParseFault(text string) (Fault, error) {
	name, limits, _ := strings.Cut(strings.TrimSpace(text), ":")
	f := Fault{Kind: kindOf(name)}
	if f.Kind == NoFault {
		return Fault{}, fmt.Errorf("fault %q: there is no %q; use one of %s", text, name, faultNames())
	}
	for limit := range strings.SplitSeq(limits, ",") {
		if limits == "" {
			break
		}
		if err := f.set(limit); err != nil {
			return Fault{}, fmt.Errorf("fault %q: %w", text, err)
		}
	}
	setDefault(&f.Status, 503)
	setDefault(&f.Factor, 1)
	return f, f.check()
}

func faultNames() string {
	var names []string
	for _, k := range kinds[1:] {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ")
}

func kindOf(name string) FaultKind {
	for k := range kinds {
		if kinds[k].name == name && name != "" {
			return FaultKind(k)
		}
	}
	return NoFault
}

// set reads one limit.
func (f *Fault) set(limit string) error {
	name, value, _ := strings.Cut(limit, "=")
	var err error
	switch name {
	case "after":
		f.After, err = strconv.Atoi(value)
	case "times":
		f.Times, err = strconv.Atoi(value)
	case "status":
		f.Status, err = strconv.Atoi(value)
	case "share":
		f.Share, err = strconv.ParseFloat(value, 64)
	case "factor":
		f.Factor, err = strconv.ParseFloat(value, 64)
	default:
		return fmt.Errorf("%q is not one of after, times, share, status, factor", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %q is not a number", name, value)
	}
	return nil
}

func (f *Fault) check() error {
	switch {
	case f.After < 0, f.Times < 0:
		return fmt.Errorf("fault %s: after is %d and times %d, want 0 or more", f.Kind, f.After, f.Times)
	case !(f.Share >= 0 && f.Share <= 1): // NaN too
		return fmt.Errorf("fault %s: share is %v, want 0 to 1", f.Kind, f.Share)
	case f.Status != 429 && f.Status != 503:
		return fmt.Errorf("fault %s: status is %d, want 429 or 503", f.Kind, f.Status)
	case !(f.Factor > 0 && f.Factor <= maxFactor):
		return fmt.Errorf("fault %s: factor is %v, want more than 0 and at most %d", f.Kind, f.Factor, maxFactor)
	case f.Kind != Busy && f.Status != 503:
		return fmt.Errorf("fault %s has no status: only busy has", f.Kind)
	case f.Kind != Slow && f.Factor != 1:
		return fmt.Errorf("fault %s has no factor: only slow has", f.Kind)
	case f.limited() && kinds[f.Kind].scope == replicas:
		return fmt.Errorf("fault %s hits the whole replica: after, times and share mean nothing", f.Kind)
	}
	return nil
}

// maxFactor is where a slow replica isn't to be told from a hung one.
const maxFactor = 1000000

// limited says whether the fault waits for a request.
func (f *Fault) limited() bool { return f.After > 0 || f.Times > 0 || f.Share > 0 }

// wide says whether the fault hits the replica at once.
func (f *Fault) wide() bool {
	return kinds[f.Kind].scope == replicas || kinds[f.Kind].scope == either && !f.limited()
}

// String is what ParseFault reads.
func (f Fault) String() string {
	var limits []string
	add := func(given bool, name string, value any) {
		if given {
			limits = append(limits, fmt.Sprint(name, "=", value))
		}
	}
	add(f.After > 0, "after", f.After)
	add(f.Times > 0, "times", f.Times)
	add(f.Share > 0, "share", f.Share)
	add(f.Kind == Busy, "status", f.Status)
	add(f.Kind == Slow, "factor", f.Factor)
	if limits == nil {
		return f.Kind.String()
	}
	return f.Kind.String() + ":" + strings.Join(limits, ",")
}

// limit is how much of a sequence may be shown; struck says that the fault
// strikes now, after that much.
func (f *Fault) limit(made int, why ending) (_ int, _ ending, struck bool) {
	switch {
	case f.Kind == NoFault || f.Kind == Deaf || made < f.After || made == f.After && why != running && f.After > 0:
		return made, why, false
	case f.Kind == Abort:
		return f.After, aborted, false
	}
	return f.After, running, true
}
