package lab

import (
	"testing"
	"time"
)

// BenchmarkTenMinutes is ten simulated minutes of four replicas with the router, at
// capacity and at twice that. It must stay under a second.
func BenchmarkTenMinutes(b *testing.B) {
	all, err := Workloads()
	if err != nil {
		b.Fatal(err)
	}
	for _, load := range []struct {
		name string
		rate float64
	}{{"load1", 16.5}, {"load2", 33}} {
		b.Run(load.name, func(b *testing.B) {
			run := Run{Workload: all[0], Rate: load.rate, Lasts: 10 * time.Minute, Seed: 1}
			for b.Loop() {
				if _, err := run.Under(Ours); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
