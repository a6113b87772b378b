package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/config"
	"sluice/gateway/account"
	"sluice/gateway/conn"
	"sluice/gateway/fleet"
	"sluice/gateway/openai"
	"sluice/router"
)

// Options are what a gateway is built from.
type Options struct {
	Config    *config.Config
	Load      func() (*config.Config, error) // reads the configuration again, for reloads; nil: they are refused
	Log       *slog.Logger                   // what operators should know
	AccessLog io.Writer                      // a JSON line for each request
	Level     *slog.LevelVar                 // of Log; follows log.level at reloads. nil: it can't
	Build     account.Build
	// Dial replaces the network to the replicas, in tests. nil: TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Gateway is the whole product behind its three listeners.
type Gateway struct {
	log      *slog.Logger
	level    *slog.LevelVar // of log
	load     func() (*config.Config, error)
	started  *config.Config // that the servers were built from
	reloads  sync.Mutex     // one reload at a time
	policies *policies
	shown    atomic.Pointer[credentials]
	gate     *Gate
	fleet    *fleet.Fleet
	account  *account.Account
	door     *door
	handler  *Handler

	announce sync.Once
	ready    chan struct{} // closed when every pool has had a ready replica
}

// New builds a gateway. It opens no connection and starts no goroutine that
// outlives an error; Serve does. The error is one of the configuration.
func New(o Options) (*Gateway, error) {
	ps := newPolicies()
	p, err := ps.build(o.Config)
	if err != nil {
		return nil, err
	}
	ps.current.Store(p)
	shown, err := readCredentials(o.Config.Listeners)
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		log: o.Log, level: o.Level, load: o.Load, started: o.Config, policies: ps,
		gate: NewGate(o.Config), door: newDoor(), ready: make(chan struct{}),
	}
	if g.level == nil {
		g.level = new(slog.LevelVar)
	}
	g.shown.Store(shown)
	g.fleet = fleet.New(fleet.Options{Publish: g.publish, Observe: g.observe, Logger: o.Log, Dial: o.Dial})
	g.account = account.New(g.accounting(o, p))
	g.account.Reloaded(time.Now(), nil) // the first load counts
	g.handler = &Handler{
		gate: g.gate, policies: ps, fleet: g.fleet, account: g.account,
		log: o.Log, bodies: &budget{}, answers: &budget{}, door: g.door,
	}
	if err := g.fleet.Apply(o.Config); err != nil {
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
	if o.Config.Log.Access {
		opts.AccessLog = o.AccessLog
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

// publish tells the router of the replicas, and whoever waits for Ready.
func (g *Gateway) publish(list []router.Replica) {
	g.gate.SetFleet(list)
	ready := make(map[string]bool)
	for _, r := range list {
		ready[r.Pool] = ready[r.Pool] || r.State == router.Ready
	}
	if !slices.Contains(slices.Collect(maps.Values(ready)), false) {
		g.announce.Do(func() { close(g.ready) })
	}
}

// Ready is closed when Serve has found a ready replica in every pool.
func (g *Gateway) Ready() <-chan struct{} { return g.ready }

// Serve runs the gateway on its listeners until ctx ends, or one of them breaks,
// then drains: see drain. hurry cuts the draining short. It closes the listeners.
// The error is that of a listener.
func (g *Gateway) Serve(ctx context.Context, ls *Listeners, hurry <-chan struct{}) error {
	cfg := g.started
	client, err := conn.NewListener(ls.Data, clientOptions(cfg, (&acceptErrors{account: g.account, log: g.log}).note))
	if err != nil {
		return errors.Join(err, ls.Close())
	}
	data := newServer(cfg, g.handler, g.log)
	ops := newSideServer(g.opsHandler(), g.log)
	control := newSideServer(g.controlHandler(), g.log)

	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	broken := make(chan error, 3)
	all.Go(func() { g.fleet.Run(running) })
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		g.account.Run(running)
	}()
	all.Go(func() {
		broken <- data.Serve(overTLS(client, func() *tls.Certificate { return g.shown.Load().data }))
	})
	all.Go(func() {
		broken <- ops.Serve(overTLS(ls.Ops, func() *tls.Certificate { return g.shown.Load().ops }))
	})
	all.Go(func() {
		broken <- control.Serve(overTLS(ls.Control, func() *tls.Certificate { return g.shown.Load().control }))
	})

	select {
	case err = <-broken: // nothing can be served there any more; what runs may finish
		err = fmt.Errorf("a listener broke: %w", err)
	case <-ctx.Done():
	}
	g.drain(hurry)
	shutDown(data)
	_ = client.Close() // for when the end came before fasthttp had begun to serve
	// The others last: the end can be scraped.
	shutDownSide(ops, control)
	stop()
	all.Wait()
	wait(nil, logged, goodbye) // an access log that is stuck must not keep the process
	g.gate.Close()
	return err
}

// newSideServer is for the listeners that machines and operators use. What
// net/http says of single connections is for debugging only.
func newSideServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// shutDown closes the data listener and idle connections. Requests have ended
// before; whoever still holds a connection open must not keep the process.
func shutDown(data *fasthttp.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_ = data.ShutdownWithContext(ctx) // late connections end with the process
}

// shutDownSide does the same for the others.
func shutDownSide(servers ...*http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	for _, s := range servers {
		if s.Shutdown(ctx) != nil {
			_ = s.Close() // likewise
		}
	}
}

// goodbye is how long connections have to be closed in good order.
const goodbye = 500 * time.Millisecond
