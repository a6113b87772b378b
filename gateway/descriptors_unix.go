//go:build unix

package gateway

import (
	"math"
	"syscall"
)

// fileLimit is how many files this process may open. Go has raised the soft limit
// to the hard one when the process began.
func fileLimit() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt64 // not known: then nothing is kept
	}
	return min(uint64(limit.Cur), math.MaxInt64)
}
