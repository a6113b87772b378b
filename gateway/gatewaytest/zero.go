package gatewaytest

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// Gauge is a number that must be back to its baseline when all work is done.
type Gauge struct {
	Name  string
	Read  func() int
	Slack int // how far off the baseline is still all right
}

// Goroutines counts the process's goroutines.
func Goroutines() Gauge { return Gauge{"goroutines", runtime.NumGoroutine, 5} }

// Descriptors counts the process's open file descriptors (0 where /proc is absent).
func Descriptors() Gauge {
	return Gauge{"descriptors", func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0
		}
		return len(entries)
	}, 5}
}

// ZeroCheck takes the gauges' baseline now. The check it returns waits up to
// 3 s until each gauge is back to it, and reports those that aren't.
func ZeroCheck(t testing.TB, gauges ...Gauge) (check func()) {
	base := make([]int, len(gauges))
	for i, g := range gauges {
		base[i] = g.Read()
	}
	return func() {
		t.Helper()
		for i, g := range gauges {
			if got := settle(g, base[i]); got-base[i] > g.Slack || base[i]-got > g.Slack {
				t.Errorf("%s: %d, want %d ± %d as before", g.Name, got, base[i], g.Slack)
			}
		}
	}
}

// settle reads a gauge until it is at its baseline, for at most 3 s.
func settle(g Gauge, base int) int {
	limit := time.NewTimer(3 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		got := g.Read()
		if got-base <= g.Slack && base-got <= g.Slack {
			return got
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return got
		}
	}
}
