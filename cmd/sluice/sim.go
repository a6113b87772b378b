package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"sluice/gateway/vllmsim"
)

const simHelp = `Usage: sluice sim [flags]

Runs one simulated vLLM replica on TPU: vLLM's HTTP surface, with answers that mean
nothing and times that are modelled, not measured. Flags that vLLM has too have its
names. VLLM_TPU_BUCKET_PADDING_GAP, VLLM_API_KEY, VLLM_HTTP_TIMEOUT_KEEP_ALIVE and
SKIP_JAX_PRECOMPILE mean what they mean to vLLM.

Faults are injected by --fault, by POST /sim/faults (a line each; GET lists, DELETE
heals) or for one request by its header X-Sim-Fault. A fault is KIND or
KIND:NAME=VALUE,... with after (tokens that come first), times and share (of the
requests), status (of busy), factor (of slow); for example reset:after=20,share=0.1.

`

// simFlags is the command line of sim.
type simFlags struct {
	options  vllmsim.Options
	host     string
	port     int
	chips    int
	shutdown int // seconds
	restart  bool
	faults   []vllmsim.Fault
}

func sim(p process, args []string) error {
	var f simFlags
	fs := flags("sim")
	f.define(fs)
	if err := parse(p, fs, simHelp+"Faults:\n"+vllmsim.FaultHelp()+"\nFlags:\n", args); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return usageError{"sim", err.Error()}
	}
	f.options.Logger = slog.New(slog.NewTextHandler(p.stderr, nil))
	for {
		err := f.run(p)
		if !errors.Is(err, vllmsim.ErrCrashed) || !f.restart || p.ctx.Err() != nil {
			return err
		}
		fmt.Fprintf(p.stderr, "sluice: %v; starting again\n", err)
		select {
		case <-p.ctx.Done():
			return nil
		case <-time.After(restartDelay):
		}
	}
}

// restartDelay is between a crash and the next life, as it is where something
// looks after a process; also so that one that always crashes doesn't spin.
const restartDelay = time.Second

// check judges what the flags say together and reads vLLM's environment.
func (f *simFlags) check() error {
	if f.shutdown < 0 {
		return fmt.Errorf("--shutdown-timeout is %d, want 0 or more seconds", f.shutdown)
	}
	if err := vllmsim.CheckSpeed(f.options.Speed); err != nil {
		return err
	}
	if err := f.environment(); err != nil {
		return err
	}
	if err := f.options.Check(); err != nil {
		return err
	}
	if chips := f.options.Chips(); f.chips != 0 && f.chips != chips {
		return fmt.Errorf("--tensor-parallel-size is %d, but %s has %d chips", f.chips, f.options.Accelerator, chips)
	}
	return nil
}

// coldStall is how long the first step of each size takes longer without
// precompiled programs. Prior: "minutes" is all that is published.
const coldStall = 2 * time.Minute

// environment reads the variables that vLLM reads.
func (f *simFlags) environment() error {
	number := func(name string, to *int) error {
		text := os.Getenv(name)
		if text == "" {
			return nil
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return fmt.Errorf("%s is %q, want a whole number, 0 or more", name, text)
		}
		*to = n
		return nil
	}
	var keepAlive, skip int
	if f.options.APIKey == "" {
		f.options.APIKey = os.Getenv("VLLM_API_KEY")
	}
	err := errors.Join(number("VLLM_TPU_BUCKET_PADDING_GAP", &f.options.PaddingGap),
		number("VLLM_HTTP_TIMEOUT_KEEP_ALIVE", &keepAlive), number("SKIP_JAX_PRECOMPILE", &skip))
	f.options.KeepAlive = time.Duration(keepAlive) * time.Second
	if skip > 0 && f.options.CompileStall == 0 {
		f.options.CompileStall = coldStall
	}
	return err
}

// run is one life of the replica.
func (f *simFlags) run(p process) error {
	ln, err := net.Listen("tcp", net.JoinHostPort(f.host, strconv.Itoa(f.port)))
	if err != nil {
		return fmt.Errorf("listen for a simulated replica (--host, --port): %w", err)
	}
	f.port = ln.Addr().(*net.TCPAddr).Port // the same in its next life
	server := vllmsim.New(f.options)
	for _, fault := range f.faults {
		if err := server.Inject(fault); err != nil {
			ln.Close()
			return usageError{"sim", err.Error()}
		}
	}
	fmt.Fprintf(p.stdout, "A simulated replica of %s at http://%s; its times are modelled, not measured.\n", f.options.Size, ln.Addr())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	select {
	case err = <-ended:
	case <-p.ctx.Done():
	}
	return errors.Join(err, f.stop(server, p.hurry))
}

// stop lets requests under way finish for as long as --shutdown-timeout says, or
// until the user is in a hurry.
func (f *simFlags) stop(server *vllmsim.Server, hurry <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(f.shutdown)*time.Second)
	defer cancel()
	go func() {
		select {
		case <-hurry:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := server.Shutdown(ctx); err != nil {
		f.options.Logger.Info("stopped", "error", err) // as asked for: no failure of the command
	}
	return nil
}
