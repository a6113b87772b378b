package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/router"
)

// door knows who is inside and whether new requests may still come in. It is
// open; then leaving, when it still lets requests in but ends their connections;
// then shut.
type door struct {
	leaving atomic.Bool // read for each request

	mu     sync.Mutex // guards all below
	inside map[*visit]struct{}
	cut    error // why nobody may stay any longer; nil: they may
	shut   bool
	empty  chan struct{} // closed when the door is shut and nobody is inside
}

func newDoor() *door {
	return &door{inside: make(map[*visit]struct{}), empty: make(chan struct{})}
}

// enter lets a request in; leave lets it out. A shut door still lets it in: it is
// refused inside, where it has a line in the ledger.
func (d *door) enter(v *visit) {
	d.mu.Lock()
	d.inside[v] = struct{}{}
	cut := d.cut
	d.mu.Unlock()
	if cut != nil {
		v.end(cut)
	}
}

func (d *door) leave(v *visit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.inside, v)
	d.signal()
}

// cutOff ends the visits of all who are inside, and of those who still come.
func (d *door) cutOff(cause error) {
	d.mu.Lock()
	d.cut = cause
	inside := slices.Collect(maps.Keys(d.inside))
	d.mu.Unlock()
	for _, v := range inside {
		v.end(cause)
	}
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

// count is how many requests are inside.
func (d *door) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.inside)
}

func (d *door) signal() {
	if !d.shut || len(d.inside) > 0 {
		return
	}
	select {
	case <-d.empty:
	default:
		close(d.empty)
	}
}

// parting makes answers the last of their connections once the gateway is
// leaving, so that clients and load balancers open their next one elsewhere.
// The head is written after the handler has returned, streams' heads too.
func (d *door) parting(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(c *fasthttp.RequestCtx) {
		next(c)
		if d.leaving.Load() {
			hangUp(c)
		}
	}
}

// shuttingDown is what requests hear that came too late, or are not served in time.
func shuttingDown() *failure {
	f := refuse(router.Draining, "", "draining", "the gateway is shutting down; send the request again")
	f.retryAfter = minRetryAfter
	return f
}

// drain stops the gateway without cutting anybody who can still finish. Its
// steps: readiness says no at once; for timeouts.drain_delay new work is still
// taken, while load balancers learn; then the door shuts, and queued and running
// requests have timeouts.drain; what is left then ends with an error. hurry, a
// second signal, skips to the end.
func (g *Gateway) drain(hurry <-chan struct{}) {
	t := g.policies.get().cfg.Timeouts
	g.door.leaving.Store(true)
	g.log.Info("draining", "delay", t.DrainDelay, "grace", t.Drain, "requests", g.door.count())
	wait(hurry, nil, t.DrainDelay)
	empty := g.door.close()
	wait(hurry, empty, t.Drain)
	if left := g.door.count(); left > 0 {
		g.log.Warn("requests are cut off, timeouts.drain is over or a second signal came", "requests", left)
	}
	g.door.cutOff(errDraining)
	wait(nil, empty, lastWords)
	g.log.Info("drained")
}

// hurryClient gives a client that takes nothing a last moment when the grace
// period is over: a write to it may be under way, and would outlast the process.
func (x *exchange) hurryClient() {
	if errors.Is(x.visit.Err(), errDraining) {
		_ = x.client.SetWriteDeadline(time.Now().Add(lastWords / 2)) // fails only when it has left
	}
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
