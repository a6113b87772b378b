package main

import (
	"os"
	"runtime/debug"

	"sluice/config"
)

// collectRarely lets garbage gather while the heap is small. Go collects whenever
// the heap has doubled, and a gateway's is so small that this is several times a
// second, for nothing. Near the memory that the configuration allows for bodies
// Go's own pace returns. GOGC and GOMEMLIMIT, where set, rule instead.
func collectRarely(cfg *config.Config) {
	const (
		percent = 400              // growth before a collection
		besides = 512 * config.MiB // for all that isn't bodies
	)
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(int64(cfg.Limits.HeldBodies + cfg.Limits.HeldAnswers + besides))
}
