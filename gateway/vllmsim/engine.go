package vllmsim

import (
	"sync"
	"time"

	"sluice/router/tpu"
)

// engine runs a tpu.Engine in real time. Its goroutine starts with newEngine
// and ends with close. The engine's times are modelled: real ones since start,
// multiplied by speed.
type engine struct {
	speed   float64
	most    int // sequences held at once; 0: no bound
	start   time.Time
	wake    chan struct{} // holds one: something was added
	closing chan struct{}
	loop    sync.WaitGroup

	mu     sync.Mutex // guards the rest
	core   *tpu.Engine
	stats  stats
	peak   int    // most sequences ever held
	ending ending // of what is added: running, or aborted or failed on an engine that has ended
}

// newEngine panics on options that no vLLM starts with.
func newEngine(o Options) *engine {
	e := &engine{speed: o.Speed, most: o.MaxNumQueuedReqs, start: time.Now(), wake: make(chan struct{}, 1), closing: make(chan struct{}), stats: newStats(o.MaxModelLen)}
	core, err := tpu.NewEngine(tpu.Options{
		Setup: o.setup(), Burst: o.Burst, Stall: o.CompileStall, Jitter: o.Jitter, Seed: o.Seed, Observe: e.observe})
	if err != nil {
		panic("BUG: simulated replica can't start: " + err.Error())
	}
	e.core = core
	e.loop.Go(e.run)
	return e
}

// now is the modelled time.
func (e *engine) now() time.Duration {
	return time.Duration(float64(time.Since(e.start)) * e.speed)
}

// real is the real duration of a modelled one.
func (e *engine) real(modelled time.Duration) time.Duration {
	return time.Duration(float64(modelled) / e.speed)
}

// add queues a job, unless it is one too many; its handler is woken as tokens
// come. On an engine that has ended the job ends at once.
func (e *engine) add(j *job) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.most > 0 && e.core.Holds()+len(j.sequences) > e.most {
		e.stats.busy++
		return false
	}
	now := e.now()
	for _, s := range j.sequences {
		e.core.Add(now, &s.core)
	}
	e.peak = max(e.peak, e.core.Holds())
	if e.ending != running {
		e.core.Stop(now)
	}
	e.ring()
	return true
}

// ring tells the goroutine that there may be something to do.
func (e *engine) ring() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// cancel drops a job's unfinished sequences at the next step.
func (e *engine) cancel(j *job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	for _, s := range j.sequences {
		e.core.Abort(now, &s.core)
	}
}

// close aborts what is left, ends the goroutine and waits for it. Only the
// first call does anything.
func (e *engine) close() {
	e.mu.Lock()
	if e.ending == running {
		e.ending = aborted
	}
	select {
	case <-e.closing:
	default:
		close(e.closing)
	}
	e.mu.Unlock()
	e.loop.Wait()
}

// die fails what runs and what will be added.
func (e *engine) die() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ending = failed
	e.core.Stop(e.now())
}

// hang stops the engine where it is, or lets it go on.
func (e *engine) hang(hung bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if hung {
		e.core.Hang()
		return
	}
	e.core.Resume(e.now())
	e.ring()
}

// slow makes steps last k times as long from the next one on.
func (e *engine) slow(k float64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.core.Slow(k)
}

// run steps when a step is due, and waits for work when there is none. On a
// busy machine it comes late; then it makes up for it, a step at a time, so that
// handlers can write in between.
func (e *engine) run() {
	defer e.stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	next, busy := time.Duration(0), false
	for {
		if !busy {
			next = e.now()
		}
		if next, busy = e.step(next); !busy {
			if !wait(e.wake, e.closing) {
				return
			}
			continue
		}
		timer.Reset(time.Until(e.start.Add(e.real(next))))
		if !wait(timer.C, e.closing) {
			return
		}
	}
}

// wait is true when signal came, false when closing did.
func wait[T any](signal <-chan T, closing <-chan struct{}) bool {
	select {
	case <-signal:
		return true
	case <-closing:
		return false
	}
}

func (e *engine) step(now time.Duration) (next time.Duration, busy bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.Step(now)
}

func (e *engine) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.core.Stop(e.now())
}

// snapshot is what a scrape shows; later steps don't change it.
func (e *engine) snapshot() *snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	costs := e.core.Costs()
	return &snapshot{
		stats: e.stats.clone(), Counters: e.core.Counters(), Gauges: e.core.Gauges(),
		page: costs.Page(), pages: costs.Pages(),
	}
}

// held is how many sequences there are, now and at most; left, how many were
// dropped because their client left.
func (e *engine) held() (now, most, left int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.Holds(), e.peak, e.core.Counters().Left
}
