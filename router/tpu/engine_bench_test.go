package tpu

import (
	"testing"
	"time"
)

// BenchmarkTenMinutes simulates ten minutes of one replica with 64 users.
func BenchmarkTenMinutes(b *testing.B) {
	for b.Loop() {
		w := newWorld(b, "gemma-3-27b", Options{})
		w.users(64, 500, 1000)
		w.run(10 * time.Minute)
		b.ReportMetric(float64(w.engine.Counters().Steps), "steps")
	}
}
