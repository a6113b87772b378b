package tpu

import (
	"testing"
	"time"
)

// world is an engine in virtual time and the events it tells.
type world struct {
	t      testing.TB
	engine *Engine
	now    time.Duration
	events []Event
	loop   func(*Sequence) // a closed loop's next request, when one has finished
	again  []*Sequence     // finished in the last step
}

// newWorld is a replica on v6e 2x2 with the benchmark's flags, where o has no
// setup.
func newWorld(t testing.TB, model string, o Options) *world {
	t.Helper()
	if o.Setup == (Setup{}) {
		o.Setup = setup(t, model)
	}
	w := &world{t: t}
	o.Observe = w.observe
	engine, err := NewEngine(o)
	if err != nil {
		t.Fatal(err)
	}
	w.engine = engine
	return w
}

func setup(t testing.TB, model string) Setup {
	t.Helper()
	s, err := SetupOf(model, "v6e-2x2")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) observe(e Event) {
	if w.loop == nil {
		w.events = append(w.events, e)
	} else if e.Kind == Finished {
		w.again = append(w.again, e.Sequence)
	}
}

// add adds a sequence now.
func (w *world) add(prompt, answer int) *Sequence {
	s := &Sequence{Prompt: prompt, Answer: answer}
	w.engine.Add(w.now, s)
	return s
}

// step takes the clock to the end of the next step; false when nothing runs.
func (w *world) step() bool {
	next, busy := w.engine.Step(w.now)
	if !busy {
		return false
	}
	w.now = next
	w.engine.Step(w.now)
	return true
}

// drain runs until nothing is left to do.
func (w *world) drain() {
	for w.step() {
	}
}

// users start a closed loop without think time.
func (w *world) users(n, prompt, answer int) {
	w.loop = func(*Sequence) { w.add(prompt, answer) }
	for range n {
		w.add(prompt, answer)
	}
}

// run steps through virtual time; users whose answer is whole ask again.
func (w *world) run(until time.Duration) {
	for w.now < until && w.step() {
		for _, s := range w.again {
			w.loop(s)
		}
		w.again = w.again[:0]
	}
}
