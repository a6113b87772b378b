package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"sluice/gateway/account"
)

// release is set by the linker: -ldflags "-X main.release=v1.2.3".
var release = "dev"

func version(p process, args []string) error {
	fs := flags(p, "version", "Usage: sluice version\n")
	if err := parse(fs, args, 0); err != nil {
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
