package lab

import "testing"

// mean is how our policy does at a load: the mean of its runs.
func mean(t *testing.T, w *Workload, load float64) Score {
	t.Helper()
	var all []Score
	for _, r := range w.Runs(load) {
		s, err := r.Under(Ours)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return meanScore(all)
}

// under makes a run of our policy under a fault, if any.
func under(t *testing.T, r Run, f fault) *world {
	t.Helper()
	w, err := r.play(func(w *world) policy {
		if f != nil {
			f(w)
		}
		return newOurs(w, r.Workload)
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// named is a committed workload.
func named(t *testing.T, name string) *Workload {
	t.Helper()
	all, err := Workloads()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if w.Name == name {
			return w
		}
	}
	t.Fatalf("no workload is called %s", name)
	return nil
}
