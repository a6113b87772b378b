package gateway

import (
	"context"
	"sync"
	"time"
)

// door knows who is inside and whether new requests may still come in.
type door struct {
	mu     sync.Mutex // guards all below
	inside int
	shut   bool
	empty  chan struct{} // closed when the door is shut and nobody is inside
}

func newDoor() *door { return &door{empty: make(chan struct{})} }

// enter counts a request in; leave counts it out. A shut door still lets it in:
// it is refused inside, where it has a line in the ledger.
func (d *door) enter() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside++
}

func (d *door) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside--
	d.signal()
}

// close shuts the door: closed tells handlers to refuse. It returns a channel
// that is closed when the last request has left.
func (d *door) close() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
	d.signal()
	return d.empty
}

func (d *door) closed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shut
}

func (d *door) signal() {
	if !d.shut || d.inside > 0 {
		return
	}
	select {
	case <-d.empty:
	default:
		close(d.empty)
	}
}

// drain stops the gateway without cutting anybody who can still finish. Its
// steps: readiness says no at once (the caller has seen to that); for
// timeouts.drain_delay new work is still taken, while load balancers learn;
// then the door shuts, and queued and running requests have timeouts.drain; what
// is left then ends with an error. hurry, a second signal, skips to the end.
func (g *Gateway) drain(hurry <-chan struct{}) {
	t := g.policies.get().cfg.Timeouts
	g.log.Info("draining", "delay", t.DrainDelay, "grace", t.Drain)
	wait(hurry, nil, t.DrainDelay)
	empty := g.door.close()
	wait(hurry, empty, t.Drain)
	g.cutOff(errDraining)
	wait(nil, empty, lastWords)
}

// lastWords is how long requests that are cut off have for their error event.
const lastWords = 2 * time.Second

func wait(hurry, done <-chan struct{}, most time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	select {
	case <-hurry:
	case <-done:
	case <-ctx.Done():
	}
}
