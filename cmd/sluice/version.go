package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"sluice/gateway/account"
)

const versionHelp = `Usage: sluice version

Prints this build's version, its revision, and the Go release and platform that it
was built for.
`

// release is set by the linker: -ldflags "-X main.release=v1.2.3".
var release = "dev"

func version(p process, args []string) error {
	if err := parse(p, flags("version"), versionHelp, args); err != nil {
		return err
	}
	b := build()
	fmt.Fprintf(p.stdout, "sluice %s %s %s %s/%s\n", b.Version, b.Revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

// build says which build this is, from the linker and from what Go recorded.
func build() account.Build {
	b := account.Build{Version: release, Revision: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}
