package replica

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// Call is one attempt: it can be cancelled from any goroutine at any time. The
// zero value is ready; a Call serves one Do and its Answer, then it is over.
type Call struct {
	cancelled atomic.Bool

	// mu guards what Cancel may end. Connections are closed under it, which
	// doesn't block (it is the socket's close, never TLS's farewell): so none is
	// closed that has been given back.
	mu     sync.Mutex
	begun  bool
	over   bool
	hangUp context.CancelFunc // ends the connecting that is under way
	raw    net.Conn           // the connection in use

	answer Answer
}

// Cancel ends the attempt: the connection is closed and Do or Read return
// ErrCancelled, as does a Do that comes later. After Answer.Close, or a Do that
// failed, it does nothing. It doesn't block.
func (c *Call) Cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.cancelled.Store(true)
	if c.hangUp != nil {
		c.hangUp()
	}
	if c.raw != nil {
		c.raw.Close()
	}
}

// begin claims the Call for one Do.
func (c *Call) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun {
		panic("BUG: a replica.Call serves one attempt, this one was used before")
	}
	c.begun = true
}

// connecting says how to end the connecting that begins now.
func (c *Call) connecting(hangUp context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hangUp = hangUp
	if c.cancelled.Load() {
		hangUp()
	}
}

// attach puts the connection under Cancel's hand until detach.
func (c *Call) attach(raw net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hangUp, c.raw = nil, raw
	if c.cancelled.Load() {
		raw.Close()
	}
}

// detach takes it away again; from here on Cancel does nothing. It returns
// ErrCancelled when Cancel came first and the connection is closed.
func (c *Call) detach() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over, c.hangUp, c.raw = true, nil, nil
	if c.cancelled.Load() {
		return ErrCancelled
	}
	return nil
}
