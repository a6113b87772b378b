package replica

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// defaultMaxHeader is the limit on an answer's head when none is given.
const defaultMaxHeader = 32 << 10

// staleWindow is how long after its dispatch a request on a reused connection
// may still be taken for one that met a dead connection. One round trip would
// do; beyond it the replica may have run the request.
const staleWindow = time.Second

// Options is what a Client needs to know.
type Options struct {
	URL            string        // http://host:port or https://…, a path is allowed
	TLS            *tls.Config   // for https; nil: the system's authorities
	ConnectTimeout time.Duration // TCP and TLS together; 0: only Request.FirstByte limits it
	IdleTimeout    time.Duration // idle connections are closed then; 0: none is kept
	MaxHeader      int           // bytes of an answer's head; 0: 32 KiB

	// Dial replaces the network, in tests. nil: TCP, IPv4 and IPv6.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client sends requests to one replica and keeps its idle connections. It is
// safe for concurrent use.
type Client struct {
	at        address
	tls       *tls.Config // nil: plain
	connect   time.Duration
	maxHeader int
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	idle      idleStack
}

// New checks the options; it doesn't connect.
func New(o Options) (*Client, error) {
	at, err := parseURL(o.URL)
	if err != nil {
		return nil, fmt.Errorf("replica URL %s: %w", redacted(o.URL), err)
	}
	c := &Client{at: at, connect: o.ConnectTimeout, maxHeader: o.MaxHeader, dial: o.Dial}
	c.idle.timeout = o.IdleTimeout
	if c.maxHeader == 0 {
		c.maxHeader = defaultMaxHeader
	}
	if c.dial == nil {
		c.dial = newDialer().DialContext
	}
	if at.secure {
		c.tls = tlsConfig(o.TLS, at.name)
	}
	return c, nil
}

// newDialer tries a name's IPv4 and IPv6 addresses side by side. A node that
// vanished is noticed after 30 s.
func newDialer() *net.Dialer {
	return &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}
}

// tlsConfig is the caller's, made to speak HTTP/1.1 with this host.
func tlsConfig(given *tls.Config, name string) *tls.Config {
	cfg := &tls.Config{}
	if given != nil {
		cfg = given.Clone()
	}
	if cfg.ServerName == "" {
		cfg.ServerName = name
	}
	if cfg.ClientSessionCache == nil {
		cfg.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	}
	cfg.NextProtos = nil
	return cfg
}

// CloseIdle closes the connections that no request uses. Those in use are
// closed IdleTimeout after their answer at the latest.
func (c *Client) CloseIdle() {
	for _, cn := range c.idle.takeAll() {
		cn.close()
	}
}

// Do sends the request and returns when the head of the answer is there. The
// error is an *Error. Each Answer must be closed; a Call serves one Do.
//
//  1. A request that would break HTTP is refused.
//  2. The youngest idle connection that is alive is used, else a new one.
//  3. If a reused one turns out dead (see stale), a new one is used.
func (c *Client) Do(call *Call, req *Request) (*Answer, error) {
	call.begin()
	if err := req.check(); err != nil {
		return nil, c.failed(call, nil, &Error{Phase: PhaseCheck, Kind: ErrUnsendable, Err: err})
	}
	if call.cancelled.Load() {
		return nil, c.failed(call, nil, &Error{Phase: PhaseCheck})
	}
	start := time.Now()
	cn := c.takeIdle(start)
	if cn != nil {
		err := c.attempt(call, cn, req)
		if err == nil {
			return &call.answer, nil
		}
		if !stale(call, cn, err, start) {
			return nil, c.failed(call, cn, err)
		}
		cn.close()
		call.answer.Resent = true
	}
	cn, err := c.open(call, req.FirstByte)
	if err == nil {
		err = c.attempt(call, cn, req)
	}
	if err != nil {
		return nil, c.failed(call, cn, err)
	}
	return &call.answer, nil
}

// stale tells whether the request met a connection that the replica had given
// up, so that it can't have run it: see the package's doc.
func stale(call *Call, cn *conn, err *Error, start time.Time) bool {
	return !cn.heard && err.Kind == ErrLost && !call.cancelled.Load() && time.Since(start) < staleWindow
}

// failed ends the call and its connection. Whatever a cancelled attempt died
// of, it is cancelled.
func (c *Client) failed(call *Call, cn *conn, err *Error) *Error {
	if cn != nil {
		cn.close()
		err.Reused = cn.reused
	}
	err.Address = c.at.url
	if call.detach() != nil {
		err.Kind, err.Err = ErrCancelled, nil
	}
	return err
}

// takeIdle returns a connection that is young and alive, nil if none is.
func (c *Client) takeIdle(now time.Time) *conn {
	for {
		cn := c.idle.take()
		if cn == nil || now.Sub(cn.idleSince) < c.idle.timeout && cn.alive() {
			return cn
		}
		cn.close()
	}
}

// open makes a new connection, by ConnectTimeout and deadline.
func (c *Client) open(call *Call, deadline time.Time) (*conn, *Error) {
	ctx, hangUp := c.connectBy(deadline)
	defer hangUp()
	call.connecting(hangUp)
	raw, err := c.dial(ctx, "tcp", c.at.dial)
	if err != nil {
		return nil, c.noConnection(ctx, err)
	}
	cn := &conn{raw: raw, rw: raw, peek: newPeeker(raw)}
	if c.tls == nil {
		return cn, nil
	}
	secure := tls.Client(raw, c.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, c.noConnection(ctx, fmt.Errorf("TLS handshake: %w", err))
	}
	cn.rw = secure
	return cn, nil
}

// connectBy is the limit on connecting: ConnectTimeout or deadline, the sooner.
func (c *Client) connectBy(deadline time.Time) (context.Context, context.CancelFunc) {
	if c.connect > 0 {
		if t := time.Now().Add(c.connect); deadline.IsZero() || t.Before(deadline) {
			deadline = t
		}
	}
	if deadline.IsZero() {
		return context.WithCancel(context.Background())
	}
	return context.WithDeadline(context.Background(), deadline)
}

// noConnection explains a failure to connect.
func (c *Client) noConnection(ctx context.Context, err error) *Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("not within %v (timeouts.connect) and before the first byte's deadline: %w", c.connect, err)
	}
	return &Error{Phase: PhaseConnect, Kind: ErrConnect, Err: err}
}
