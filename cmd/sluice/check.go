package main

import (
	"fmt"
	"os"

	"sluice/config"
	"sluice/router"
)

const checkHelp = `Usage: sluice check FILE

Judges a configuration as serve would read it, environment included. Errors go to
stderr, a line each, with exit code 3; warnings, of what is legal but would hurt,
go to stdout with exit code 0.
`

func check(p process, args []string) error {
	fs := flags(p, "check", checkHelp)
	if err := parse(fs, args, 1); err != nil {
		return err
	}
	cfg, err := config.Load(fs.Arg(0), os.Environ(), nil)
	if err != nil {
		return configError{err}
	}
	advice := router.Advise(cfg)
	for _, a := range advice {
		fmt.Fprintf(p.stdout, "warning: %s\n", a)
	}
	fmt.Fprintf(p.stdout, "%s: good, %d pools, %d routes, %d warnings\n", fs.Arg(0), len(cfg.Pools), len(cfg.Routes), len(advice))
	return nil
}
