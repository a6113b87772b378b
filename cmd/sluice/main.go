// Command sluice is a TPU-aware serving gateway: one OpenAI-compatible endpoint
// in front of pools of vLLM replicas.
//
// A file holds a subcommand. What they have in common is here: main parses, run
// picks the command, exitCode turns its error into the exit code that --help
// documents.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
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
  sluice explain --config FILE  tell how a request would be decided, and why
  sluice lab                    compare routing policies in modelled hours, in seconds
  sluice tune --config FILE     propose caps and engine settings from the traffic seen
  sluice sim                    run one simulated replica, with faults on demand
  sluice version                say which build this is

"sluice COMMAND --help" tells more about a command.

Exit codes: 0 good (for serve: it was told to stop, and has stopped)
            1 failed, such as a port that is taken
            2 wrong command line
            3 wrong configuration
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
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

func run(args []string, stdout, stderr io.Writer) int {
	name, args := "", args
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if name == "help" && len(args) > 0 { // sluice help serve
		name, args = args[0], []string{"--help"}
	}
	switch name {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage)
		return exitOK
	case "-version", "--version":
		name = "version"
	}
	commands := map[string]command{"serve": serve, "demo": demo, "check": check, "explain": explain, "sim": sim, "lab": runLab, "tune": runTune, "version": version}
	cmd, known := commands[name]
	if !known {
		return exitCode(noCommand(name), stderr)
	}
	ctx, hurry, stop := signals()
	defer stop()
	return exitCode(cmd(process{ctx, hurry, os.Stdin, stdout, stderr}, args), stderr)
}

func noCommand(name string) error {
	what := fmt.Sprintf("there is no command %q", name)
	if name == "" {
		what = "a command is missing"
	}
	return usageError{"", what + "; choose serve, demo, check, explain, sim, lab, tune or version"}
}

// signals returns a context that ends with the first SIGINT or SIGTERM, and a
// channel that is closed by the second. A third ends the process as it is.
func signals() (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan os.Signal, 2)
	hurry := make(chan struct{})
	signal.Notify(got, syscall.SIGINT, syscall.SIGTERM)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for _, act := range []func(){cancel, func() { close(hurry); signal.Stop(got) }} {
			select {
			case <-got:
				act()
			case <-over:
				return
			}
		}
	}()
	return ctx, hurry, func() {
		signal.Stop(got)
		close(over)
		<-done
		cancel()
	}
}

// usageError is a command line that makes no sense.
type usageError struct {
	command string // "" : of sluice itself
	text    string
}

func (e usageError) Error() string {
	return fmt.Sprintf("%s; see \"%s --help\"", e.text, strings.TrimSpace("sluice "+e.command))
}

// configError is a configuration that is wrong; its text has a line for each problem.
type configError struct{ err error }

func (e configError) Error() string { return e.err.Error() }

// errHelped says that the user asked for help and got it.
var errHelped = errors.New("help was asked for")

func exitCode(err error, stderr io.Writer) int {
	switch {
	case err == nil, err == errHelped:
		return exitOK
	case errors.As(err, new(usageError)):
		fmt.Fprintf(stderr, "sluice: %v\n", err)
		return exitUsage
	case errors.As(err, new(configError)):
		fmt.Fprintln(stderr, err)
		return exitConfig
	}
	fmt.Fprintf(stderr, "sluice: %v\n", err)
	return exitFailed
}

// parse parses a command's flags and the operands that it names, such as "FILE".
// Help goes to stdout, since it was asked for.
func parse(p process, fs *flag.FlagSet, help string, args []string, operands ...string) error {
	fs.SetOutput(io.Discard) // what is wrong is told once, in one line
	fs.Usage = func() {}
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(p.stdout, help)
		fs.SetOutput(p.stdout)
		fs.PrintDefaults()
		return errHelped
	}
	if err != nil {
		return usageError{fs.Name(), err.Error()}
	}
	if n := fs.NArg(); n > len(operands) {
		return usageError{fs.Name(), fmt.Sprintf("%q is one argument too many", fs.Arg(len(operands)))}
	} else if n < len(operands) {
		return usageError{fs.Name(), operands[n] + " is missing"}
	}
	return nil
}

// flags is a command's flag set. It tells nothing itself: see parse.
func flags(name string) *flag.FlagSet { return flag.NewFlagSet(name, flag.ContinueOnError) }
