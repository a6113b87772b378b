package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"sluice/config"
	"sluice/gateway"
	"sluice/gateway/vllmsim"
)

const demoHelp = `Usage: sluice demo [flags]

Runs the gateway in front of two simulated 27B and two simulated 12B replicas, all
in this process, over real sockets, with no network and no TPU. How fast the
replicas answer is modelled, not measured.

Flags:
`

// demoPolicy is the demo's configuration; the replicas' addresses are filled in.
const demoPolicy = `
listeners:
  data: {address: %q}
  ops: {address: %q}
  control: {address: %q}
pools:
  gemma-27b:
    model: google/gemma-3-27b-it
    size: gemma-3-27b
    accelerator: v6e-2x2
    replicas: [%s]
    engine: {max_model_len: 32768, max_num_seqs: 64, max_num_batched_tokens: 8192, padding_gap: 128}
  gemma-12b:
    model: google/gemma-3-12b-it
    size: gemma-3-12b
    accelerator: v6e-2x2
    replicas: [%s]
    engine: {max_model_len: 32768, max_num_seqs: 128, max_num_batched_tokens: 8192, padding_gap: 128}
routes:
  gemma-3:
    prefill:
      pools: [{pool: gemma-27b}, {pool: gemma-12b}]
      queue: {max_waiting: 1024, max_wait: 30s}
    decode:
      pools: [{pool: gemma-12b}, {pool: gemma-27b}]
      queue: {max_waiting: 1024, max_wait: 30s}
timeouts: {drain_delay: 0s, drain: 10s}
log: {level: warn, access: false}
`

type demoFlags struct {
	lasts                time.Duration
	speed                float64
	listen, ops, control string
}

func demo(p process, args []string) error {
	var f demoFlags
	fs := flags("demo")
	fs.DurationVar(&f.lasts, "for", 0, "stop by itself after this `duration`; 0: run until SIGINT")
	fs.Float64Var(&f.speed, "speed", 1, "modelled seconds that pass in a real one")
	fs.StringVar(&f.listen, "listen", "127.0.0.1:8080", "`address` for applications")
	fs.StringVar(&f.ops, "ops", "127.0.0.1:8081", "`address` for metrics and probes")
	fs.StringVar(&f.control, "control", "127.0.0.1:8082", "`address` for operators")
	if err := parse(p, fs, demoHelp, args); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	ctx := p.ctx
	if f.lasts > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.lasts)
		defer cancel()
	}
	replicas, err := startSimulated(f.speed, slog.New(slog.NewTextHandler(p.stderr, nil)))
	if err != nil {
		return err
	}
	defer replicas.stop()
	return runDemo(ctx, p, f, replicas)
}

func (f *demoFlags) check() error {
	if f.lasts < 0 {
		return usageError{"demo", fmt.Sprintf("--for is %s, want 0 or more", f.lasts)}
	}
	if err := vllmsim.CheckSpeed(f.speed); err != nil {
		return usageError{"demo", err.Error()}
	}
	return nil
}

func runDemo(ctx context.Context, p process, f demoFlags, replicas *simulated) error {
	const origin = "the demo's configuration"
	cfg, err := config.Parse(origin, fmt.Appendf(nil, demoPolicy, f.listen, f.ops, f.control,
		strings.Join(replicas.of("gemma-3-27b"), ", "), strings.Join(replicas.of("gemma-3-12b"), ", ")))
	if err != nil {
		return configError{blameFlags(err, origin)}
	}
	log, level := logger(cfg, p.stderr)
	g, ls, err := open(gateway.Options{Config: cfg, Log: log, Level: level, Build: build()})
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w (--listen, --ops and --control choose other addresses)", err)
	}
	if err != nil {
		return err
	}
	var told sync.WaitGroup
	defer told.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	told.Go(func() {
		select {
		case <-g.Ready(): // what is printed works from then on
			printDemo(p.stdout, ls, replicas)
		case <-ctx.Done():
		}
	})
	return g.Serve(ctx, ls, p.hurry)
}

// simulated is the demo's replicas.
type simulated struct {
	servers   []*vllmsim.Server
	addresses map[string][]string // URLs by size
	running   sync.WaitGroup
}

func startSimulated(speed float64, log *slog.Logger) (*simulated, error) {
	s := &simulated{addresses: make(map[string][]string)}
	for _, o := range []vllmsim.Options{
		{Size: "gemma-3-27b", Model: "google/gemma-3-27b-it", MaxNumSeqs: 64},
		{Size: "gemma-3-27b", Model: "google/gemma-3-27b-it", MaxNumSeqs: 64},
		{Size: "gemma-3-12b", Model: "google/gemma-3-12b-it", MaxNumSeqs: 128},
		{Size: "gemma-3-12b", Model: "google/gemma-3-12b-it", MaxNumSeqs: 128},
	} {
		o.MaxModelLen, o.PaddingGap, o.Speed, o.Logger = 32768, 128, speed, log
		if err := s.start(o); err != nil {
			s.stop()
			return nil, err
		}
	}
	return s, nil
}

func (s *simulated) start(o vllmsim.Options) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for a simulated replica: %w", err)
	}
	server := vllmsim.New(o)
	s.servers = append(s.servers, server)
	s.addresses[o.Size] = append(s.addresses[o.Size], "http://"+ln.Addr().String())
	s.running.Go(func() { _ = server.Serve(ln) }) // ends with Shutdown
	return nil
}

func (s *simulated) of(size string) []string { return s.addresses[size] }

func (s *simulated) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var errs []error
	for _, server := range s.servers {
		errs = append(errs, server.Shutdown(ctx))
	}
	_ = errors.Join(errs...) // the process is ending: what is left ends with it
	s.running.Wait()
}

func printDemo(w io.Writer, ls *gateway.Listeners, replicas *simulated) {
	data := ls.Data.Addr()
	fmt.Fprintf(w, `Sluice is running in front of four simulated replicas (times are modelled, not measured).

  applications  http://%s/v1        (model: gemma-3)
  metrics       http://%s/metrics
  operators     http://%s/api/state
  27B replicas  %s
  12B replicas  %s

A classification, which goes to the 27B pool:

  curl -i http://%s/v1/chat/completions -H 'Content-Type: application/json' -d '{"model": "gemma-3", "max_tokens": 4, "messages": [{"role": "user", "content": "Is this review positive or negative? The lamp broke after two days."}]}'

A generation, which goes to the 12B pool and arrives token by token:

  curl -iN http://%s/v1/chat/completions -H 'Content-Type: application/json' -d '{"model": "gemma-3", "max_tokens": 60, "stream": true, "messages": [{"role": "user", "content": "Tell me a story about a lock keeper."}]}'

Ctrl-C stops it.
`, data, ls.Ops.Addr(), ls.Control.Addr(),
		strings.Join(replicas.of("gemma-3-27b"), " "), strings.Join(replicas.of("gemma-3-12b"), " "), data, data)
}
