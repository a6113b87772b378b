// Package router decides, and only decides: which class a request is, which
// replica serves it, whether it waits or is refused. It does no I/O, starts no
// goroutine, and reads no clock: events come in with their time, effects go out.
//
// The callers' side of the contract: one lock around a Router; every Grant is
// given back exactly once with Release or Elsewhere; every Queued ends in a
// Grant or a *Refusal that a later event returns, or in Cancel; Tick is called
// at the time that the last event asked for.
package router
