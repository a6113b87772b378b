package lab

import "testing"

// Batch work lowers the goodput of the others by 2 % at most where those come
// steadily, and by 10 % where they come in waves; and it gets done where they leave
// room.
func TestBatchUsesWhatIsIdle(t *testing.T) {
	f := func(name string, load, cost, done float64) {
		t.Helper()
		w := named(t, name)
		w.Yardstick = named(t, "balanced").Yardstick // which it is but for the batch work
		with, without := mean(t, w, load), mean(t, w.urgent(), load)
		lost, batch := 1-with.Normalised/without.Normalised, with.Classes["batch"]
		t.Logf("%s, load %.2f: %.4f with, %.4f without: %.1f %% lost; batch %.2f of %.2f a second", name, load, with.Normalised, without.Normalised, 100*lost, batch.Good, batch.Offered)
		if lost > cost {
			t.Errorf("%s, load %.2f: batch cost %.1f %% of the goodput", name, load, 100*lost)
		}
		if batch.Good < done*batch.Offered {
			t.Errorf("%s, load %.2f: %.2f of %.2f batch requests a second were served", name, load, batch.Good, batch.Offered)
		}
	}
	f("batch", 0.5, 0.02, 0.8)
	f("batch", 0.8, 0.02, 0)
	f("batch", 1, 0.02, 0)
	f("batch", 1.25, 0.02, 0)
	f("batch-bursts", 0.5, 0.10, 0.5)
	f("batch-bursts", 0.8, 0.10, 0)
	f("batch-bursts", 1, 0.10, 0)
	f("batch-bursts", 1.25, 0.10, 0)
}
