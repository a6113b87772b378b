package replica

import (
	"errors"
	"fmt"
	"syscall"

	"sluice/router"
)

// What kind of failure an *Error is; compare with errors.Is.
var (
	// ErrConnect: no connection, so the replica can't have run the request.
	ErrConnect = errors.New("no connection")
	// ErrLost: the connection ended or was reset before the answer was whole.
	// A cut answer is io.ErrUnexpectedEOF as well.
	ErrLost = errors.New("connection lost")
	// ErrTimeout: a limit passed while sending, or waiting for the answer.
	ErrTimeout = errors.New("timed out")
	// ErrCancelled: Call.Cancel was called.
	ErrCancelled = errors.New("cancelled")
	// ErrMalformed: the answer breaks HTTP/1.1, or could be read in two ways.
	ErrMalformed = errors.New("malformed answer")
	// ErrUnsendable: the request can't be sent without breaking HTTP/1.1. It is
	// a bug of the caller, and nothing was sent.
	ErrUnsendable = errors.New("unsendable request")
)

// errClosed is what Read returns after Close.
var errClosed = errors.New("the answer was closed")

// Phase is what an attempt was doing when it failed.
type Phase uint8

// The phases, in their order.
const (
	PhaseCheck Phase = iota // of the request, before anything was done
	PhaseConnect
	PhaseSend
	PhaseHead
	PhaseBody
)

var phaseNames = [...]string{
	PhaseCheck: "check the request", PhaseConnect: "connect", PhaseSend: "send the request",
	PhaseHead: "read the answer's head", PhaseBody: "read the answer's body",
}

// String is the phase's name in errors and logs.
func (p Phase) String() string { return phaseNames[p] }

// Error is how an attempt failed. It never holds bytes of a request or answer.
type Error struct {
	Address string // the replica's URL
	Phase   Phase
	Kind    error // one of the package's Err values
	Err     error // the cause; nil when Kind says it all
	Reused  bool  // on a connection that had served before
}

// Error says which replica, what it was doing, and what went wrong.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("replica %s: %s: %v", e.Address, e.Phase, e.Kind)
	}
	return fmt.Sprintf("replica %s: %s: %v: %v", e.Address, e.Phase, e.Kind, e.Err)
}

// Unwrap lets errors.Is find both the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// Outcome is what an error of Do or Read means for the request. committed says
// that the commit point is behind us: an event, or any byte of an answer that
// isn't streamed, has gone to the client.
//
// Undecided for nil and for ErrCancelled: whoever cancelled knows why.
// Internal when the gateway itself has run out of what a connection needs.
// A malformed answer counts as lost, for it is we who hang up on it and the
// replica may still be at work.
func Outcome(err error, committed bool) router.Outcome {
	switch {
	case err == nil, errors.Is(err, ErrCancelled):
		return router.Undecided
	case Exhausted(err):
		return router.Internal
	case errors.Is(err, ErrConnect):
		return router.ConnectFailed
	case errors.Is(err, ErrTimeout):
		return either(committed, router.Stalled, router.Silent)
	case errors.Is(err, ErrLost), errors.Is(err, ErrMalformed):
		return either(committed, router.Truncated, router.Lost)
	}
	return router.Internal
}

// Exhausted tells whether the fault is our own: no descriptor, port or memory was
// left for a connection. It says nothing about the replica, which must not be
// blamed for it.
func Exhausted(err error) bool {
	for _, lack := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, lack) {
			return true
		}
	}
	return false
}

func either(committed bool, after, before router.Outcome) router.Outcome {
	if committed {
		return after
	}
	return before
}
