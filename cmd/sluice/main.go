// Command sluice is a TPU-aware serving gateway: one OpenAI-compatible endpoint
// in front of pools of vLLM replicas.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes. They are part of the command's interface.
const (
	exitOK     = 0
	exitFailed = 1 // it was tried and did not work
	exitUsage  = 2 // the command line makes no sense
	exitConfig = 3 // the configuration is wrong
)

const usage = `sluice is one OpenAI-compatible endpoint in front of pools of vLLM replicas on TPU.

Usage:

  sluice serve --config FILE    run the gateway
  sluice demo                   run it with four simulated replicas, for trying out
  sluice check FILE             judge a configuration: errors, and what replicas would punish
  sluice version                say which build this is

"sluice COMMAND --help" tells more about a command.
Exit codes: 0 good, 1 failed, 2 wrong usage, 3 wrong configuration.
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// command is one of the subcommands. Its error decides the exit code.
type command func(p process, args []string) error

// process is what a command may use of the process around it.
type process struct {
	ctx    context.Context // ends with the first SIGINT or SIGTERM
	hurry  <-chan struct{} // closed by the second
	stdout io.Writer
	stderr io.Writer
}

func run(args []string, stdout, stderr io.Writer) int {
	commands := map[string]command{"serve": serve, "demo": demo, "check": check, "version": version}
	if len(args) == 0 || isHelp(args[0]) {
		fmt.Fprint(stdout, usage)
		return exitOK
	}
	cmd, known := commands[args[0]]
	if !known {
		fmt.Fprintf(stderr, "sluice: there is no command %q\n\n%s", args[0], usage)
		return exitUsage
	}
	ctx, hurry, stop := signals()
	defer stop()
	return exitCode(cmd(process{ctx, hurry, stdout, stderr}, args[1:]), stderr)
}

func isHelp(arg string) bool {
	return arg == "help" || arg == "-h" || arg == "--help" || arg == "-help"
}

// signals returns a context that ends with the first SIGINT or SIGTERM, and a
// channel that is closed by the second.
func signals() (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan os.Signal, 2)
	hurry := make(chan struct{})
	signal.Notify(got, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, ok := <-got; !ok {
			return
		}
		cancel()
		if _, ok := <-got; ok {
			close(hurry)
		}
	}()
	return ctx, hurry, func() {
		signal.Stop(got)
		close(got)
		<-done
		cancel()
	}
}

// usageError is a command line that makes no sense, told already by package
// flag or to be told by its text.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// configError is a configuration that is wrong; its text has a line for each problem.
type configError struct{ err error }

func (e configError) Error() string { return e.err.Error() }

func exitCode(err error, stderr io.Writer) int {
	var wrong usageError
	var config configError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &wrong):
		if wrong.text != "" {
			fmt.Fprintf(stderr, "sluice: %s\n", wrong.text)
		}
		return exitUsage
	case errors.As(err, &config):
		fmt.Fprintln(stderr, config)
		return exitConfig
	}
	fmt.Fprintf(stderr, "sluice: %v\n", err)
	return exitFailed
}

// flags is a flag set that tells its own errors and help on stderr.
func flags(p process, name, help string) *flag.FlagSet {
	fs := flag.NewFlagSet("sluice "+name, flag.ContinueOnError)
	fs.SetOutput(p.stderr)
	fs.Usage = func() {
		fmt.Fprint(p.stderr, help)
		fs.PrintDefaults()
	}
	return fs
}

// parse parses a command's flags; what is wrong has been told by the flag set.
func parse(fs *flag.FlagSet, args []string, operands int) error {
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{}
	}
	if fs.NArg() != operands {
		fs.Usage()
		return usageError{fmt.Sprintf("want %d operands, got %d: %q", operands, fs.NArg(), fs.Args())}
	}
	return nil
}
