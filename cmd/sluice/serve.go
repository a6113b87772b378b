package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"sluice/config"
	"sluice/gateway"
	"sluice/router"
)

const serveHelp = `Usage: sluice serve --config FILE [flags]

Runs the gateway until SIGTERM or SIGINT, then lets requests finish (a second
signal cuts that short, a third ends the process at once). SIGHUP, a change of the
file or of a certificate or key that it names, or POST /-/reload on the control
listener reload it.

The configuration is layered: defaults, then FILE, then environment variables
(SLUICE_LIMITS__BODY=64MiB), then flags. Messages for operators go to stderr; the
access log, a JSON line for each request, to stdout.

Flags:
`

// watchEvery is how often the file is looked at. Looking at its content finds
// every way of changing it, a Kubernetes ConfigMap's among them.
const watchEvery = time.Second

func serve(p process, args []string) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // first: one that comes while we start must not end us
	defer signal.Stop(hangup)
	signal.Ignore(syscall.SIGPIPE) // what reads the logs may go away: that must cut no stream
	fs := flags("serve")
	file := fs.String("config", "", "the configuration `file` (needed)")
	overrides := overridesOf(fs)
	if err := parse(p, fs, serveHelp, args); err != nil {
		return err
	}
	if *file == "" {
		return usageError{"serve", "--config FILE is missing"}
	}
	watcher := config.NewWatcher(*file) // before the file is read: no change can slip between
	load := func() (*config.Config, error) {
		cfg, err := config.Load(*file, os.Environ(), overrides())
		if err != nil {
			return nil, blameFlags(err, "")
		}
		watcher.Follow(cfg.Files())
		return cfg, nil
	}
	cfg, err := load()
	if err != nil {
		return configError{err}
	}
	collectRarely(cfg)
	log, level := logger(cfg, p.stderr)
	for _, warning := range append(router.Advise(cfg), gateway.Advise(cfg)...) {
		log.Warn("configuration", "warning", warning)
	}
	g, ls, err := open(gateway.Options{Config: cfg, Load: load, Log: log, Level: level, AccessLog: p.stdout, Build: build()})
	if err != nil {
		return err
	}
	log.Info("serving", "data", ls.Data.Addr().String(), "ops", ls.Ops.Addr().String(), "control", ls.Control.Addr().String())
	stop := reloading(p.ctx, g, watcher, hangup)
	defer stop()
	return g.Serve(p.ctx, ls, p.hurry)
}

// open builds a gateway and opens its listeners.
func open(o gateway.Options) (*gateway.Gateway, *gateway.Listeners, error) {
	g, err := gateway.New(o)
	if err != nil {
		return nil, nil, configError{err}
	}
	ls, err := gateway.Listen(o.Config.Listeners)
	if err != nil {
		return nil, nil, err
	}
	return g, ls, nil
}

// settings are the flags that stand for settings of the file, by their paths.
var settings = map[string]string{
	"listeners.data.address":    "listen",
	"listeners.ops.address":     "ops",
	"listeners.control.address": "control",
	"log.level":                 "log-level",
}

// overridesOf adds these flags, and gives the settings that they were given for.
func overridesOf(fs *flag.FlagSet) func() map[string]any {
	fs.String("listen", "", "`address` for applications, over the file's")
	fs.String("ops", "", "`address` for metrics and probes, over the file's")
	fs.String("control", "", "`address` for operators, over the file's")
	fs.String("log-level", "", "`level` of the log: debug, info, warn or error, over the file's")
	return func() map[string]any {
		given := make(map[string]any)
		for path, name := range settings {
			if value := fs.Lookup(name).Value.String(); value != "" {
				given[path] = value
			}
		}
		return given
	}
}

// blameFlags names the flag where a problem lies in a flag's value. origin is
// where the problem was found if not in a flag: a file that was made of flags.
func blameFlags(err error, origin string) error {
	var problems config.Problems
	if !errors.As(err, &problems) {
		return err
	}
	problems = slices.Clone(problems)
	for i, p := range problems {
		name, ok := settings[p.Path]
		if ok && (p.File == "flag --"+p.Path || p.File == origin) {
			problems[i].File, problems[i].Line = "flag --"+name, 0
		}
	}
	return problems
}

// logger is the operators' log and its level, which a reload may change.
func logger(cfg *config.Config, w io.Writer) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		panic("BUG: a validated configuration has a bad log level: " + err.Error())
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})), level
}

// reloading reloads on SIGHUP and on a change of a file, until ctx ends; stop
// waits for that.
func reloading(ctx context.Context, g *gateway.Gateway, w *config.Watcher, hangup <-chan os.Signal) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	reload := func() { _, _ = g.Reload() } // it logs what it finds; the old configuration stays if need be
	var all sync.WaitGroup
	all.Go(func() { w.Run(ctx, watchEvery, reload) })
	all.Go(func() {
		for {
			select {
			case <-hangup:
				reload()
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}
