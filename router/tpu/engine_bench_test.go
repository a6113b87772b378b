package tpu

import (
	"testing"
	"time"
)

// tenMinutes simulates ten minutes of one replica with 64 users.
func tenMinutes(t testing.TB) *Engine {
	w := newWorld(t, "gemma-3-27b", Options{})
	w.users(64, 500, 1000)
	w.run(10 * time.Minute)
	return w.engine
}

func BenchmarkTenMinutes(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(tenMinutes(b).Counters().Steps), "steps")
	}
}

// A step that only decodes allocates nothing: simulated hours are cheap.
func TestDecodingAllocatesNothing(t *testing.T) {
	w := newWorld(t, "gemma-3-27b", Options{})
	w.users(64, 500, 1000)
	w.run(10 * time.Second)
	if got := testing.AllocsPerRun(100, func() { w.step() }); got > 0 {
		t.Errorf("%v allocations in a step", got)
	}
}
