package main

import (
	"fmt"
	"os"

	"sluice/config"
	"sluice/gateway"
	"sluice/router"
)

const checkHelp = `Usage: sluice check FILE

Judges a configuration as serve would read it, environment and limit on open files
included. Errors go to stderr, a line each, with exit code 3; warnings, of what is
legal but would hurt, go to stdout with exit code 0.
`

func check(p process, args []string) error {
	fs := flags("check")
	if err := parse(p, fs, checkHelp, args, "FILE"); err != nil {
		return err
	}
	file := fs.Arg(0)
	cfg, err := config.Load(file, os.Environ(), nil)
	if err != nil {
		return configError{err}
	}
	advice := append(router.Advise(cfg), gateway.Advise(cfg)...)
	for _, a := range advice {
		fmt.Fprintf(p.stdout, "%s: warning: %s\n", file, a)
	}
	fmt.Fprintf(p.stdout, "%s: good: %s, %s, %s\n", file,
		count(len(cfg.Pools), "pool"), count(len(cfg.Routes), "route"), count(len(advice), "warning"))
	return nil
}

// count is a number and its noun: "1 pool", "2 pools".
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
