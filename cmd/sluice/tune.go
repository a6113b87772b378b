package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sluice/config"
	"sluice/router/tune"
)

const tuneHelp = `Usage: sluice tune --config FILE [flags]

Proposes caps, the padding gap, --max-num-seqs and --max-num-batched-tokens for each
pool, each with its reason, from the traffic that the replicas have seen; and the
change of the configuration as a diff. It changes nothing itself. Effects are
modelled, not measured: see "Tuning" in docs/operations.md.

Without --replica-metrics it asks every replica of the configuration. A SOURCE is a
file, or a URL such as http://127.0.0.1:8081/metrics.

Flags:
`

// tuneFlags is the command line of tune.
type tuneFlags struct {
	file     string
	gateway  string
	replicas []string
	workload string
	gateways int
	format   string
}

func (f *tuneFlags) define(fs *flag.FlagSet) {
	fs.StringVar(&f.file, "config", "", "configuration `file` (required)")
	fs.StringVar(&f.gateway, "metrics", "", "`source` of the gateway's metrics (its ops listener): sizes by class, and who waits")
	fs.Func("replica-metrics", "`[POOL=]source` of a replica's metrics; may be given several times", func(s string) error {
		f.replicas = append(f.replicas, s)
		return nil
	})
	fs.StringVar(&f.workload, "workload", "", "tune for a `workload` of the laboratory, by name or file, instead of for traffic seen")
	fs.IntVar(&f.gateways, "gateways", 1, "gateways that share the replicas, each with this file's caps")
	fs.StringVar(&f.format, "format", "text", "text, diff or json")
}

func (f *tuneFlags) check() error {
	switch {
	case f.file == "":
		return usageError{"tune", "--config FILE is missing"}
	case f.gateways < 1:
		return usageError{"tune", fmt.Sprintf("--gateways is %d, want 1 or more", f.gateways)}
	case !slices.Contains([]string{"text", "diff", "json"}, f.format):
		return usageError{"tune", fmt.Sprintf("--format is %q, want text, diff or json", f.format)}
	case f.workload != "" && (f.gateway != "" || len(f.replicas) > 0):
		return usageError{"tune", "--workload takes the place of --metrics and --replica-metrics: give either"}
	}
	return nil
}

func runTune(p process, args []string) error {
	var f tuneFlags
	fs := flags("tune")
	f.define(fs)
	if err := parse(p, fs, tuneHelp, args); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	cfg, err := config.Load(f.file, os.Environ(), nil)
	if err != nil {
		return configError{err}
	}
	traffic, err := f.traffic(p, cfg)
	if err != nil {
		return err
	}
	advice := tuned{Pools: []tune.Report{}, Restart: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(cfg.Pools)) {
		advice.Pools = append(advice.Pools, tune.Pool(cfg, name, traffic[name], f.gateways))
	}
	if err := advice.change(f.file); err != nil {
		return err
	}
	return advice.print(p.stdout, f.format)
}

// tuned is what is proposed for all pools.
type tuned struct {
	Pools   []tune.Report       `json:"pools"`
	Diff    string              `json:"diff"`              // of the configuration
	Restart map[string][]string `json:"restart"`           // by pool, what its replicas must be started with
	ByHand  []string            `json:"by_hand,omitempty"` // what the diff hasn't got, and why
}

// change makes the diff of the operator's file.
func (t *tuned) change(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the configuration again: %w", err)
	}
	edited := tune.NewFile(file, content)
	for _, rep := range t.Pools {
		for _, p := range rep.Proposals {
			if !p.Changes() {
				continue
			}
			if p.Flag != "" {
				t.Restart[p.Pool] = append(t.Restart[p.Pool], p.Flag)
			}
			path := append([]string{"pools", p.Pool}, strings.Split(p.Setting, ".")...)
			if err := edited.Set(path, p.From, p.To); err != nil {
				t.ByHand = append(t.ByHand, fmt.Sprintf("%s: %d: %v", p.Path(), p.To, err))
			}
		}
	}
	if _, err := config.Parse(file, edited.Content()); err != nil && len(t.ByHand) == 0 {
		return fmt.Errorf("BUG: the changed configuration would be wrong: %w", err)
	}
	t.Diff = edited.Diff()
	return nil
}
