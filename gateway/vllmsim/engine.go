package vllmsim

import (
	"sync"
	"time"
)

// engine runs a batch in real time. Its goroutine starts with newEngine and
// ends with close.
type engine struct {
	speed   float64
	wake    chan struct{} // holds one: something was added or cancelled
	closing chan struct{}
	loop    sync.WaitGroup

	mu     sync.Mutex // guards batch and closed
	batch  *batch
	closed bool
}

func newEngine(o Options) *engine {
	e := &engine{speed: o.Speed, batch: newBatch(o), wake: make(chan struct{}, 1), closing: make(chan struct{})}
	e.loop.Go(e.run)
	return e
}

// add queues a job; its handler is woken as tokens come. On a closed engine the
// job is aborted at once.
func (e *engine) add(j *job) {
	e.mu.Lock()
	e.batch.add(time.Now(), j)
	if e.closed {
		e.batch.abort(time.Now())
	}
	e.mu.Unlock()
	e.ring()
}

// cancel drops a job's unfinished sequences at the next step.
func (e *engine) cancel(j *job) {
	e.mu.Lock()
	for _, s := range j.sequences {
		s.cancelled = true
	}
	e.mu.Unlock()
	e.ring()
}

// close aborts what is left, ends the goroutine and waits for it. Only the
// first call does anything.
func (e *engine) close() {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	e.mu.Unlock()
	if first {
		close(e.closing)
	}
	e.loop.Wait()
}

func (e *engine) ring() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// maxLag is how far behind its modelled times the engine may be and still catch
// up. A busy machine delays steps by less; a process that was held up for longer
// goes on from now.
const maxLag = time.Second

// run takes step after step, and waits for the bell when there is nothing to do.
func (e *engine) run() {
	defer e.abort()
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := time.Now()
	for {
		last, busy := e.begin()
		if !busy {
			if !wait(e.wake, e.closing) {
				return
			}
			due = time.Now()
			continue
		}
		due = due.Add(time.Duration(float64(last) / e.speed))
		timer.Reset(time.Until(due))
		if !wait(timer.C, e.closing) {
			return
		}
		if now := e.commit(); now.Sub(due) > maxLag {
			due = now
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

func (e *engine) begin() (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.batch.begin(time.Now())
}

func (e *engine) commit() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.batch.commit(now)
	return now
}

func (e *engine) abort() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.batch.abort(time.Now())
}

// read gives f the batch under the lock.
func (e *engine) read(f func(*batch)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(e.batch)
}
