package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/config"
	"sluice/gateway/account"
	"sluice/gateway/conn"
	"sluice/gateway/fleet"
	"sluice/gateway/openai"
)

// Options are what a gateway is built from.
type Options struct {
	Config    *config.Config
	Load      func() (*config.Config, error) // reads the configuration again, for reloads; nil: they are refused
	Log       *slog.Logger                   // what operators should know
	AccessLog io.Writer                      // a JSON line for each request
	Build     account.Build
}

// Gateway is the whole product behind its three listeners.
type Gateway struct {
	log      *slog.Logger
	load     func() (*config.Config, error)
	reloads  sync.Mutex // one reload at a time
	policies *policies
	gate     *Gate
	fleet    *fleet.Fleet
	account  *account.Account
	door     *door
	leaving  atomic.Bool // SIGTERM has come: not ready any more
	cutOff   context.CancelCauseFunc
	handler  *Handler
	certs    certificates
}

// New builds a gateway. It opens no connection and starts no goroutine that
// outlives an error; Serve does.
func New(o Options) (*Gateway, error) {
	ps := newPolicies()
	p, err := ps.build(o.Config)
	if err != nil {
		return nil, err
	}
	ps.current.Store(p)
	base, cutOff := context.WithCancelCause(context.Background())
	g := &Gateway{log: o.Log, load: o.Load, policies: ps, gate: NewGate(o.Config), door: newDoor(), cutOff: cutOff}
	g.fleet = fleet.New(fleet.Options{Publish: g.gate.SetFleet, Observe: g.gate.Observe, Logger: o.Log})
	g.account = account.New(g.accounting(o, p))
	g.account.Reloaded(time.Now(), nil) // the first load counts
	g.handler = &Handler{
		gate: g.gate, policies: ps, fleet: g.fleet, account: g.account,
		log: o.Log, bodies: &budget{}, base: base, door: g.door,
	}
	if err := errors.Join(g.certs.load(o.Config), g.fleet.Apply(o.Config)); err != nil {
		g.gate.Close()
		return nil, err
	}
	return g, nil
}

func (g *Gateway) accounting(o Options, p *policy) account.Options {
	routes, pools := p.names()
	opts := account.Options{
		Endpoints: endpointNames(), Routes: routes, Pools: pools,
		Build: o.Build, State: g.gate.State, Breakers: g.fleet.Breakers, Checks: g.fleet.Checks,
	}
	if o.Config.Log.Access && o.AccessLog != nil {
		opts.Logger = slog.New(slog.NewJSONHandler(o.AccessLog, nil))
	}
	return opts
}

// endpointNames are the values of the label endpoint: a closed list.
func endpointNames() []string {
	var names []string
	for e := openai.Chat; e <= openai.Extra; e++ {
		names = append(names, e.String())
	}
	return names
}

// Serve runs the gateway on its listeners until ctx ends, then drains: see
// drain. hurry cuts the draining short. It closes the listeners.
func (g *Gateway) Serve(ctx context.Context, ls *Listeners, hurry <-chan struct{}) error {
	cfg := g.policies.get().cfg
	token, err := cfg.Listeners.Control.Token.Read()
	if err != nil {
		return fmt.Errorf("listeners.control.token: %w", err)
	}
	client, err := conn.NewListener(ls.Data, conn.Options{WriteStall: cfg.Timeouts.WriteStall, OnAcceptError: g.acceptError})
	if err != nil {
		return fmt.Errorf("watch the data listener: %w", err)
	}
	data := newServer(cfg, g.handler, g.log)
	ops := newSideServer(g.opsHandler())
	control := newSideServer(g.controlHandler(token))

	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	failed := make(chan error, 3)
	all.Go(func() { g.fleet.Run(running) })
	all.Go(func() { failed <- data.Serve(overTLS(client, g.certs.data.Load)) })
	all.Go(func() { failed <- ops.Serve(overTLS(ls.Ops, g.certs.ops.Load)) })
	all.Go(func() { failed <- control.Serve(overTLS(ls.Control, g.certs.control.Load)) })

	select {
	case err = <-failed: // a listener broke: nothing can be served there any more
	case <-ctx.Done():
		g.leaving.Store(true)
		g.drain(hurry)
	}
	shutDown(data, ops, control)
	stop()
	all.Wait()
	g.gate.Close()
	return err
}

// newSideServer is for the listeners that machines and operators use.
func newSideServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10}
}

// shutDown closes listeners and idle connections. Requests have ended before;
// whoever still holds a connection open must not keep the process.
func shutDown(data *fasthttp.Server, side ...*http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { _ = data.ShutdownWithContext(ctx) }) // late connections end with the process
	for _, s := range side {
		all.Go(func() {
			if s.Shutdown(ctx) != nil {
				_ = s.Close() // likewise
			}
		})
	}
	all.Wait()
}

func (g *Gateway) acceptError(err error) {
	g.account.AcceptFailed(err)
	g.log.Warn("accepting connections fails; raise the limit on open files?", "error", err)
}

// certificates are the listeners' own, read again at each reload. nil: no TLS.
type certificates struct {
	data, ops, control atomic.Pointer[tls.Certificate]
}

// load reads all of them, and puts them in force only if all are good.
func (c *certificates) load(cfg *config.Config) error {
	l := cfg.Listeners
	var fresh [3]*tls.Certificate
	var errs []error
	for i, t := range []config.TLS{l.Data.TLS, l.Ops.TLS, l.Control.TLS} {
		if t.Cert == "" {
			continue
		}
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			errs = append(errs, fmt.Errorf("certificate %q with key %q: %w", t.Cert, t.Key, err))
			continue
		}
		fresh[i] = &pair
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	c.data.Store(fresh[0])
	c.ops.Store(fresh[1])
	c.control.Store(fresh[2])
	return nil
}
